// Time per iteration of the CPU solver beside that of Eigen's multi-threaded conjugate gradients,
// with the same threads, preconditioner and number of iterations. The two take turns, so that
// whatever else the machine does hits both; `speedup` is Eigen's time over ours.
#include <resident/conjugate_gradient.hpp>
#include <resident/devices.hpp>
#include <resident/families.hpp>

#include <benchmark/benchmark.h>

#include <Eigen/IterativeLinearSolvers>
#include <Eigen/SparseCore>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace {

constexpr std::int64_t iterations = 50;

using EigenMatrix = Eigen::SparseMatrix<double, Eigen::RowMajor, int>;
using EigenSolver = Eigen::ConjugateGradient<EigenMatrix, Eigen::Lower | Eigen::Upper>;

EigenMatrix eigen_matrix(const resident::CsrMatrix<double>& a) {
  const std::vector<int> offsets(a.row_offsets.begin(), a.row_offsets.end());
  return Eigen::Map<const EigenMatrix>(a.rows, a.cols, a.nonzeros(), offsets.data(),
                                       a.columns.data(), a.values.data());
}

// One matrix in both forms, and b = A·1.
struct System {
  resident::CsrMatrix<double> a;
  EigenMatrix eigen;
  std::vector<double> b;

  explicit System(const std::string& family)
      : a(resident::generate<double>(family)),
        eigen(eigen_matrix(a)),
        b(static_cast<std::size_t>(a.rows)) {
    const std::vector<double> ones(b.size(), 1.0);
    resident::multiply<double>(a, ones, b);
  }
};

// Generated once for all repetitions.
const System& system_named(const std::string& family) {
  static std::map<std::string, System> systems;
  return systems.try_emplace(family, family).first->second;
}

double eigen_iteration_seconds(EigenSolver& solver, const System& system) {
  const Eigen::Map<const Eigen::VectorXd> b(system.b.data(), system.eigen.rows());
  const auto start = std::chrono::steady_clock::now();
  const Eigen::VectorXd x = solver.solve(b);
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  benchmark::DoNotOptimize(x.data());
  return elapsed.count() / static_cast<double>(solver.iterations());
}

double our_iteration_seconds(resident::ConjugateGradient<double>& solver, const System& system) {
  std::vector<double> x(system.b.size(), 0.0);
  const resident::SolveReport report = solver.solve(system.b, x);
  return report.solve_seconds / static_cast<double>(report.iterations);
}

void cg_iteration(benchmark::State& state, const std::string& family,
                  resident::Recurrence recurrence) {
  const System& system = system_named(family);
  const int threads = resident::list_devices().cpu_threads;
  Eigen::setNbThreads(threads);
  EigenSolver eigen(system.eigen);
  eigen.setTolerance(0);
  eigen.setMaxIterations(iterations);
  resident::ConjugateGradient<double> ours(system.a, {.tolerance = 0,
                                                      .max_iterations = iterations,
                                                      .recurrence = recurrence,
                                                      .device = resident::DeviceKind::cpu,
                                                      .threads = threads,
                                                      .checks = resident::CsrChecks::none()});
  double eigen_seconds = 0, our_seconds = 0;
  for (auto _ : state) {
    eigen_seconds += eigen_iteration_seconds(eigen, system);
    const double seconds = our_iteration_seconds(ours, system);
    our_seconds += seconds;
    state.SetIterationTime(seconds);
  }
  state.counters["eigen_ms"] =
      benchmark::Counter(1e3 * eigen_seconds, benchmark::Counter::kAvgIterations);
  state.counters["speedup"] = eigen_seconds / our_seconds;
}

void in_turns(benchmark::internal::Benchmark* b) {
  b->UseManualTime()->Unit(benchmark::kMillisecond)->Iterations(1)->Repetitions(7);
  b->ReportAggregatesOnly();
}

using enum resident::Recurrence;
BENCHMARK_CAPTURE(cg_iteration, poisson3d_classic, "poisson3d:128:128:128", classic)
    ->Apply(in_turns);
BENCHMARK_CAPTURE(cg_iteration, poisson3d_single_reduction, "poisson3d:128:128:128",
                  single_reduction)
    ->Apply(in_turns);
BENCHMARK_CAPTURE(cg_iteration, box27_classic, "box27:64:64:64", classic)->Apply(in_turns);
BENCHMARK_CAPTURE(cg_iteration, box27_single_reduction, "box27:64:64:64", single_reduction)
    ->Apply(in_turns);

}  // namespace
