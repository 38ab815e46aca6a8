// Eigen's CG on the CPU, its product multi-threaded by OpenMP.
#include <Eigen/IterativeLinearSolvers>
#include <Eigen/SparseCore>

#include <chrono>

#include "solvers/baselines.hpp"

namespace resident::bench {
namespace {

using Matrix = Eigen::SparseMatrix<double, Eigen::RowMajor, int>;

template <class Preconditioner>
using Cg = Eigen::ConjugateGradient<Matrix, Eigen::Lower | Eigen::Upper, Preconditioner>;

class EigenSolver final : public Solver {
 public:
  explicit EigenSolver(int threads) : threads_(threads) {}

  void setup(const Problem& problem, const SolverOptions& options) override {
    options_ = options;
    const CsrView<double> a = problem.a;
    const std::vector<int> offsets(a.row_offsets.begin(), a.row_offsets.end());
    matrix_ = Eigen::Map<const Matrix>(a.rows, a.cols, a.nonzeros(), offsets.data(),
                                       a.columns.data(), a.values.data());
    b_ = Eigen::Map<const Eigen::VectorXd>(problem.b.data(), a.rows);
    Eigen::setNbThreads(threads_);
  }

  double run_fixed(std::int64_t iterations) override { return run(0, iterations).seconds; }
  Solution solve() override { return run(options_.tolerance, options_.max_iterations); }
  std::size_t device_bytes() const override { return 0; }
  std::string notes() const override { return std::to_string(Eigen::nbThreads()) + " threads"; }

 private:
  Solution run(double tolerance, std::int64_t iterations) {
    Eigen::setNbThreads(threads_);
    return options_.jacobi ? run_with<Eigen::DiagonalPreconditioner<double>>(tolerance, iterations)
                           : run_with<Eigen::IdentityPreconditioner>(tolerance, iterations);
  }

  template <class Preconditioner>
  Solution run_with(double tolerance, std::int64_t iterations) {
    Cg<Preconditioner> cg(matrix_);
    cg.setTolerance(tolerance);
    cg.setMaxIterations(iterations);
    const auto begin = std::chrono::steady_clock::now();
    const Eigen::VectorXd x = cg.solve(b_);
    Solution solution;
    solution.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    solution.iterations = cg.iterations();
    solution.x.assign(x.data(), x.data() + x.size());
    return solution;
  }

  const int threads_;
  SolverOptions options_;
  Matrix matrix_;
  Eigen::VectorXd b_;
};

}  // namespace

std::unique_ptr<Solver> make_eigen(int threads) { return std::make_unique<EigenSolver>(threads); }

}  // namespace resident::bench
