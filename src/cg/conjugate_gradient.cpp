// The public solver: checks, Jacobi's diagonal, choice of the device, and reports for people.
#include <resident/conjugate_gradient.hpp>
#include <resident/devices.hpp>
#include <resident/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <utility>

#include "cg/backend.hpp"

namespace resident {
namespace cg {

template <class T>
std::vector<T> jacobi_diagonal(CsrView<T> a, Preconditioner preconditioner) {
  if (preconditioner == Preconditioner::none) return {};
  std::vector<double> diagonal(static_cast<std::size_t>(a.rows));
  double least = std::numeric_limits<double>::infinity(), most = 0;
  bool constant = true;
  for (std::size_t row = 0; row < diagonal.size(); ++row) {
    const auto begin = a.columns.begin() + a.row_offsets[row];
    const auto end = a.columns.begin() + a.row_offsets[row + 1];
    const auto at = std::lower_bound(begin, end, static_cast<Index>(row));
    if (at != end && *at == static_cast<Index>(row)) {
      diagonal[row] =
          static_cast<double>(a.values[static_cast<std::size_t>(at - a.columns.begin())]);
    }
    constant = constant && diagonal[row] == diagonal[0];
    if (diagonal[row] > 0) {
      least = std::min(least, diagonal[row]);
      most = std::max(most, diagonal[row]);
    }
  }
  if (constant || most == 0) return {};
  const double mean = std::sqrt(least) * std::sqrt(most);  // geometric, so that M is around 1
  std::vector<T> m(diagonal.size(), T(1));
  for (std::size_t row = 0; row < m.size(); ++row) {
    if (diagonal[row] > 0) m[row] = static_cast<T>(mean / diagonal[row]);
  }
  return m;
}

template std::vector<float> jacobi_diagonal(CsrView<float>, Preconditioner);
template std::vector<double> jacobi_diagonal(CsrView<double>, Preconditioner);

}  // namespace cg

namespace {

void check_options(const CgOptions& o) {
  const auto refuse = [](const std::string& what) { throw Error(ErrorCategory::usage, what); };
  if (!(o.tolerance >= 0)) refuse(fmt::format("tolerance is {}, expected 0 or more", o.tolerance));
  if (!(o.absolute_tolerance >= 0)) {
    refuse(fmt::format("absolute_tolerance is {}, expected 0 or more", o.absolute_tolerance));
  }
  if (o.max_iterations < 0) {
    refuse(fmt::format("max_iterations is {}, expected 0 (automatic) or more", o.max_iterations));
  }
  if (!(o.time_limit > 0)) {
    refuse(fmt::format("time_limit is {} s, expected more than 0", o.time_limit));
  }
  if (o.threads < 0) refuse(fmt::format("threads is {}, expected 0 (all) or more", o.threads));
  if (o.gpu < 0) refuse(fmt::format("gpu is {}, expected an index from 0", o.gpu));
}

DeviceKind resolve_device(const CgOptions& options) {
  if (options.device != DeviceKind::automatic) return options.device;
  const DeviceList list = list_devices();
  const auto gpu = static_cast<std::size_t>(options.gpu);
  return gpu < list.gpus.size() && list.gpus[gpu].usable ? DeviceKind::gpu : DeviceKind::cpu;
}

template <class T>
double largest_magnitude(std::span<const T> v) {
  T largest = 0;
  for (const T entry : v) largest = std::max(largest, std::abs(entry));
  return static_cast<double>(largest);
}

// A power of two by which b is multiplied so that squares of its entries neither overflow nor
// vanish; 1 for all but extreme inputs, and for inputs that are zero or not finite.
template <class T>
T safe_scale(std::span<const T> b) {
  const double largest = largest_magnitude(b);
  if (!(largest > 0) || !std::isfinite(largest)) return T(1);
  const double bound = std::is_same_v<T, float> ? 1e15 : 1e120;
  if (largest < bound && largest > 1 / bound) return T(1);
  // Two exponents at most of a float's range remain: ldexp(1, 127) is the largest power of two.
  const int limit = std::is_same_v<T, float> ? 126 : 1022;
  return static_cast<T>(std::ldexp(1.0, std::clamp(-std::ilogb(largest), -limit, limit)));
}

}  // namespace

template <class T>
ConjugateGradient<T>::ConjugateGradient(CsrView<T> a, CgOptions options) {
  const auto start = std::chrono::steady_clock::now();
  check_options(options);
  if (a.rows != a.cols) {
    throw Error(ErrorCategory::input,
                fmt::format("the matrix has {} rows and {} columns, expected a square matrix",
                            a.rows, a.cols));
  }
  CsrChecks checks = options.checks;
  checks.positive_diagonal = false;  // becomes StopReason::indefinite_matrix, not an exception
  validate(a, checks);
  if (options.max_iterations == 0) {
    options.max_iterations = std::max<std::int64_t>(1000, 10 * std::int64_t{a.rows});
  }
  options.device = resolve_device(options);
  const std::vector<T> preconditioner = cg::jacobi_diagonal(a, options.preconditioner);
  backend_ = options.device == DeviceKind::gpu
                 ? cg::make_gpu_backend(a, std::span<const T>(preconditioner), options)
                 : cg::make_cpu_backend(a, std::span<const T>(preconditioner), options);
  backend_->rows = a.rows;
  if (options.checks.positive_diagonal) {
    backend_->nonpositive_diagonal = first_nonpositive_diagonal(a);
  }
  backend_->setup_seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

template <class T>
ConjugateGradient<T>::ConjugateGradient(ConjugateGradient&&) noexcept = default;
template <class T>
ConjugateGradient<T>& ConjugateGradient<T>::operator=(ConjugateGradient&&) noexcept = default;
template <class T>
ConjugateGradient<T>::~ConjugateGradient() = default;

namespace {

// Sizes, and the answer that the diagonal alone gives.
template <class T>
bool ends_before_it_starts(const CgBackend<T>& backend, std::size_t b_size, std::size_t x_size,
                           SolveReport& report) {
  const auto rows = static_cast<std::size_t>(backend.rows);
  if (b_size != rows || x_size != rows) {
    throw Error(ErrorCategory::usage,
                fmt::format("b has {} entries and x has {}, expected {} as the matrix has rows",
                            b_size, x_size, rows));
  }
  if (backend.nonpositive_diagonal < 0) return false;
  report.reason = StopReason::indefinite_matrix;
  report.detail = fmt::format("the diagonal entry of row {} is not positive",
                              std::int64_t{backend.nonpositive_diagonal} + 1);
  report.device = std::string(name(backend.device()));
  report.residual_norm = report.rhs_norm = std::nan("");
  return true;
}

}  // namespace

template <class T>
SolveReport ConjugateGradient<T>::solve(std::span<const T> b, std::span<T> x) {
  SolveReport report;
  if (!ends_before_it_starts(*backend_, b.size(), x.size(), report)) {
    const T factor = safe_scale(b);
    if (factor == T(1)) {
      report = backend_->solve(b, x);
    } else {
      std::vector<T> scaled(b.begin(), b.end());
      for (T& entry : scaled) entry *= factor;
      for (T& entry : x) entry *= factor;
      const double absolute_tolerance = backend_->options.absolute_tolerance;
      backend_->options.absolute_tolerance *= static_cast<double>(factor);
      report = backend_->solve(std::span<const T>(scaled), x);
      backend_->options.absolute_tolerance = absolute_tolerance;
      for (T& entry : x) entry /= factor;
      report.residual_norm /= static_cast<double>(factor);
      report.rhs_norm /= static_cast<double>(factor);
      for (double& norm : report.history) norm /= static_cast<double>(factor);
    }
  }
  report.setup_seconds = backend_->setup_seconds;
  return report;
}

template <class T>
SolveReport ConjugateGradient<T>::solve(DeviceSpan<const T> b, DeviceSpan<T> x,
                                        CUstream_st* stream) {
  if (backend_->device() != DeviceKind::gpu) {
    throw Error(ErrorCategory::usage, "device vectors were given to a solver that runs on the CPU");
  }
  SolveReport report;
  if (!ends_before_it_starts(*backend_, b.size, x.size, report)) {
    report = backend_->solve(b, x, stream);
  }
  report.setup_seconds = backend_->setup_seconds;
  return report;
}

template <class T>
Index ConjugateGradient<T>::rows() const {
  return backend_->rows;
}
template <class T>
DeviceKind ConjugateGradient<T>::device() const {
  return backend_->device();
}
template <class T>
const CgOptions& ConjugateGradient<T>::options() const {
  return backend_->options;
}

template class ConjugateGradient<float>;
template class ConjugateGradient<double>;

std::string SolveReport::message() const {
  const std::string tail = detail.empty() ? "" : ": " + detail;
  const std::string residual =
      fmt::format("after {} iterations, relative residual {:.3e}", iterations, relative_residual());
  switch (reason) {
    case StopReason::converged:
      return fmt::format("converged {}{}", residual, tail);
    case StopReason::iteration_limit:
      return fmt::format("not converged: iteration limit reached {}{}", residual, tail);
    case StopReason::time_limit:
      return fmt::format("not converged: time limit reached {}{}", residual, tail);
    case StopReason::indefinite_matrix:
      return fmt::format("breakdown: the matrix is not positive definite, seen {}{}", residual,
                         tail);
    case StopReason::not_finite:
      return fmt::format("breakdown: a value that is not finite, seen {}{}", residual, tail);
    case StopReason::stagnated:
      return fmt::format("not converged: the true residual no longer falls, {}{}", residual, tail);
    case StopReason::cancelled:
      return fmt::format("cancelled {}{}", residual, tail);
    case StopReason::device_timeout:
      return fmt::format("the device passed a deadline {}{}", residual, tail);
  }
  return "unknown reason";
}

}  // namespace resident
