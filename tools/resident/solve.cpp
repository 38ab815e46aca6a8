// `resident solve`: reads a system, solves it, writes the solution and a report.
#include <resident/conjugate_gradient.hpp>
#include <resident/error.hpp>
#include <resident/matrix_market.hpp>

#include <fmt/format.h>

#include <chrono>
#include <memory>

#include "commands.hpp"
#include "inputs.hpp"
#include "interrupt.hpp"
#include "options.hpp"
#include "output.hpp"
#include "progress.hpp"
#include "report.hpp"

namespace resident::command {
namespace {

struct SolveArguments {
  std::string matrix, initial_guess;
  std::string rhs_file, rhs;      // b.mtx and --rhs, at most one of them
  std::string solution, history;  // files to write; empty: none
  Precision precision = Precision::float64;
  CgOptions options;
  const CLI::Option* gpu = nullptr;  // to see whether it was given
  bool json = false, quiet = false;
};

constexpr const char* footer_text =
    R"(The right-hand side is b.mtx, or what --rhs says; without either it is A*1, whose solution is
all ones. --rhs ones is the vector of ones itself; --rhs random:SEED is uniform in [-1, 1).

x is written when the solve converged, and also when it ended without convergence (exit code 2,
Ctrl-C included): it is then the last iterate. A breakdown writes no x. The history is always
written. A report for people goes to standard error; standard output carries only what was asked
for with --json or a file named -.

Exit codes:
  0  converged
  1  usage, input (a matrix that is not symmetric, ...) or output
  2  not converged: iteration or time limit, stagnation, Ctrl-C
  3  breakdown: the matrix is not positive definite, or something is not finite
  4  device or memory

)";

void add_files(CLI::App& app, SolveArguments& arguments) {
  add_matrix(app, arguments.matrix);
  add_file(app, "b.mtx", arguments.rhs_file, "The right-hand side, the same as --rhs b.mtx")
      ->option_text(" ");
  add_file(app, "--rhs", arguments.rhs, "The right-hand side, see below")
      ->option_text("ones|random:SEED|FILE [A*1]");
  add_file(app, "--x0", arguments.initial_guess, "The initial guess")->option_text("FILE [zero]");
  add_file(app, "-o,--output", arguments.solution, "Where to write the solution x")
      ->option_text("FILE");
  add_file(app, "--history", arguments.history, "Where to write iteration,residual_norm")
      ->option_text("FILE.csv");
  add_precision(app, arguments.precision);
}

void add_stopping(CLI::App& app, CgOptions& options) {
  add_number(app, "--tolerance", options.tolerance, "Stop when |b - A x| <= tolerance |b|")
      ->option_text(fmt::format("NUMBER [{}]", options.tolerance));
  add_number(app, "--absolute-tolerance", options.absolute_tolerance, "Or when |b - A x| <= this")
      ->option_text("NUMBER [0]");
  add_number(app, "--max-iterations", options.max_iterations, "Give up after so many iterations")
      ->option_text("COUNT [10 times the rows, at least 1000]");
  add_number(app, "--time-limit", options.time_limit, "Give up after so many seconds of solving")
      ->option_text("SECONDS [none]");
}

void add_method(CLI::App& app, SolveArguments& arguments) {
  CgOptions& options = arguments.options;
  add_choice(app, "--device", options.device,
             {DeviceKind::automatic, DeviceKind::gpu, DeviceKind::cpu},
             "What to solve on; auto is a GPU if there is one");
  arguments.gpu = add_number(app, "--gpu", options.gpu,
                             "Which GPU, by its number in `resident devices`; implies --device gpu")
                      ->option_text("INDEX [0]");
  add_number(app, "--threads", options.threads, "Of the CPU solver")->option_text("COUNT [all]");
  add_choice(app, "--preconditioner", options.preconditioner,
             {Preconditioner::none, Preconditioner::jacobi}, "jacobi divides by the diagonal");
  add_choice(app, "--recurrence", options.recurrence,
             {Recurrence::automatic, Recurrence::classic, Recurrence::single_reduction},
             "Form of the conjugate gradient iteration");
  add_choice(app, "--cache", options.cache,
             {CachePolicy::none, CachePolicy::search, CachePolicy::vectors, CachePolicy::matrix,
              CachePolicy::all},
             "What a GPU keeps on the chip between iterations");
}

void refuse(const std::string& what) { throw Error(ErrorCategory::usage, what); }

// Everything that can be known to be wrong before any work is done.
void check(SolveArguments& arguments) {
  if (!arguments.rhs_file.empty() && !arguments.rhs.empty()) {
    refuse("b.mtx and --rhs both give the right-hand side");
  }
  check_rhs(arguments.rhs);
  const int inputs = (arguments.matrix == "-") + (arguments.rhs_file == "-") +
                     (arguments.rhs == "-") + (arguments.initial_guess == "-");
  if (inputs > 1) refuse("more than one input is -, but there is only one standard input");
  const int outputs = arguments.json + (arguments.solution == "-") + (arguments.history == "-");
  if (outputs > 1) {
    refuse("only one of --json, -o - and --history - can be used, each writes standard output");
  }
  if (arguments.gpu->count() > 0) {
    if (arguments.options.device == DeviceKind::cpu) refuse("--gpu and --device cpu contradict");
    arguments.options.device = DeviceKind::gpu;
  }
  if (!arguments.solution.empty()) check_output(arguments.solution);
  if (!arguments.history.empty()) check_output(arguments.history);
}

ExitCode exit_code(StopReason reason) {
  switch (reason) {
    case StopReason::converged:
      return exit_success;
    case StopReason::iteration_limit:
    case StopReason::time_limit:
    case StopReason::stagnated:
    case StopReason::cancelled:
      return exit_not_converged;
    case StopReason::indefinite_matrix:
    case StopReason::not_finite:
      return exit_breakdown;
    case StopReason::device_timeout:
      return exit_device;
  }
  return exit_device;
}

template <class T>
struct System {
  CsrMatrix<T> a;
  std::vector<T> b, x;
  double read_seconds = 0;  // of the matrix alone
};

template <class T>
System<T> read_system(const SolveArguments& arguments) {
  System<T> system;
  const auto start = std::chrono::steady_clock::now();
  system.a = load_matrix<T>(arguments.matrix);
  system.read_seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  system.b = arguments.rhs_file.empty()
                 ? load_rhs<T>(arguments.rhs, system.a)
                 : load_vector<T>(arguments.rhs_file, system.a.rows, "the right-hand side");
  if (arguments.initial_guess.empty()) {
    system.x.assign(static_cast<std::size_t>(system.a.rows), T(0));
  } else {
    system.x = load_vector<T>(arguments.initial_guess, system.a.rows, "the initial guess");
  }
  return system;
}

// The library does not know what the matrix is called.
template <class T>
ConjugateGradient<T> prepare(const std::string& matrix, CsrView<T> a, const CgOptions& options) {
  try {
    return ConjugateGradient<T>(a, options);
  } catch (const Error& e) {
    if (e.category() != ErrorCategory::input) throw;
    throw Error(e.category(), fmt::format("{}: {}", matrix, e.what()));
  }
}

template <class T>
SolveSummary solve_system(const SolveArguments& arguments, System<T>& system, ProgressLine& line) {
  SolveSummary summary;
  summary.matrix = arguments.matrix;
  summary.precision = arguments.precision;
  summary.rows = system.a.rows;
  summary.nonzeros = system.a.nonzeros();
  summary.read_seconds = system.read_seconds;
  CgOptions options = arguments.options;
  options.history = !arguments.history.empty();
  if (line.active()) options.progress = [&line](const Progress& now) { line.show(now); };
  line.show("preparing " + arguments.matrix);
  ConjugateGradient<T> cg = prepare<T>(arguments.matrix, system.a, options);
  system.a = {};  // the solver has its own copy
  summary.report = cg.solve(std::span<const T>(system.b), std::span<T>(system.x));
  summary.options = cg.options();
  return summary;
}

template <class T>
ExitCode solve(SolveArguments& arguments) {
  arguments.options.cancel = &cancel_on_interrupt(arguments.quiet);
  ProgressLine line(!arguments.quiet);
  line.show("reading " + arguments.matrix);
  System<T> system = read_system<T>(arguments);
  SolveSummary summary = solve_system(arguments, system, line);
  line.erase();
  if (!arguments.quiet) write_standard_error(to_text(summary));
  const ExitCode code = exit_code(summary.report.reason);
  if (!arguments.history.empty()) write_text(arguments.history, history_csv(summary.report));
  if (!arguments.solution.empty() && (code == exit_success || code == exit_not_converged)) {
    write_matrix_market<T>(arguments.solution, std::span<const T>(system.x));
    summary.solution = arguments.solution;
    if (!arguments.quiet) write_standard_error(fmt::format("solution  {}\n", summary.solution));
  }
  if (arguments.json) write_text("-", to_json(summary));
  return code;
}

ExitCode run(SolveArguments& arguments) {
  check(arguments);
  return arguments.precision == Precision::float64 ? solve<double>(arguments)
                                                   : solve<float>(arguments);
}

}  // namespace

Command add_solve(CLI::App& parent) {
  CLI::App* app = parent.add_subcommand(
      "solve", "Solve A x = b for a symmetric positive definite matrix by conjugate gradients");
  const auto arguments = std::make_shared<SolveArguments>();
  add_files(*app, *arguments);
  add_stopping(*app, arguments->options);
  add_method(*app, *arguments);
  app->add_flag("--json", arguments->json, "Print the report as one JSON object");
  app->add_flag("--quiet", arguments->quiet, "Print nothing on standard error but errors");
  app->footer(footer_text + families_help());
  return {app, [arguments] { return run(*arguments); }};
}

}  // namespace resident::command
