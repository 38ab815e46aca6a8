// A plain product for the rare true residual: every own row by itself, summed in double whatever
// the type of the matrix, and from global memory alone.
#pragma once

#include <cstdint>

#include "cg/merge_plan.hpp"
#include "cg/merge_spmv.cuh"

namespace resident::cg {

// Calls emit(i, sum) in one thread for every own row i of a block of `Threads` threads. v is read
// from global memory. A row is summed by a group of lanes, a very long one by the whole block.
template <class T, int Threads>
class RowProducts {
  static constexpr Offset kLongRow = 2048;
  static constexpr int kWarps = Threads / 32;

 public:
  struct Shared {
    double of_warp[kWarps];
  };

  __device__ __forceinline__ RowProducts(Shared& shared, const DeviceCsr<T>& a,
                                         const BlockRange& range, const T* v)
      : shared_(shared), a_(a), range_(range), v_(v) {}

  template <class Emit>
  __device__ void apply(Emit&& emit) const {
    const int lanes = lanes_per_row();
    const int lane = thread() % lanes;
    bool has_long_rows = false;
    // All lanes of a warp make the same number of steps, so that the shuffles meet.
    for (int base = 0; base < range_.rows; base += Threads / lanes) {
      const int i = base + thread() / lanes;
      const bool is_long = i < range_.rows && length(i) > kLongRow;
      has_long_rows |= is_long;
      double sum = i < range_.rows && !is_long ? partial(i, lane, lanes) : 0;
      for (int distance = lanes / 2; distance > 0; distance /= 2) {
        sum += __shfl_xor_sync(0xffffffffu, sum, distance);
      }
      if (lane == 0 && i < range_.rows && !is_long) emit(i, sum);
    }
    if (__syncthreads_or(has_long_rows)) sum_long_rows(emit);
  }

 private:
  __device__ __forceinline__ static int thread() { return static_cast<int>(threadIdx.x); }
  __device__ __forceinline__ Offset begin(int i) const {
    return a_.row_offsets[range_.first_row + i];
  }
  __device__ __forceinline__ Offset length(int i) const { return begin(i + 1) - begin(i); }

  __device__ __forceinline__ int lanes_per_row() const {
    const int mean = range_.nonzeros / max(1, range_.rows);
    return mean >= 32 ? 32 : mean >= 16 ? 16 : mean >= 8 ? 8 : mean >= 4 ? 4 : 2;
  }

  // The share of one of `count` threads in row i.
  __device__ __forceinline__ double partial(int i, int first, int count) const {
    double sum = 0;
    const Offset end = begin(i + 1);
    for (Offset k = begin(i) + first; k < end; k += count) {
      sum += static_cast<double>(a_.values[k]) * static_cast<double>(v_[a_.columns[k]]);
    }
    return sum;
  }

  template <class Emit>
  __device__ void sum_long_rows(Emit&& emit) const {
    for (int i = 0; i < range_.rows; ++i) {
      if (length(i) <= kLongRow) continue;
      double sum = partial(i, thread(), Threads);
      for (int distance = 16; distance > 0; distance /= 2) {
        sum += __shfl_xor_sync(0xffffffffu, sum, distance);
      }
      if (thread() % 32 == 0) shared_.of_warp[thread() / 32] = sum;
      __syncthreads();  // the sums of the warps are complete
      if (thread() == 0) {
        double total = 0;
        for (const double of_warp : shared_.of_warp) total += of_warp;
        emit(i, total);
      }
      __syncthreads();  // they have been read
    }
  }

  Shared& shared_;
  const DeviceCsr<T>& a_;
  const BlockRange& range_;
  const T* v_;
};

}  // namespace resident::cg
