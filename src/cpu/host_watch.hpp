// What the host sees of a running solve and may ask of it. Touched by one member alone.
#pragma once

#include <resident/conjugate_gradient.hpp>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <exception>
#include <utility>
#include <vector>

#include "cg/recurrences.hpp"

namespace resident::cpu {

class HostWatch {
 public:
  using Clock = std::chrono::steady_clock;

  explicit HostWatch(const CgOptions& options)
      : options_(options), start_(Clock::now()), last_progress_(start_) {}

  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

  // The first thing that was asked for stays.
  cg::Request poll() {
    if (request_ != cg::Request::none) return request_;
    if (options_.cancel != nullptr && options_.cancel->load(std::memory_order_relaxed)) {
      request_ = cg::Request::cancel;
    } else if (std::isfinite(options_.time_limit) && seconds() >= options_.time_limit) {
      request_ = cg::Request::time_out;
    }
    return request_;
  }

  // An exception of the progress function must not leave while other members wait: it ends the
  // solve and is thrown again by rethrow().
  void record(std::int64_t iteration, double residual_norm, double rhs_norm) noexcept {
    try {
      if (options_.history) history_.push_back(residual_norm);
      if (options_.progress) report_progress(iteration, residual_norm, rhs_norm);
    } catch (...) {
      failure_ = std::current_exception();
      request_ = cg::Request::cancel;
    }
  }

  void rethrow() const {
    if (failure_) std::rethrow_exception(failure_);
  }

  // Bracket the iterations, restarts left out.
  void iterations_begin() {
    iterating_ = true;
    iterations_start_ = Clock::now();
  }
  void iterations_end() {
    if (iterating_) iteration_time_ += Clock::now() - iterations_start_;
    iterating_ = false;
  }
  double iteration_seconds() const {
    return std::chrono::duration<double>(iteration_time_).count();
  }

  std::vector<double> take_history() { return std::move(history_); }

 private:
  void report_progress(std::int64_t iteration, double residual_norm, double rhs_norm) {
    const Clock::time_point now = Clock::now();
    const std::chrono::duration<double> since_last = now - last_progress_;
    if (since_last.count() < options_.progress_interval) return;
    last_progress_ = now;
    options_.progress({iteration, residual_norm, rhs_norm, seconds()});
  }

  const CgOptions& options_;
  const Clock::time_point start_;
  Clock::time_point last_progress_;
  Clock::time_point iterations_start_;
  Clock::duration iteration_time_{};
  bool iterating_ = false;
  cg::Request request_ = cg::Request::none;
  std::vector<double> history_;
  std::exception_ptr failure_;
};

}  // namespace resident::cpu
