// `resident info`: what a matrix looks like, before it is solved.
#include <resident/matrix_info.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstddef>
#include <memory>

#include "commands.hpp"
#include "inputs.hpp"
#include "json.hpp"
#include "options.hpp"
#include "output.hpp"

namespace resident::command {
namespace {

struct InfoArguments {
  std::string matrix;
  bool json = false;
};

// Entry k of the histogram counts rows of 2^(k-1) to 2^k - 1 entries, entry 0 the empty ones.
Offset shortest(std::size_t k) { return k == 0 ? 0 : Offset{1} << (k - 1); }
Offset longest(std::size_t k) { return k == 0 ? 0 : (Offset{1} << k) - 1; }

std::string histogram_text(const MatrixInfo& info) {
  const auto& counts = info.row_length_histogram;
  const Index most = *std::max_element(counts.begin(), counts.end());
  constexpr double widest_bar = 40;
  std::string text;
  for (std::size_t k = 0; k < counts.size(); ++k) {
    if (counts[k] == 0) continue;
    const std::string lengths = shortest(k) == longest(k)
                                    ? fmt::format("{}", shortest(k))
                                    : fmt::format("{}-{}", shortest(k), longest(k));
    // Every row shows: the shortest bar is one mark.
    const double share = static_cast<double>(counts[k]) / static_cast<double>(most);
    const auto marks = static_cast<std::size_t>(std::max(1.0, widest_bar * share));
    text += fmt::format("  {:>21}  {:>10}  {}\n", lengths, counts[k], std::string(marks, '#'));
  }
  return text;
}

std::string symmetry_text(const MatrixInfo& info) {
  if (!info.square) return "no, the matrix is not square";
  if (!info.structurally_symmetric) return "no, the pattern is not symmetric";
  if (info.numerically_symmetric) return "yes";
  return fmt::format("pattern yes, values no: largest relative difference {:.3e}",
                     info.largest_asymmetry);
}

std::string diagonal_text(const MatrixInfo& info) {
  if (!info.square) return "none, the matrix is not square";
  return fmt::format("{:.6g} to {:.6g}, {} not positive, {} rows diagonally dominant",
                     info.diagonal_min, info.diagonal_max, info.nonpositive_diagonals,
                     info.diagonally_dominant_rows);
}

std::string to_text(const std::string& matrix, const MatrixInfo& info) {
  std::string text;
  const auto line = [&text](std::string_view label, const std::string& content) {
    text += fmt::format("{:<11} {}\n", label, content);
  };
  line("matrix", matrix);
  line("rows", fmt::format("{}", info.rows));
  line("columns", fmt::format("{}", info.cols));
  line("nonzeros", fmt::format("{}", info.nonzeros));
  line("symmetric", symmetry_text(info));
  line("diagonal", diagonal_text(info));
  line("bandwidth", fmt::format("{}", info.bandwidth));
  line("finite", info.finite ? "yes" : "no, some values are NaN or infinite");
  line("row length",
       fmt::format("{} to {}, mean {:.2f}, standard deviation {:.2f}", info.row_length_min,
                   info.row_length_max, info.row_length_mean, info.row_length_deviation));
  return text + histogram_text(info);
}

nlohmann::ordered_json histogram_json(const MatrixInfo& info) {
  nlohmann::ordered_json bins = nlohmann::ordered_json::array();
  for (std::size_t k = 0; k < info.row_length_histogram.size(); ++k) {
    if (info.row_length_histogram[k] == 0) continue;
    bins.push_back(
        {{"min", shortest(k)}, {"max", longest(k)}, {"rows", info.row_length_histogram[k]}});
  }
  return bins;
}

std::string to_json(const std::string& matrix, const MatrixInfo& info) {
  nlohmann::ordered_json json;
  json["matrix"] = matrix;
  json["rows"] = info.rows;
  json["columns"] = info.cols;
  json["nonzeros"] = info.nonzeros;
  json["square"] = info.square;
  json["structurally_symmetric"] = info.structurally_symmetric;
  json["numerically_symmetric"] = info.numerically_symmetric;
  json["largest_asymmetry"] = info.largest_asymmetry;
  json["diagonal_min"] = info.diagonal_min;
  json["diagonal_max"] = info.diagonal_max;
  json["nonpositive_diagonals"] = info.nonpositive_diagonals;
  json["diagonally_dominant_rows"] = info.diagonally_dominant_rows;
  json["bandwidth"] = info.bandwidth;
  json["finite"] = info.finite;
  json["row_length_min"] = info.row_length_min;
  json["row_length_max"] = info.row_length_max;
  json["row_length_mean"] = info.row_length_mean;
  json["row_length_deviation"] = info.row_length_deviation;
  json["row_length_histogram"] = histogram_json(info);
  json["version"] = version_string();
  return one_line(json);
}

ExitCode run(const InfoArguments& arguments) {
  const CsrMatrix<double> a = load_matrix<double>(arguments.matrix);
  const MatrixInfo info = inspect<double>(a);
  write_text("-",
             arguments.json ? to_json(arguments.matrix, info) : to_text(arguments.matrix, info));
  return exit_success;
}

}  // namespace

Command add_info(CLI::App& parent) {
  CLI::App* app = parent.add_subcommand(
      "info", "Describe a matrix: size, row lengths, symmetry, diagonal, bandwidth");
  const auto arguments = std::make_shared<InfoArguments>();
  add_matrix(*app, arguments->matrix);
  app->add_flag("--json", arguments->json, "Print one JSON object");
  app->footer(families_help());
  return {app, [arguments] { return run(*arguments); }};
}

}  // namespace resident::command
