// The subcommands. Each add_ function declares the options of one; main calls `run` of the one that
// was given.
#pragma once

#include <CLI/CLI.hpp>

#include <functional>

namespace resident::command {

// What the shell sees.
enum ExitCode : int {
  exit_success = 0,        // of solve: converged
  exit_wrong = 1,          // usage, input or output
  exit_not_converged = 2,  // a limit, stagnation or cancellation
  exit_breakdown = 3,      // the matrix is indefinite, or something is not finite
  exit_device = 4,         // device or memory
};

struct Command {
  CLI::App* app;
  std::function<ExitCode()> run;
};

Command add_solve(CLI::App& parent);
Command add_generate(CLI::App& parent);
Command add_info(CLI::App& parent);
Command add_devices(CLI::App& parent);

}  // namespace resident::command
