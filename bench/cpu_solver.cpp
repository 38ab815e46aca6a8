// Time per iteration of the CPU solver against Eigen's multi-threaded conjugate gradients, both
// with the same threads, preconditioner and number of iterations. Matrix arguments replace the two
// default systems; the last lines say how many times as fast as Eigen each recurrence is.
//
//   resident-bench-cpu --benchmark_repetitions=9 poisson3d:128:128:128
#include <resident/conjugate_gradient.hpp>
#include <resident/devices.hpp>
#include <resident/error.hpp>
#include <resident/families.hpp>

#include <benchmark/benchmark.h>

#include <Eigen/IterativeLinearSolvers>
#include <Eigen/SparseCore>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace {

constexpr std::int64_t iterations = 50;

using EigenMatrix = Eigen::SparseMatrix<double, Eigen::RowMajor, int>;
using EigenSolver = Eigen::ConjugateGradient<EigenMatrix, Eigen::Lower | Eigen::Upper>;

// One family member, and b = A·1.
struct System {
  std::string name;
  resident::CsrMatrix<double> a;
  std::vector<double> b;

  explicit System(const std::string& family)
      : name(family), a(resident::generate<double>(family)), b(static_cast<std::size_t>(a.rows)) {
    const std::vector<double> ones(b.size(), 1.0);
    resident::multiply<double>(a, ones, b);
  }
};

EigenMatrix eigen_matrix(const resident::CsrMatrix<double>& a) {
  const std::vector<int> offsets(a.row_offsets.begin(), a.row_offsets.end());
  return Eigen::Map<const EigenMatrix>(a.rows, a.cols, a.nonzeros(), offsets.data(),
                                       a.columns.data(), a.values.data());
}

void time_eigen(benchmark::State& state, const System& system, int threads) {
  Eigen::setNbThreads(threads);
  const EigenMatrix a = eigen_matrix(system.a);
  const Eigen::Map<const Eigen::VectorXd> b(system.b.data(), a.rows());
  EigenSolver solver(a);
  solver.setTolerance(0);
  solver.setMaxIterations(iterations);
  for (auto _ : state) {
    const auto start = std::chrono::steady_clock::now();
    const Eigen::VectorXd x = solver.solve(b);
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    benchmark::DoNotOptimize(x.data());
    state.SetIterationTime(elapsed.count() / static_cast<double>(solver.iterations()));
  }
}

void time_resident(benchmark::State& state, const System& system, int threads,
                   resident::Recurrence recurrence) {
  resident::ConjugateGradient<double> solver(system.a, {.tolerance = 0,
                                                        .max_iterations = iterations,
                                                        .recurrence = recurrence,
                                                        .device = resident::DeviceKind::cpu,
                                                        .threads = threads,
                                                        .checks = resident::CsrChecks::none()});
  std::vector<double> x(system.b.size());
  for (auto _ : state) {
    x.assign(x.size(), 0.0);
    const resident::SolveReport report = solver.solve(system.b, x);
    state.SetIterationTime(report.solve_seconds / static_cast<double>(report.iterations));
  }
}

// Prints the usual table, and keeps the medians.
class Reporter : public benchmark::ConsoleReporter {
 public:
  void ReportRuns(const std::vector<Run>& runs) override {
    ConsoleReporter::ReportRuns(runs);
    for (const Run& run : runs) {
      if (run.aggregate_name == "median") {
        medians_[run.run_name.function_name] = run.GetAdjustedRealTime();
      }
    }
  }

  double median(const std::string& name) const {
    const auto found = medians_.find(name);
    return found == medians_.end() ? 0 : found->second;
  }

 private:
  std::map<std::string, double> medians_;
};

void print_ratios(const Reporter& reporter, const std::vector<std::unique_ptr<System>>& systems) {
  for (const auto& system : systems) {
    for (const char* recurrence : {"/classic", "/single_reduction"}) {
      const double eigen = reporter.median(system->name + "/eigen");
      const double ours = reporter.median(system->name + recurrence);
      if (!(eigen > 0 && ours > 0)) continue;
      std::printf("%s%s: %.2f times as fast as Eigen\n", system->name.c_str(), recurrence,
                  eigen / ours);
    }
  }
}

void register_benchmarks(const System& system, int threads) {
  const auto add = [&](const char* solver, auto run) {
    benchmark::RegisterBenchmark((system.name + "/" + solver).c_str(), run)
        ->UseManualTime()
        ->Unit(benchmark::kMillisecond)
        ->Iterations(1)
        ->Repetitions(7)
        ->ReportAggregatesOnly();
  };
  add("eigen", [&system, threads](benchmark::State& s) { time_eigen(s, system, threads); });
  for (const auto recurrence :
       {resident::Recurrence::classic, resident::Recurrence::single_reduction}) {
    add(std::string(resident::name(recurrence)).c_str(),
        [&system, threads, recurrence](benchmark::State& s) {
          time_resident(s, system, threads, recurrence);
        });
  }
}

int run(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  std::vector<std::string> names(argv + 1, argv + argc);
  if (names.empty()) names = {"poisson3d:128:128:128", "box27:64:64:64"};
  const int threads = resident::list_devices().cpu_threads;
  std::vector<std::unique_ptr<System>> systems;
  for (const std::string& name : names) {
    systems.push_back(std::make_unique<System>(name));
    register_benchmarks(*systems.back(), threads);
  }
  Reporter reporter;
  benchmark::RunSpecifiedBenchmarks(&reporter);
  print_ratios(reporter, systems);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const resident::Error& error) {
    std::fprintf(stderr, "resident-bench-cpu: %s\n", error.what());
    return 1;
  }
}
