// `resident-bench cg`: every solver on every system, one table and one JSON line per pair.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace resident::bench {

struct CgBenchmarkOptions {
  std::vector<std::string> systems;  // families or files
  std::vector<std::string> solvers;  // names; empty: all
  std::string filter;                // regular expression on "system/solver"
  int repetitions = 10;
  std::int64_t iterations = 100;  // fixed iterations that a time per iteration is taken over
  double tolerance = 1e-8;
  bool jacobi = true;           // of the solves to the tolerance
  double seconds_per_pair = 3;  // soft limit: fewer repetitions for slow pairs, at least 3
  bool solve = true;            // also solve to the tolerance
};

// Table to stderr, JSON lines to stdout. Returns the number of wrong answers.
int run_cg_benchmark(const CgBenchmarkOptions& options);

}  // namespace resident::bench
