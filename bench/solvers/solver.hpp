// One interface for every solver that is compared, so that all get the same systems, the same
// stopping rule and the same checks.
#pragma once

#include <resident/csr.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace resident::bench {

// A x = b in double, x starting at 0. Lives longer than the solvers that are set up with it.
struct Problem {
  std::string name;
  CsrView<double> a;
  std::span<const double> b;
};

struct Solution {
  std::int64_t iterations = 0;
  double seconds = 0;  // from the call to the answer on the device
  std::vector<double> x;
};

struct SolverOptions {
  bool jacobi = false;
  double tolerance = 0;  // ‖r‖ <= tolerance ‖b‖
  std::int64_t max_iterations = 0;
};

// run_fixed() could not run as many iterations: the system was solved to the last bit before.
class EndedEarly : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class Solver {
 public:
  virtual ~Solver() = default;

  // Everything that depends on the matrix alone, uploads included. Throws resident::Error.
  virtual void setup(const Problem& problem, const SolverOptions& options) = 0;

  // Runs exactly `iterations` iterations from x = 0, whatever the residual; returns the device time
  // in seconds (CPU solvers: wall clock). May throw EndedEarly.
  virtual double run_fixed(std::int64_t iterations) = 0;

  // Solves with the options of setup().
  virtual Solution solve() = 0;

  // Device memory held after setup(); 0 where it is unknown, or for CPU solvers: not recorded.
  virtual std::size_t device_bytes() const = 0;

  // What the solver chose, for the record: an algorithm, a plan.
  virtual std::string notes() const { return {}; }

  // Seconds of one SpMV on the device, or 0 where the solver has no separate SpMV.
  virtual double spmv_seconds() { return 0; }
};

struct SolverEntry {
  std::string name;
  std::string description;
  bool needs_gpu = true;
  std::function<std::unique_ptr<Solver>()> make;
};

// All solvers of this build, in the order of the table.
const std::vector<SolverEntry>& solvers();

}  // namespace resident::bench
