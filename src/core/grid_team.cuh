// The grid as a team: all thread blocks of a cooperative launch, with reproducible sums.
//
// A sum is one partial per block in global memory, a grid-wide barrier, and every block adding all
// partials in the same order: all blocks get the same bits, in every run with the same grid.
#pragma once

#include <cooperative_groups.h>
#include <cub/block/block_reduce.cuh>

#include <cuda/atomic>
#include <cuda/ptx>

#include <cstdint>

namespace resident {

// Device memory that host and kernel share while the kernel runs. The host writes `request` and
// reads the progress through copies on another stream.
struct TeamControl {
  int request;                // 0: go on; else a reason to stop, agreed on with the next sum
  int time_out_request;       // the request that passing the deadline stands for
  std::uint64_t time_limit;   // nanoseconds from the start of the kernel; 0: none
  double progress_value;      // where the iteration stands ...
  double progress_reference;  // ... and what that is relative to
  std::int64_t progress_iteration;
};

template <int N>
struct Partials {
  double value[N];
  __device__ __forceinline__ Partials operator+(const Partials& other) const {
    Partials sum;
    for (int i = 0; i < N; ++i) sum.value[i] = value[i] + other.value[i];
    return sum;
  }
};

// Doubles of global memory that a team of `blocks` needs for its sums: two epochs of up to three
// values, and ints for the requests.
constexpr int kLargestSum = 3;
inline std::size_t team_slots(int blocks) {
  return 2 * static_cast<std::size_t>(kLargestSum) * static_cast<std::size_t>(blocks);
}

template <int Threads>
class GridTeam {
  template <int N>
  using Reduce = cub::BlockReduce<Partials<N>, Threads, cub::BLOCK_REDUCE_WARP_REDUCTIONS>;

 public:
  // What does not change often lives in shared memory and not in registers.
  struct Shared {
    union {
      typename Reduce<1>::TempStorage one;
      typename Reduce<2>::TempStorage two;
      typename Reduce<3>::TempStorage three;
    } reduction;
    Partials<kLargestSum> total;
    int request;
    std::uint64_t start;
  };

  __device__ __forceinline__ GridTeam(Shared& shared, double* slots, int* requests,
                                      TeamControl* control)
      : shared_(shared), slots_(slots), requests_(requests), control_(control) {
    if (is_leader()) shared_.start = cuda::ptx::get_sreg_globaltimer();
  }

  __device__ __forceinline__ int rank() const { return static_cast<int>(blockIdx.x); }
  __device__ __forceinline__ int size() const { return static_cast<int>(gridDim.x); }
  // The one thread that speaks with the host.
  __device__ __forceinline__ bool is_leader() const { return blockIdx.x == 0 && threadIdx.x == 0; }

  // Orders all memory accesses of all blocks.
  __device__ __forceinline__ void sync() { cooperative_groups::this_grid().sync(); }

  // Sums over all threads of all blocks; also a sync(). All blocks get the same bits.
  template <int N>
  __device__ __forceinline__ Partials<N> all_reduce(const Partials<N>& mine) {
    static_assert(N <= kLargestSum);
    int asked = 0;
    if (is_leader()) asked = ask_host();
    epoch_ ^= 1;
    double* slots = slots_ + epoch_ * kLargestSum * size();
    const Partials<N> of_block = reduce(mine);
    if (threadIdx.x == 0) {
      for (int i = 0; i < N; ++i) slots[i * size() + rank()] = of_block.value[i];
    }
    if (is_leader()) requests_[epoch_] = asked;
    sync();
    Partials<N> sum = {};
    for (int block = static_cast<int>(threadIdx.x); block < size(); block += Threads) {
      for (int i = 0; i < N; ++i) sum.value[i] += slots[i * size() + block];
    }
    sum = reduce(sum);
    if (threadIdx.x == 0) {
      for (int i = 0; i < N; ++i) shared_.total.value[i] = sum.value[i];
      shared_.request = requests_[epoch_];
    }
    __syncthreads();  // the total is complete; the next one is written after a grid-wide barrier
    for (int i = 0; i < N; ++i) sum.value[i] = shared_.total.value[i];
    return sum;
  }

  // What the host asked for, as all blocks saw it in the last sum.
  __device__ __forceinline__ int request() const { return shared_.request; }

  // For the leader alone.
  __device__ __forceinline__ void report_reference(double value) {
    control_->progress_reference = value;
  }
  __device__ __forceinline__ void report_progress(std::int64_t iteration, double value) {
    control_->progress_value = value;
    control_->progress_iteration = iteration;
  }

 private:
  template <int N>
  __device__ __forceinline__ Partials<N> reduce(const Partials<N>& mine) {
    const auto add = [](const Partials<N>& a, const Partials<N>& b) { return a + b; };
    if constexpr (N == 1) {
      return Reduce<1>(shared_.reduction.one).Reduce(mine, add);
    } else if constexpr (N == 2) {
      return Reduce<2>(shared_.reduction.two).Reduce(mine, add);
    } else {
      return Reduce<3>(shared_.reduction.three).Reduce(mine, add);
    }
  }

  __device__ __forceinline__ int ask_host() const {
    const int asked = cuda::atomic_ref<int, cuda::thread_scope_system>(control_->request)
                          .load(cuda::memory_order_relaxed);
    if (asked != 0) return asked;
    const std::uint64_t limit = control_->time_limit;
    if (limit != 0 && cuda::ptx::get_sreg_globaltimer() - shared_.start > limit) {
      return control_->time_out_request;
    }
    return 0;
  }

  Shared& shared_;
  double* slots_;
  int* requests_;
  TeamControl* control_;
  int epoch_ = 0;
};

}  // namespace resident
