// How the threads of a team wait for each other and add up their partial sums.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

#include "core/cpu_threads.hpp"
#include "cpu/buffer.hpp"

namespace resident::cpu {

inline void spin_pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// A barrier for a fixed number of threads. The wait spins for some ten microseconds, then offers
// its core for some hundred, since whoever is waited for may need it, then sleeps. A team that has
// more members than cores does not spin.
class Barrier {
 public:
  explicit Barrier(int members)
      : members_(members), spins_(members <= available_cpu_threads() ? 400 : 0) {}

  // What any member wrote before it arrived is visible to every member after it returns.
  void arrive_and_wait() {
    if (members_ == 1) return;
    // The epoch cannot move on before this member has arrived.
    const int epoch = epoch_.load(std::memory_order_relaxed);
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == members_) {
      arrived_.store(0, std::memory_order_relaxed);
      epoch_.store(epoch + 1, std::memory_order_release);
      epoch_.notify_all();
    } else {
      wait_while(epoch);
    }
  }

 private:
  void wait_while(int epoch) const {
    constexpr int yields = 256;
    for (int i = 0; i < spins_ + yields; ++i) {
      if (epoch_.load(std::memory_order_acquire) != epoch) return;
      if (i < spins_) {
        spin_pause();
      } else {
        std::this_thread::yield();
      }
    }
    epoch_.wait(epoch, std::memory_order_acquire);
  }

  const int members_;
  const int spins_;
  alignas(cache_line) std::atomic<int> arrived_{0};
  alignas(cache_line) std::atomic<int> epoch_{0};  // wraps around, which equality does not mind
};

// Sums over all members, with one barrier per sum. Value has operator+=. Every member adds the
// contributions in member order, so all members get the same bits, in every run.
template <class Value>
class AllReduce {
 public:
  explicit AllReduce(int members) : barrier_(members), slots_(static_cast<std::size_t>(members)) {}

  // Called by every member with its own rank. Orders memory as the barrier does.
  Value sum(int rank, const Value& contribution) {
    Slot& own = slots_[static_cast<std::size_t>(rank)];
    // A member that is two sums ahead has passed the barrier between them, hence every member has
    // read what is overwritten here.
    const std::size_t parity = own.sums_made++ % 2;
    own.contributions[parity] = contribution;
    barrier_.arrive_and_wait();
    Value total = slots_.front().contributions[parity];
    for (std::size_t i = 1; i < slots_.size(); ++i) total += slots_[i].contributions[parity];
    return total;
  }

  void barrier() { barrier_.arrive_and_wait(); }

 private:
  struct alignas(cache_line) Slot {
    std::array<Value, 2> contributions{};
    unsigned sums_made = 0;  // touched by the slot's member alone
  };

  Barrier barrier_;
  std::vector<Slot> slots_;
};

}  // namespace resident::cpu
