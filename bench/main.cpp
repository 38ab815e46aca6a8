// The resident-bench command.
#include <CLI/CLI.hpp>
#include <resident/error.hpp>

#include <cstdio>
#include <exception>
#include <string>

#include "cg_benchmark.hpp"
#include "systems.hpp"

namespace {

int run(int argc, char** argv) {
  using namespace resident::bench;
  CLI::App app("Benchmarks of Resident against what a user would pick instead.");
  app.require_subcommand(1);

  CgBenchmarkOptions options;
  std::string folder;
  bool quick = false;
  CLI::App* cg = app.add_subcommand("cg", "Conjugate gradients: all solvers on all systems");
  cg->add_option("--systems", options.systems, "families or files, separated by commas")
      ->delimiter(',');
  cg->add_option("--matrices", folder, "adds every .mtx and .mtx.gz file of a folder");
  cg->add_option("--solvers", options.solvers, "solvers by name, separated by commas")
      ->delimiter(',');
  cg->add_option("--filter", options.filter, "regular expression on system/solver");
  cg->add_option("--repetitions", options.repetitions, "samples per time")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  cg->add_option("--iterations", options.iterations, "iterations per sample")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  cg->add_option("--tolerance", options.tolerance, "of the solves")->capture_default_str();
  cg->add_option("--seconds", options.seconds_per_pair, "soft limit for one system and solver")
      ->capture_default_str();
  cg->add_flag("--quick", quick, "few systems");
  cg->add_flag("!--no-solve", options.solve, "only times per iteration");

  CLI11_PARSE(app, argc, argv);
  if (options.systems.empty() && folder.empty()) options.systems = default_systems(quick);
  if (!folder.empty()) {
    for (const std::string& file : files_of(folder)) options.systems.push_back(file);
  }
  return run_cg_benchmark(options) == 0 ? 0 : 2;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "resident-bench: %s\n", error.what());
    return 1;
  }
}
