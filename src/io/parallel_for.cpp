// Threads that take loop iterations from one counter.
#include "io/parallel_for.hpp"

#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace resident::io {
namespace {

class Loop {
 public:
  Loop(std::size_t count, const std::function<void(int, std::size_t)>& body)
      : count_(count), body_(body) {}

  void work(int worker) {
    while (!failed_.load(std::memory_order_relaxed)) {
      const std::size_t i = next_.fetch_add(1, std::memory_order_relaxed);
      if (i >= count_) return;
      try {
        body_(worker, i);
      } catch (...) {
        note_failure(i, std::current_exception());
      }
    }
  }

  void rethrow() const {
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  void note_failure(std::size_t i, std::exception_ptr failure) {
    const std::lock_guard lock(mutex_);
    if (!failure_ || i < failed_index_) {
      failure_ = std::move(failure);
      failed_index_ = i;
    }
    failed_.store(true, std::memory_order_relaxed);
  }

  std::size_t count_;
  const std::function<void(int, std::size_t)>& body_;
  std::atomic<std::size_t> next_ = 0;
  std::atomic<bool> failed_ = false;
  std::mutex mutex_;
  std::exception_ptr failure_;
  std::size_t failed_index_ = 0;
};

}  // namespace

void parallel_for(std::size_t count, int threads,
                  const std::function<void(int worker, std::size_t i)>& body) {
  Loop loop(count, body);
  {
    std::vector<std::jthread> team;
    try {
      for (int worker = 1; worker < threads && static_cast<std::size_t>(worker) < count; ++worker) {
        team.emplace_back([&loop, worker] { loop.work(worker); });
      }
    } catch (const std::system_error&) {
      // The system grants no further thread: those that run share the work.
    }
    loop.work(0);
  }
  loop.rethrow();
}

}  // namespace resident::io
