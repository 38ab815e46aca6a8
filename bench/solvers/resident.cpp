// Our own solver: as users get it, and with each caching policy (the ablation).
#include <resident/conjugate_gradient.hpp>

#include <algorithm>
#include <map>
#include <string>

#include "solvers/ours.hpp"

namespace resident::bench {
namespace {

class ResidentSolver final : public Solver {
 public:
  explicit ResidentSolver(const CgOptions& options) : cg_options_(options) {
    cg_options_.checks = CsrChecks::none();  // the baselines check nothing
  }

  void setup(const Problem& problem, const SolverOptions& options) override {
    problem_ = problem;
    cg_options_.preconditioner = options.jacobi ? Preconditioner::jacobi : Preconditioner::none;
    cg_options_.tolerance = options.tolerance;
    cg_options_.max_iterations = options.max_iterations;
    solver_ = std::make_unique<ConjugateGradient<double>>(problem.a, cg_options_);
    x_.assign(problem.b.size(), 0.0);
  }

  double run_fixed(std::int64_t iterations) override {
    auto& solver = fixed_[iterations];
    if (solver == nullptr) {
      CgOptions options = cg_options_;
      options.tolerance = 0;
      options.max_iterations = iterations;
      solver = std::make_unique<ConjugateGradient<double>>(problem_.a, options);
    }
    std::fill(x_.begin(), x_.end(), 0.0);
    const SolveReport report = solver->solve(problem_.b, x_);
    if (report.iterations != iterations) {
      throw EndedEarly("after " + std::to_string(report.iterations) +
                       " iterations there is nothing left to iterate on");
    }
    notes_ = report.plan;
    return report.iteration_seconds;
  }

  Solution solve() override {
    std::vector<double> x(problem_.b.size());
    const SolveReport report = solver_->solve(problem_.b, x);
    notes_ = report.plan;
    return {report.iterations, report.solve_seconds, std::move(x)};
  }

  std::size_t device_bytes() const override { return 0; }
  std::string notes() const override { return notes_; }

 private:
  CgOptions cg_options_;
  Problem problem_;
  std::unique_ptr<ConjugateGradient<double>> solver_;
  std::map<std::int64_t, std::unique_ptr<ConjugateGradient<double>>> fixed_;
  std::vector<double> x_;
  std::string notes_;
};

}  // namespace

std::unique_ptr<Solver> make_resident(DeviceKind device, CachePolicy cache, Recurrence recurrence) {
  CgOptions options;
  options.device = device;
  options.cache = cache;
  options.recurrence = recurrence;
  return std::make_unique<ResidentSolver>(options);
}

}  // namespace resident::bench
