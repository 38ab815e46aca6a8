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

// Jacobi preconditioning as symmetric scaling: with S = diag(scale), scale = 1/sqrt(a_ii), the
// solvers iterate on (S A S) (S^-1 x) = S b and measure ‖S^-1 r‖, which is the user's residual.
// Empty where scaling is off or would change nothing (constant diagonal). Rows whose diagonal is
// not positive keep a scale of 1.
template <class T>
std::vector<T> jacobi_scale(CsrView<T> a, Preconditioner preconditioner);

// The backends; options are resolved. `scale` is empty or has a.rows entries.
template <class T>
std::unique_ptr<CgBackend<T>> make_cpu_backend(CsrView<T> a, std::span<const T> scale,
                                               const CgOptions& options);

// Throws Error(device) with the reason where no GPU can be used.
template <class T>
std::unique_ptr<CgBackend<T>> make_gpu_backend(CsrView<T> a, std::span<const T> scale,
                                               const CgOptions& options);

}  // namespace cg
}  // namespace resident
