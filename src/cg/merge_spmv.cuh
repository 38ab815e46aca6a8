// The merge-based SpMV engine: one thread block's share of y = A v, tile by tile.
//
// After Merrill and Garland (SC 2016) and the AgentSpmv that CUB had: the products of a tile are
// formed in shared memory, each thread walks an equal share of the merge of row ends and products,
// and a segmented scan hands what a thread could not finish to the next. Block-level and
// thread-level search results depend on the pattern alone; they are found once and kept.
#pragma once

#include <cub/block/block_scan.cuh>

#include <cstdint>

#include "cg/merge_plan.hpp"
#include "core/merge_path.hpp"

namespace resident::cg {

template <int Threads, int ItemsPerThread>
struct MergeTuning {
  static constexpr int threads = Threads;
  static constexpr int items_per_thread = ItemsPerThread;
  static constexpr TileShape tile() { return {Threads, ItemsPerThread}; }
};

// A matrix in device memory; columns and values start at nonzero 0.
template <class T>
struct DeviceCsr {
  const Offset* row_offsets;
  const Index* columns;
  const T* values;
};

// A point of the merge path inside a block or a tile.
struct LocalCoordinate {
  std::int32_t row;
  std::int32_t nonzero;
};

template <class T, class Tuning>
class MergeSpmv {
  static constexpr int kThreads = Tuning::threads;
  static constexpr int kItems = Tuning::items_per_thread;
  static constexpr int kTileItems = kThreads * kItems;
  static_assert(kTileItems <= 0xffff, "row ends inside a tile are 16-bit");
  // Tile starts are looked at in windows of this many tiles.
  static constexpr int kWindow = 256;

  // The sum since the last row end, and whether there was a row end.
  struct OpenRow {
    T sum;
    int row_ended;
  };
  struct Join {
    __device__ __forceinline__ OpenRow operator()(const OpenRow& left, const OpenRow& right) const {
      return {right.row_ended ? right.sum : left.sum + right.sum, left.row_ended | right.row_ended};
    }
  };
  using Scan = cub::BlockScan<OpenRow, kThreads, cub::BLOCK_SCAN_WARP_SCANS>;

 public:
  struct Shared {
    typename Scan::TempStorage scan;
    LocalCoordinate tile_starts[kWindow + 1];
  };

  // Arrays are found from the arguments at each use, which live in constant memory: as members they
  // would hold registers through the whole solve. All references outlive this object.
  __device__ __forceinline__ MergeSpmv(Shared& shared, char* dynamic_shared,
                                       const SharedLayout& layout, const DeviceCsr<T>& a,
                                       const BlockRange& range, const Residency& keep)
      : shared_(shared),
        dynamic_(dynamic_shared),
        layout_(layout),
        a_(a),
        range_(range),
        keep_(keep) {
    fill();
  }

  // Calls emit(i, sum) for every own row i, once per row and by some thread: the sum over the part
  // of the row that lies in this block. Returns to all threads the sum of the last row's part that
  // lies in this block and ends in a later one. v may be written by other blocks up to the last
  // grid-wide barrier.
  //
  // Bytes read per iteration from beyond shared memory: per nonzero sizeof(T) + 4, not for kept
  // ones, and a gather of sizeof(T); per row 8, or nothing where its row end is kept.
  template <class Emit>
  __device__ __forceinline__ T apply(const T* v, Emit&& emit) {
    T carry = 0;
    for (int tile = 0; tile < tiles(); ++tile) {
      enter_window(tile);
      const LocalCoordinate start = shared_.tile_starts[tile % kWindow];
      const LocalCoordinate end = shared_.tile_starts[tile % kWindow + 1];
      const int tile_rows = end.row - start.row;
      const std::uint16_t* row_ends = stage_row_ends(start, end);
      stage_products(v, start, end);
      __syncthreads();  // products and row ends are complete
      carry = reduce_rows(tile, row_ends, tile_rows, end.nonzero - start.nonzero, carry);
      const T* sums = work() + (end.nonzero - start.nonzero);
      for (int i = thread(); i < tile_rows; i += kThreads) emit(start.row + i, sums[i]);
      __syncthreads();  // the row sums have been read; the next tile may overwrite them
    }
    return carry;
  }

 private:
  template <class U>
  __device__ __forceinline__ U* on_chip(std::size_t offset) const {
    return reinterpret_cast<U*>(dynamic_ + offset);
  }
  __device__ __forceinline__ T* work() const { return on_chip<T>(layout_.work); }
  __device__ __forceinline__ std::uint16_t* row_ends() const {
    return on_chip<std::uint16_t>(layout_.row_ends);
  }
  __device__ __forceinline__ std::uint16_t* kept_row_ends() const {
    return on_chip<std::uint16_t>(layout_.kept_row_ends);
  }
  __device__ __forceinline__ std::uint32_t* kept_search() const {
    return on_chip<std::uint32_t>(layout_.search);
  }

  __device__ __forceinline__ int tiles() const {
    return (range_.rows + range_.nonzeros + kTileItems - 1) / kTileItems;
  }

  __device__ __forceinline__ static int thread() { return static_cast<int>(threadIdx.x); }

  // Row ends of the block relative to its first nonzero.
  struct RowEnds {
    const Offset* ends;
    Offset first_nonzero;
    __device__ __forceinline__ Offset operator[](Offset row) const {
      return ends[row] - first_nonzero;
    }
  };
  __device__ __forceinline__ RowEnds block_row_ends() const {
    return {a_.row_offsets + range_.first_row + 1, range_.first_nonzero};
  }

  __device__ __forceinline__ LocalCoordinate search_tile(int tile) const {
    const int diagonal = min(tile * kTileItems, range_.rows + range_.nonzeros);
    const MergeCoordinate found =
        merge_path_search(diagonal, block_row_ends(), range_.rows, range_.nonzeros);
    return {static_cast<std::int32_t>(found.row), static_cast<std::int32_t>(found.nonzero)};
  }

  // Block-level search for the window of tiles that begins with `tile`, unless it is kept.
  __device__ __forceinline__ void enter_window(int tile) {
    if (tile % kWindow != 0 || (window_is_kept_ && tiles() <= kWindow)) return;
    for (int i = thread(); i <= kWindow; i += kThreads) {
      if (tile + i <= tiles()) shared_.tile_starts[i] = search_tile(tile + i);
    }
    __syncthreads();
  }

  // Row ends of a tile relative to its first nonzero.
  __device__ __forceinline__ const std::uint16_t* stage_row_ends(LocalCoordinate start,
                                                                 LocalCoordinate end) {
    if (end.row <= keep_.matrix_rows && filled_) return kept_row_ends() + start.row;
    std::uint16_t* ends = row_ends();
    for (int i = thread(); i < end.row - start.row; i += kThreads) {
      ends[i] = static_cast<std::uint16_t>(block_row_ends()[start.row + i] - start.nonzero);
    }
    return ends;
  }

  // work[k] = a_k * v[column_k].
  __device__ __forceinline__ void stage_products(const T* v, LocalCoordinate start,
                                                 LocalCoordinate end) {
    const int count = end.nonzero - start.nonzero;
    if (end.nonzero <= keep_.nonzeros) {
      const Index* columns = on_chip<Index>(layout_.columns) + start.nonzero;
      const T* values = on_chip<T>(layout_.values) + start.nonzero;
      multiply_gathered(v, count, [&](int k, Index& column, T& value) {
        column = columns[k];
        value = values[k];
      });
    } else {
      // Streaming loads: the matrix must not push the vectors out of L2.
      const Index* columns = a_.columns + range_.first_nonzero + start.nonzero;
      const T* values = a_.values + range_.first_nonzero + start.nonzero;
      multiply_gathered(v, count, [&](int k, Index& column, T& value) {
        column = __ldcs(columns + k);
        value = __ldcs(values + k);
      });
    }
  }

  // All loads of a thread are in flight before the first is used.
  template <class Load>
  __device__ __forceinline__ void multiply_gathered(const T* v, int count, Load load) {
    Index columns[kItems];
    T products[kItems];
#pragma unroll
    for (int i = 0; i < kItems; ++i) {
      const int k = thread() + i * kThreads;
      if (k < count) load(k, columns[i], products[i]);
    }
#pragma unroll
    for (int i = 0; i < kItems; ++i) {
      if (thread() + i * kThreads < count) products[i] *= v[columns[i]];
    }
#pragma unroll
    for (int i = 0; i < kItems; ++i) {
      const int k = thread() + i * kThreads;
      if (k < count) work()[k] = products[i];
    }
  }

  // Thread-level search: where this thread's share of the tile starts.
  __device__ __forceinline__ LocalCoordinate search_thread(int diagonal,
                                                           const std::uint16_t* row_ends,
                                                           int tile_rows, int tile_nonzeros) const {
    int low = max(0, diagonal - tile_nonzeros), high = min(diagonal, tile_rows);
    while (low < high) {
      const int middle = (low + high) / 2;
      if (static_cast<int>(row_ends[middle]) < diagonal - middle) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return {low, diagonal - low};
  }

  __device__ __forceinline__ LocalCoordinate thread_start(int tile, int diagonal,
                                                          const std::uint16_t* row_ends,
                                                          int tile_rows, int tile_nonzeros) const {
    if (tile < keep_.search_tiles && filled_) {
      const std::uint32_t packed = kept_search()[tile * kThreads + thread()];
      return {static_cast<std::int32_t>(packed >> 16), static_cast<std::int32_t>(packed & 0xffff)};
    }
    return search_thread(diagonal, row_ends, tile_rows, tile_nonzeros);
  }

  // Turns the products work[0, tile_nonzeros) into row sums behind them; `carry` is what the tiles
  // before left of the row that is open at the start. Returns the same for the next tile.
  __device__ __forceinline__ T reduce_rows(int tile, const std::uint16_t* row_ends, int tile_rows,
                                           int tile_nonzeros, T carry) {
    const int tile_items = tile_rows + tile_nonzeros;
    const int per_thread = (tile_items + kThreads - 1) / kThreads;  // at most kItems
    const int diagonal = min(thread() * per_thread, tile_items);
    const int items = min(per_thread, tile_items - diagonal);
    const LocalCoordinate first = thread_start(tile, diagonal, row_ends, tile_rows, tile_nonzeros);

    T* sums = work() + tile_nonzeros;
    int row = first.row, nonzero = first.nonzero;
    int row_end = row < tile_rows ? row_ends[row] : 0xffff;
    OpenRow open = {T(0), 0};
    T first_sum = 0;
#pragma unroll
    for (int i = 0; i < kItems; ++i) {
      if (i < items) {
        if (nonzero < row_end) {
          open.sum += work()[nonzero++];
        } else {
          if (open.row_ended) {
            sums[row] = open.sum;
          } else {
            first_sum = open.sum;  // waits for what the threads before leave
          }
          open = {T(0), 1};
          ++row;
          row_end = row < tile_rows ? row_ends[row] : 0xffff;
        }
      }
    }
    OpenRow before, all;
    Scan(shared_.scan).ExclusiveScan(open, before, OpenRow{carry, 0}, Join{}, all);
    if (open.row_ended) sums[first.row] = before.sum + first_sum;
    __syncthreads();  // the row sums are complete
    return Join{}(OpenRow{carry, 0}, all).sum;
  }

  // Brings on chip what is kept, once.
  __device__ __forceinline__ void fill() {
    for (int k = thread(); k < min(keep_.nonzeros, range_.nonzeros); k += kThreads) {
      on_chip<Index>(layout_.columns)[k] = a_.columns[range_.first_nonzero + k];
      on_chip<T>(layout_.values)[k] = a_.values[range_.first_nonzero + k];
    }
    for (int tile = 0; tile < tiles(); ++tile) {
      if (tile >= keep_.search_tiles && keep_.matrix_rows == 0) break;
      enter_window(tile);
      const LocalCoordinate start = shared_.tile_starts[tile % kWindow];
      const LocalCoordinate end = shared_.tile_starts[tile % kWindow + 1];
      stage_row_ends(start, end);
      __syncthreads();  // the row ends are complete
      const int tile_rows = end.row - start.row, tile_nonzeros = end.nonzero - start.nonzero;
      const int tile_items = tile_rows + tile_nonzeros;
      const int per_thread = (tile_items + kThreads - 1) / kThreads;
      if (tile < keep_.search_tiles) {
        const LocalCoordinate found = search_thread(min(thread() * per_thread, tile_items),
                                                    row_ends(), tile_rows, tile_nonzeros);
        kept_search()[tile * kThreads + thread()] =
            static_cast<std::uint32_t>(found.row) << 16 | static_cast<std::uint32_t>(found.nonzero);
      }
      if (end.row <= keep_.matrix_rows) {
        for (int i = thread(); i < tile_rows; i += kThreads) {
          kept_row_ends()[start.row + i] = row_ends()[i];
        }
      }
      __syncthreads();  // the row ends have been read
    }
    if (keep_.tile_starts && tiles() <= kWindow && tiles() > 0) {
      window_is_kept_ = false;
      enter_window(0);
    }
    window_is_kept_ = keep_.tile_starts;
    filled_ = true;
    __syncthreads();  // everything that is kept is in place
  }

  Shared& shared_;
  char* const dynamic_;
  const SharedLayout& layout_;
  const DeviceCsr<T>& a_;
  const BlockRange& range_;
  const Residency& keep_;
  bool window_is_kept_ = false;
  bool filled_ = false;
};

}  // namespace resident::cg
