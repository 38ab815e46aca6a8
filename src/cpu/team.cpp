#include "cpu/team.hpp"

#include <resident/error.hpp>

#include <fmt/format.h>

#include <atomic>
#include <cstddef>
#include <exception>
#include <system_error>
#include <thread>
#include <vector>

namespace resident::cpu {
namespace {

enum Start : int { not_yet, go, abandon };

// Starts all threads or none, since bodies wait for each other.
void start_threads(std::vector<std::jthread>& threads, int members, std::atomic<int>& start,
                   const std::function<void(int)>& body) {
  try {
    for (int rank = 1; rank < members; ++rank) {
      threads.emplace_back([&start, &body, rank] {
        start.wait(not_yet);
        if (start == go) body(rank);
      });
    }
    start = go;
  } catch (const std::system_error& error) {
    start = abandon;
    start.notify_all();
    throw Error(ErrorCategory::device, fmt::format("{} CPU threads could not be started ({})",
                                                   members, error.code().message()));
  }
  start.notify_all();
}

}  // namespace

void run_team(int members, const std::function<void(int)>& body) {
  std::vector<std::exception_ptr> failures(static_cast<std::size_t>(members));
  const std::function<void(int)> guarded = [&](int rank) {
    try {
      body(rank);
    } catch (...) {
      failures[static_cast<std::size_t>(rank)] = std::current_exception();
    }
  };
  {
    std::atomic<int> start = not_yet;
    std::vector<std::jthread> threads;  // joins before `start` goes
    threads.reserve(static_cast<std::size_t>(members - 1));
    start_threads(threads, members, start, guarded);
    guarded(0);
  }
  for (const std::exception_ptr& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
}

}  // namespace resident::cpu
