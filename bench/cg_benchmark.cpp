#include "cg_benchmark.hpp"

#include <fmt/format.h>
#include <resident/devices.hpp>
#include <resident/error.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>
#include <regex>

#include "environment.hpp"
#include "solvers/solver.hpp"
#include "systems.hpp"

namespace resident::bench {
namespace {

using Json = nlohmann::ordered_json;

double median(std::vector<double> samples) {
  std::sort(samples.begin(), samples.end());
  const std::size_t middle = samples.size() / 2;
  return samples.size() % 2 == 1 ? samples[middle] : (samples[middle - 1] + samples[middle]) / 2;
}

// b = A (1 + sin(0.37 i) / 2): smooth enough to be plain, rough enough to excite all of A.
std::vector<double> right_hand_side(CsrView<double> a) {
  std::vector<double> x(static_cast<std::size_t>(a.cols)), b(static_cast<std::size_t>(a.rows));
  for (std::size_t i = 0; i < x.size(); ++i)
    x[i] = 1 + 0.5 * std::sin(0.37 * static_cast<double>(i));
  multiply<double>(a, x, b);
  return b;
}

double true_residual(const Problem& problem, std::span<const double> x) {
  std::vector<double> product(problem.b.size());
  multiply<double>(problem.a, x, product);
  double r2 = 0, b2 = 0;
  for (std::size_t i = 0; i < product.size(); ++i) {
    r2 += (problem.b[i] - product[i]) * (problem.b[i] - product[i]);
    b2 += problem.b[i] * problem.b[i];
  }
  return std::sqrt(r2 / b2);
}

// Bytes that CG without caches must move an iteration: 8 + 4 per nonzero, 4 per row offset, and 13
// vector reads and writes (product 2, two dot products 3, three updates 8).
double uncached_bytes(CsrView<double> a) {
  return 12.0 * static_cast<double>(a.nonzeros()) + (4.0 + 13 * 8.0) * a.rows;
}

struct Samples {
  std::vector<double> seconds;  // per iteration
  double middle() const { return median(seconds); }
  // Half the range, relative to the median.
  double spread() const {
    const auto [least, most] = std::minmax_element(seconds.begin(), seconds.end());
    return (*most - *least) / (2 * middle());
  }
};

// Time per iteration: the difference between a long and a short run, so that launch, setup and
// final checks of a solve cancel.
Samples time_iterations(Solver& solver, const CgBenchmarkOptions& options) {
  constexpr std::int64_t kShort = 20;
  const std::int64_t more = options.iterations;
  const auto start = std::chrono::steady_clock::now();
  const auto elapsed = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  Samples samples;
  solver.run_fixed(kShort);
  solver.run_fixed(kShort + more);
  for (int repetition = 0; repetition < options.repetitions; ++repetition) {
    const double shorter = solver.run_fixed(kShort);
    const double longer = solver.run_fixed(kShort + more);
    samples.seconds.push_back((longer - shorter) / static_cast<double>(more));
    if (repetition >= 2 && elapsed() > options.seconds_per_pair) break;
  }
  return samples;
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Solves to the tolerance; false if the answer is wrong.
bool time_solution(Solver& solver, const Problem& problem, const CgBenchmarkOptions& options,
                   Json& record) {
  SolverOptions with;
  with.jacobi = options.jacobi;
  with.tolerance = options.tolerance;
  with.max_iterations = 100000;
  const auto start = std::chrono::steady_clock::now();
  solver.setup(problem, with);
  record["setup_ms"] = 1e3 * seconds_since(start);
  solver.solve();
  std::vector<double> seconds;
  Solution solution;
  for (int repetition = 0; repetition < 3; ++repetition) {
    solution = solver.solve();
    seconds.push_back(solution.seconds);
  }
  const double residual = true_residual(problem, solution.x);
  record["solve_ms"] = 1e3 * median(seconds);
  record["iterations"] = solution.iterations;
  record["true_residual"] = residual;
  if (solver.device_bytes() > 0) {
    record["device_mb"] = 1e-6 * static_cast<double>(solver.device_bytes());
  }
  // The recurrence residual of the baselines may be ahead of the true one by rounding.
  return std::isfinite(residual) && residual <= 10 * options.tolerance;
}

void print_header() {
  fmt::print(stderr, "{:<28} {:<22} {:>10} {:>7} {:>9} {:>9} {:>8} {:>9} {:>10}\n", "system",
             "solver", "us/iter", "spread", "GB/s", "setup ms", "iters", "solve ms", "residual");
}

std::string cell(const Json& record, const char* key, const char* format) {
  return record.contains(key) ? fmt::format(fmt::runtime(format), record[key].get<double>()) : "-";
}

void print_row(const Json& r) {
  fmt::print(stderr, "{:<28} {:<22} {:>10} {:>7} {:>9} {:>9} {:>8} {:>9} {:>10}{}\n",
             r["system"].get<std::string>(), r["solver"].get<std::string>(),
             cell(r, "us_per_iteration", "{:.2f}"), cell(r, "spread_percent", "{:.1f}%"),
             cell(r, "effective_gb_per_s", "{:.0f}"), cell(r, "setup_ms", "{:.1f}"),
             cell(r, "iterations", "{:.0f}"), cell(r, "solve_ms", "{:.2f}"),
             cell(r, "true_residual", "{:.1e}"),
             r.contains("error") ? "  " + r["error"].get<std::string>() : "");
}

// Time per iteration. Systems on which CG ends by itself before the fixed number have none.
void record_iterations(Solver& solver, const Problem& problem, const CgBenchmarkOptions& options,
                       Json& record) {
  SolverOptions with;
  with.max_iterations = options.iterations;
  solver.setup(problem, with);
  Samples samples;
  try {
    samples = time_iterations(solver, options);
  } catch (const EndedEarly& early) {
    record["notes"] = early.what();
    return;
  }
  record["us_per_iteration"] = 1e6 * samples.middle();
  record["us_min"] = 1e6 * *std::min_element(samples.seconds.begin(), samples.seconds.end());
  record["spread_percent"] = 100 * samples.spread();
  record["repetitions"] = samples.seconds.size();
  record["effective_gb_per_s"] = 1e-9 * uncached_bytes(problem.a) / samples.middle();
  if (const double spmv = solver.spmv_seconds(); spmv > 0) {
    const double bytes =
        12.0 * static_cast<double>(problem.a.nonzeros()) + (4 + 16.0) * problem.a.rows;
    record["spmv_us"] = 1e6 * spmv;
    record["spmv_gb_per_s"] = 1e-9 * bytes / spmv;
  }
  record["notes"] = solver.notes();
}

// One system on one solver; false if the answer was wrong or the solver failed.
bool run_pair(const SolverEntry& entry, const Problem& problem, const CgBenchmarkOptions& options) {
  Json record = {{"kind", "cg"},
                 {"system", problem.name},
                 {"rows", problem.a.rows},
                 {"nonzeros", problem.a.nonzeros()},
                 {"solver", entry.name}};
  bool right = true;
  try {
    record_iterations(*entry.make(), problem, options, record);
    if (options.solve) right = time_solution(*entry.make(), problem, options, record);
    if (!right) record["error"] = "WRONG ANSWER";
  } catch (const std::exception& error) {
    record["error"] = error.what();
    right = false;
  }
  print_row(record);
  fmt::print("{}\n", record.dump());
  std::fflush(stdout);
  return right;
}

bool is_wanted(const SolverEntry& entry, const CgBenchmarkOptions& options, bool has_gpu) {
  if (entry.needs_gpu && !has_gpu) return false;
  const auto& names = options.solvers;
  return names.empty() || std::find(names.begin(), names.end(), entry.name) != names.end();
}

}  // namespace

int run_cg_benchmark(const CgBenchmarkOptions& options) {
  const DeviceList devices = list_devices();
  const bool has_gpu = !devices.gpus.empty() && devices.gpus[0].usable;
  const std::regex filter(options.filter);
  fmt::print("{}\n", environment().dump());
  print_header();
  int wrong = 0;
  for (const std::string& system : options.systems) {
    std::vector<SolverEntry> chosen;
    for (const SolverEntry& entry : solvers()) {
      const bool passes = std::regex_search(short_name(system) + "/" + entry.name, filter);
      if (is_wanted(entry, options, has_gpu) && passes) chosen.push_back(entry);
    }
    if (chosen.empty()) continue;
    const CsrMatrix<double> a = load_system(system);
    const std::vector<double> b = right_hand_side(a);
    for (const SolverEntry& entry : chosen) {
      if (!run_pair(entry, {short_name(system), a, b}, options)) ++wrong;
    }
  }
  return wrong;
}

}  // namespace resident::bench
