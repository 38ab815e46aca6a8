// Maps a CSR matrix into Eigen, runs one of its solvers, and measures the residual independently.
#include "reference/reference.hpp"

#include <resident/error.hpp>

#include <Eigen/IterativeLinearSolvers>
#include <Eigen/SparseCholesky>
#include <algorithm>
#include <cmath>
#include <limits>

namespace resident::reference {
namespace {

template <class T>
using Vector = Eigen::Matrix<T, Eigen::Dynamic, 1>;

template <class T>
void check_sizes(CsrView<T> a, std::span<const T> b, std::span<const T> x0) {
  const bool vectors_fit = std::ssize(b) == a.rows && (x0.empty() || std::ssize(x0) == a.rows);
  if (a.rows != a.cols || !vectors_fit || a.nonzeros() > std::numeric_limits<int>::max()) {
    throw Error(ErrorCategory::usage,
                "the reference solver needs a square matrix with fewer than 2^31 nonzeros, and "
                "vectors of as many entries as it has rows");
  }
}

// ‖b - A x‖₂ / ‖b‖₂, or ‖A x‖₂ where b is zero.
template <class T>
double relative_residual(CsrView<T> a, std::span<const T> b, const std::vector<T>& x) {
  double residual2 = 0, rhs2 = 0;
  for (std::size_t row = 0; row < b.size(); ++row) {
    const double rhs = static_cast<double>(b[row]);
    double residual = rhs;
    for (Offset k = a.row_offsets[row]; k < a.row_offsets[row + 1]; ++k) {
      const auto at = static_cast<std::size_t>(k);
      residual -= static_cast<double>(a.values[at]) *
                  static_cast<double>(x[static_cast<std::size_t>(a.columns[at])]);
    }
    residual2 += residual * residual;
    rhs2 += rhs * rhs;
  }
  return rhs2 > 0 ? std::sqrt(residual2 / rhs2) : std::sqrt(residual2);
}

// Eigen counts a step when it is left by another step, so the last one is missing if it converged.
template <class Solver, class T>
std::int64_t steps_taken(const Solver& solver, const Vector<T>& x0, const Vector<T>& x) {
  const std::int64_t counted = solver.iterations();
  const bool moved = counted > 0 || x != x0;
  return counted + (solver.info() == Eigen::Success && moved ? 1 : 0);
}

template <class PreconditionerType, class T, class Matrix>
void conjugate_gradient(const Matrix& a, const Vector<T>& b, const Vector<T>& x0,
                        const Options& options, Result<T>& result) {
  using Stored = Eigen::SparseMatrix<T, Eigen::RowMajor, int>;
  Eigen::ConjugateGradient<Stored, Eigen::Lower | Eigen::Upper, PreconditionerType> solver(a);
  const std::int64_t limit = options.max_iterations > 0
                                 ? options.max_iterations
                                 : std::max<std::int64_t>(10 * a.rows(), 1000);
  solver.setMaxIterations(limit);
  solver.setTolerance(static_cast<T>(options.tolerance));
  const Vector<T> x = solver.solveWithGuess(b, x0);
  result.x.assign(x.begin(), x.end());
  result.iterations = b.isZero(T(0)) ? 0 : steps_taken(solver, x0, x);
  result.converged = solver.info() == Eigen::Success;
}

template <class T, class Matrix>
void cholesky(const Matrix& a, const Vector<T>& b, Result<T>& result) {
  using Stored = Eigen::SparseMatrix<T, Eigen::ColMajor, int>;
  const Eigen::SimplicialLLT<Stored> factor{Stored(a)};
  result.converged = factor.info() == Eigen::Success;
  if (!result.converged) return;
  const Vector<T> x = factor.solve(b);
  result.x.assign(x.begin(), x.end());
}

}  // namespace

template <class T>
Result<T> solve(CsrView<T> a, std::span<const T> b, std::span<const T> x0, const Options& options) {
  check_sizes(a, b, x0);
  const std::vector<int> row_offsets(a.row_offsets.begin(), a.row_offsets.end());
  const Eigen::Map<const Eigen::SparseMatrix<T, Eigen::RowMajor, int>> matrix(
      a.rows, a.cols, std::ssize(a.values), row_offsets.data(), a.columns.data(), a.values.data());
  const Vector<T> rhs = Eigen::Map<const Vector<T>>(b.data(), a.rows);
  const Vector<T> guess = x0.empty() ? Vector<T>::Zero(a.rows)
                                     : Vector<T>(Eigen::Map<const Vector<T>>(x0.data(), a.rows));

  Result<T> result;
  result.x.assign(b.size(), T(0));
  if (options.method == Options::Method::cholesky) {
    cholesky(matrix, rhs, result);
  } else if (options.preconditioner == Preconditioner::jacobi) {
    conjugate_gradient<Eigen::DiagonalPreconditioner<T>>(matrix, rhs, guess, options, result);
  } else {
    conjugate_gradient<Eigen::IdentityPreconditioner>(matrix, rhs, guess, options, result);
  }
  result.relative_residual = relative_residual(a, b, result.x);
  return result;
}

template Result<float> solve(CsrView<float>, std::span<const float>, std::span<const float>,
                             const Options&);
template Result<double> solve(CsrView<double>, std::span<const double>, std::span<const double>,
                              const Options&);

}  // namespace resident::reference
