#include "options.hpp"

#include <resident/families.hpp>

#include <fmt/format.h>

namespace resident::command {

std::string_view name(Precision precision) {
  return precision == Precision::float64 ? "double" : "float";
}

std::string list_of(const std::vector<std::string>& names) {
  std::string list;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) list += i + 1 == names.size() ? " or " : ", ";
    list += names[i];
  }
  return list;
}

CLI::Option* add_matrix(CLI::App& app, std::string& matrix) {
  return app
      .add_option("A.mtx", matrix,
                  "The matrix: a Matrix Market file (also .gz), - for standard input, or a family")
      ->required()
      ->option_text(" ");
}

CLI::Option* add_precision(CLI::App& app, Precision& precision) {
  return add_choice(app, "--precision", precision, {Precision::float64, Precision::float32},
                    "Type of the values and vectors");
}

CLI::Option* add_file(CLI::App& app, const std::string& flags, std::string& file,
                      const std::string& help) {
  const auto parse = [&file, flags](const std::string& text) {
    if (text.empty()) throw Error(ErrorCategory::usage, flags + " is empty, expected a file name");
    file = text;
  };
  return app.add_option_function<std::string>(flags, parse, help);
}

std::string families_help() {
  std::string help = "Families:\n";
  for (const Family& family : families()) {
    help += fmt::format("  {:<34} {}\n", fmt::format("{}:{}", family.name, family.parameters),
                        family.description);
  }
  help += "Where a matrix is read, a file whose name begins like a family is given as ./NAME.";
  return help;
}

}  // namespace resident::command
