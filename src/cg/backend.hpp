// What a device does for ConjugateGradient, and the preparation that all devices share.
#pragma once

#include <resident/conjugate_gradient.hpp>

#include <memory>
#include <span>
#include <vector>

namespace resident {

// One prepared matrix on one device.
template <class T>
class CgBackend {
 public:
  virtual ~CgBackend() = default;

  // Fills every field of the report except setup_seconds.
  virtual SolveReport solve(std::span<const T> b, std::span<T> x) = 0;
  virtual SolveReport solve(DeviceSpan<const T> b, DeviceSpan<T> x, CUstream_st* stream) = 0;
  virtual DeviceKind device() const = 0;

  Index rows = 0;
  CgOptions options;  // with recurrence and max_iterations resolved
  double setup_seconds = 0;
  Index nonpositive_diagonal = -1;  // a row that proves the matrix indefinite, or -1
};

namespace cg {

// The diagonal of Jacobi's preconditioner M = diag(A)^-1, up to a constant factor that keeps its
// entries as far from overflow as from underflow (CG does not feel the factor). Empty where M is
// the identity: no preconditioner, or a constant diagonal. Zero rows keep the entry of the mean.
template <class T>
std::vector<T> jacobi_diagonal(CsrView<T> a, Preconditioner preconditioner);

// The backends; options are resolved. `preconditioner` is empty or has a.rows
// entries.
template <class T>
std::unique_ptr<CgBackend<T>> make_cpu_backend(CsrView<T> a, std::span<const T> preconditioner,
                                               const CgOptions& options);

// Throws Error(device) with the reason where no GPU can be used.
template <class T>
std::unique_ptr<CgBackend<T>> make_gpu_backend(CsrView<T> a, std::span<const T> preconditioner,
                                               const CgOptions& options);

}  // namespace cg
}  // namespace resident
