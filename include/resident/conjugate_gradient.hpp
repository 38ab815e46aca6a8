// Conjugate gradients for sparse symmetric positive definite systems.
//
//   resident::ConjugateGradient<double> cg(a, {.tolerance = 1e-10});
//   std::vector<double> x(b.size());          // in: initial guess, out: solution
//   resident::SolveReport report = cg.solve(b, x);
//   if (!report.converged()) std::cerr << report.message() << '\n';
#pragma once

#include <resident/csr.hpp>

#include <atomic>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

struct CUstream_st;  // cudaStream_t is a pointer to this

namespace resident {

// Why a solve ended. `converged` is only said after the true residual b - A x was computed and met
// the tolerance.
enum class StopReason {
  converged,
  iteration_limit,
  time_limit,
  indefinite_matrix,  // a direction p with p·Ap <= 0, or a diagonal entry that is not positive
  not_finite,         // NaN or infinity in A, b, x0, or produced by overflow
  stagnated,          // restarts from the true residual no longer reduce it
  cancelled,          // the cancellation flag was raised
  device_timeout,     // a wait inside the kernel passed its deadline
};

// automatic: a GPU if there is one that this build can use, else the CPU.
enum class DeviceKind { automatic, gpu, cpu };

// classic: Hestenes and Stiefel 1952, two reductions an iteration.
// single_reduction: Chronopoulos and Gear 1989, both dot products in one reduction.
// automatic: the one that the device runs fastest while keeping classic's iteration counts.
enum class Recurrence { automatic, classic, single_reduction };

// jacobi: M = diag(A)^-1, one more vector to read an iteration. Skipped where the diagonal is
// constant (it would change nothing).
enum class Preconditioner { none, jacobi };

// What the GPU kernel keeps on chip between iterations (Zhang et al., PERKS, ICS 2023, section
// 6.2.2). search: merge-path search results; vectors: search and the vectors; matrix: search and
// the matrix; all: as much of everything as fits, vectors first.
enum class CachePolicy { none, search, vectors, matrix, all };

struct Progress {
  std::int64_t iteration = 0;
  double residual_norm = 0;  // ‖r‖₂ of the recurrence
  double rhs_norm = 0;       // ‖b‖₂
  double seconds = 0;        // since the solve started
};

struct CgOptions {
  double tolerance = 1e-8;          // stop when ‖b - A x‖₂ <= tolerance · ‖b‖₂ ...
  double absolute_tolerance = 0;    // ... or <= this
  std::int64_t max_iterations = 0;  // 0: ten times the rows, at least 1000
  double time_limit = std::numeric_limits<double>::infinity();  // seconds, of the solve
  Preconditioner preconditioner = Preconditioner::jacobi;
  Recurrence recurrence = Recurrence::automatic;
  CachePolicy cache = CachePolicy::all;
  DeviceKind device = DeviceKind::automatic;
  int gpu = 0;            // index among list_devices().gpus
  int threads = 0;        // of the CPU team; 0: all that the process may use
  CsrChecks checks = {};  // made once, when the solver is constructed
  bool history = false;   // record ‖r‖₂ of every iteration
  std::function<void(const Progress&)> progress = {};  // called from the solving or another thread
  double progress_interval = 0.1;                      // seconds between calls
  const std::atomic<bool>* cancel = nullptr;           // raise it from any thread or signal handler
};

struct SolveReport {
  StopReason reason = StopReason::iteration_limit;
  std::int64_t iterations = 0;
  int restarts = 0;              // residual replacements: restarts from the true residual
  double residual_norm = 0;      // ‖b - A x‖₂, computed from the returned x
  double rhs_norm = 0;           // ‖b‖₂
  double setup_seconds = 0;      // of the constructor
  double solve_seconds = 0;      // wall clock of this solve, transfers included
  double iteration_seconds = 0;  // device time of the iterations alone (CPU: wall clock)
  std::string device;            // "NVIDIA H200", "CPU, 2 threads"
  std::string plan;              // one line: team, recurrence, what is kept on chip
  std::string detail;            // what exactly was found, where the reason alone says too little
  std::vector<double> history;   // ‖r‖₂ after iteration 0, 1, ...; empty unless requested

  bool converged() const { return reason == StopReason::converged; }
  double relative_residual() const {
    return rhs_norm > 0 ? residual_norm / rhs_norm : residual_norm;
  }
  std::string message() const;  // one sentence for people
};

// Names as the command line spells them ("iteration_limit", "single_reduction", ...).
std::string_view name(StopReason);
std::string_view name(DeviceKind);
std::string_view name(Recurrence);
std::string_view name(Preconditioner);
std::string_view name(CachePolicy);

template <class T>
class CgBackend;

// A vector in the memory of the GPU that the solver runs on. A type of its own, so that a host
// pointer cannot be passed by mistake.
template <class T>
struct DeviceSpan {
  T* data = nullptr;
  std::size_t size = 0;
};

// Prepared for one matrix, solves for any number of right-hand sides. Keeps a packed copy of the
// matrix: `a` need not outlive the constructor. One solve at a time per object; different objects
// are independent. T is float or double; sums are always accumulated in double.
template <class T>
class ConjugateGradient {
 public:
  // Throws Error: input (a check failed), usage (an option), device, memory.
  explicit ConjugateGradient(CsrView<T> a, CgOptions options = {});
  ConjugateGradient(ConjugateGradient&&) noexcept;
  ConjugateGradient& operator=(ConjugateGradient&&) noexcept;
  ~ConjugateGradient();

  // b and x have `rows` entries and do not overlap. x holds the initial guess and receives the
  // solution, or the last iterate whatever the reason to stop. Returns after the solve has ended.
  // Throws Error: usage (sizes), device, memory.
  SolveReport solve(std::span<const T> b, std::span<T> x);

  // The same for vectors in GPU memory. The work is ordered after what `stream` holds and before
  // what is enqueued on it later; the call returns after the solve has ended. Throws Error(usage)
  // when the solver runs on the CPU.
  SolveReport solve(DeviceSpan<const T> b, DeviceSpan<T> x, CUstream_st* stream = nullptr);

  Index rows() const;
  DeviceKind device() const;  // gpu or cpu
  const CgOptions& options() const;

 private:
  std::unique_ptr<CgBackend<T>> backend_;
};

}  // namespace resident
