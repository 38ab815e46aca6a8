// The result of a solve, for people and for programs.
#pragma once

#include <resident/conjugate_gradient.hpp>

#include <string>

#include "options.hpp"

namespace resident::command {

struct SolveSummary {
  std::string matrix;  // as given on the command line
  Index rows = 0;
  Offset nonzeros = 0;
  Precision precision = Precision::float64;
  double read_seconds = 0;  // reading or generating the matrix
  std::string solution;     // where x was written; empty if nowhere
  CgOptions options;        // as the solver resolved them
  SolveReport report;
};

// A few lines, each with a label.
std::string to_text(const SolveSummary& summary);

// One object in one line. Numbers that are not finite are null.
std::string to_json(const SolveSummary& summary);

// "iteration,residual_norm", then one line for each entry of the history.
std::string history_csv(const SolveReport& report);

}  // namespace resident::command
