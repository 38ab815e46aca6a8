// Eigen's conjugate gradients and sparse Cholesky: what other solvers are compared with.
#pragma once

#include <resident/conjugate_gradient.hpp>
#include <resident/csr.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace resident::reference {

struct Options {
  enum class Method { conjugate_gradient, cholesky };

  double tolerance = 1e-8;  // of ‖b - A x‖₂ relative to ‖b‖₂, by Eigen's recurrence
  std::int64_t max_iterations = 0;  // 0: ten times the rows, at least 1000
  Preconditioner preconditioner = Preconditioner::none;
  Method method = Method::conjugate_gradient;
};

template <class T>
struct Result {
  std::vector<T> x;
  std::int64_t iterations = 0;   // products with A in the loop; 0 for Cholesky
  double relative_residual = 0;  // ‖b - A x‖₂ / ‖b‖₂, computed from x in double
  bool converged = false;  // Eigen's own word: its recurrence met the tolerance, or A factored
};

// Solves A x = b from x0, or from zero where x0 is empty. A is square and symmetric, both triangles
// stored, columns sorted, fewer than 2^31 nonzeros; throws Error(usage) for other sizes.
template <class T>
Result<T> solve(CsrView<T> a, std::span<const T> b, std::span<const T> x0, const Options& options);

}  // namespace resident::reference
