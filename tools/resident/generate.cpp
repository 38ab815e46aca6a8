// `resident generate`: a matrix of a family as a Matrix Market file.
#include <resident/families.hpp>
#include <resident/matrix_market.hpp>

#include <memory>

#include "commands.hpp"
#include "options.hpp"
#include "output.hpp"

namespace resident::command {
namespace {

struct GenerateArguments {
  std::string family;
  std::string output = "-";
  Precision precision = Precision::float64;
};

template <class T>
void generate_file(const GenerateArguments& arguments) {
  const CsrMatrix<T> a = generate<T>(arguments.family);
  write_matrix_market<T>(arguments.output, a.view(), MatrixMarketSymmetry::symmetric);
}

ExitCode run(const GenerateArguments& arguments) {
  check_output(arguments.output);
  if (arguments.precision == Precision::float64) {
    generate_file<double>(arguments);
  } else {
    generate_file<float>(arguments);
  }
  return exit_success;
}

}  // namespace

Command add_generate(CLI::App& parent) {
  CLI::App* app = parent.add_subcommand(
      "generate", "Write a matrix of a family as a Matrix Market file (lower triangle)");
  const auto arguments = std::make_shared<GenerateArguments>();
  app->add_option("FAMILY", arguments->family, "The family with its parameters, see below")
      ->required()
      ->option_text(" ");
  add_file(*app, "-o,--output", arguments->output,
           "Where to write it; a name that ends in .gz is compressed")
      ->option_text("FILE [standard output]");
  add_precision(*app, arguments->precision);
  app->footer(families_help());
  return {app, [arguments] { return run(*arguments); }};
}

}  // namespace resident::command
