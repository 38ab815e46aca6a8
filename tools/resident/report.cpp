#include "report.hpp"

#include <resident/version.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cstddef>
#include <iterator>

#include "json.hpp"

namespace resident::command {
namespace {

std::string duration(double seconds) {
  if (seconds < 1e-3) return fmt::format("{:.1f} us", seconds * 1e6);
  if (seconds < 1) return fmt::format("{:.1f} ms", seconds * 1e3);
  return fmt::format("{:.2f} s", seconds);
}

std::string times(const SolveSummary& summary) {
  const SolveReport& report = summary.report;
  std::string text = fmt::format("read {}, setup {}, solve {}", duration(summary.read_seconds),
                                 duration(report.setup_seconds), duration(report.solve_seconds));
  if (report.iterations > 0) {
    const double each = report.iteration_seconds / static_cast<double>(report.iterations);
    text += fmt::format(", {} an iteration", duration(each));
  }
  return text;
}

}  // namespace

std::string to_text(const SolveSummary& summary) {
  std::string text;
  const auto line = [&text](std::string_view label, std::string_view content) {
    if (!content.empty()) text += fmt::format("{:<9} {}\n", label, content);
  };
  line("matrix", fmt::format("{}: {} rows, {} nonzeros, {}", summary.matrix, summary.rows,
                             summary.nonzeros, name(summary.precision)));
  line("device", summary.report.device);
  line("plan", summary.report.plan);
  line("result", summary.report.message());
  line("time", times(summary));
  return text;
}

std::string to_json(const SolveSummary& summary) {
  const SolveReport& report = summary.report;
  const CgOptions& options = summary.options;
  nlohmann::ordered_json json;
  json["reason"] = name(report.reason);
  json["converged"] = report.converged();
  json["iterations"] = report.iterations;
  json["restarts"] = report.restarts;
  json["residual_norm"] = report.residual_norm;
  json["rhs_norm"] = report.rhs_norm;
  json["relative_residual"] = report.relative_residual();
  json["read_seconds"] = summary.read_seconds;
  json["setup_seconds"] = report.setup_seconds;
  json["solve_seconds"] = report.solve_seconds;
  json["iteration_seconds"] = report.iteration_seconds;
  json["device"] = report.device;
  json["plan"] = report.plan;
  json["detail"] = report.detail;
  json["matrix"] = summary.matrix;
  json["rows"] = summary.rows;
  json["nonzeros"] = summary.nonzeros;
  json["precision"] = name(summary.precision);
  json["device_kind"] = name(options.device);
  json["recurrence"] = name(options.recurrence);
  json["preconditioner"] = name(options.preconditioner);
  json["cache"] = name(options.cache);
  json["tolerance"] = options.tolerance;
  json["absolute_tolerance"] = options.absolute_tolerance;
  json["max_iterations"] = options.max_iterations;
  json["time_limit"] = options.time_limit;
  json["solution"] = nullptr;
  if (!summary.solution.empty()) json["solution"] = summary.solution;
  json["version"] = version_string();
  return one_line(json);
}

std::string history_csv(const SolveReport& report) {
  std::string csv = "iteration,residual_norm\n";
  for (std::size_t i = 0; i < report.history.size(); ++i) {
    fmt::format_to(std::back_inserter(csv), "{},{:.17g}\n", i, report.history[i]);
  }
  return csv;
}

}  // namespace resident::command
