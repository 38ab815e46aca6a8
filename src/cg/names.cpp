// Names of the enumerations, as options, reports and JSON spell them.
#include <resident/conjugate_gradient.hpp>

namespace resident {

std::string_view name(StopReason reason) {
  switch (reason) {
    case StopReason::converged:
      return "converged";
    case StopReason::iteration_limit:
      return "iteration_limit";
    case StopReason::time_limit:
      return "time_limit";
    case StopReason::indefinite_matrix:
      return "indefinite_matrix";
    case StopReason::not_finite:
      return "not_finite";
    case StopReason::stagnated:
      return "stagnated";
    case StopReason::cancelled:
      return "cancelled";
    case StopReason::device_timeout:
      return "device_timeout";
  }
  return "unknown";
}

std::string_view name(DeviceKind kind) {
  switch (kind) {
    case DeviceKind::automatic:
      return "auto";
    case DeviceKind::gpu:
      return "gpu";
    case DeviceKind::cpu:
      return "cpu";
  }
  return "unknown";
}

std::string_view name(Recurrence recurrence) {
  switch (recurrence) {
    case Recurrence::automatic:
      return "auto";
    case Recurrence::classic:
      return "classic";
    case Recurrence::single_reduction:
      return "single_reduction";
  }
  return "unknown";
}

std::string_view name(Preconditioner preconditioner) {
  switch (preconditioner) {
    case Preconditioner::none:
      return "none";
    case Preconditioner::jacobi:
      return "jacobi";
  }
  return "unknown";
}

std::string_view name(CachePolicy policy) {
  switch (policy) {
    case CachePolicy::none:
      return "none";
    case CachePolicy::search:
      return "search";
    case CachePolicy::vectors:
      return "vectors";
    case CachePolicy::matrix:
      return "matrix";
    case CachePolicy::all:
      return "all";
  }
  return "unknown";
}

}  // namespace resident
