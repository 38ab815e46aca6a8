// The merge-based SpMV engine: one thread block's share of y = A v, tile by tile.
//
// After Merrill and Garland (SC 2016) and the AgentSpmv that CUB had: the products of a tile are
// formed in shared memory, each thread walks an equal share of the merge of row ends and products,
// and a segmented scan hands what a thread could not finish to the next. Block-level and
// thread-level search results depend on the pattern alone; they are found once and kept.
//
// A tile's part of the matrix is read from an image in shared memory. Images that are kept are
// filled once; the others pass through a ring of buffers that bulk copies fill ahead of the walk,
// across the iteration's barriers too, since the matrix does not change.
#pragma once

#include <cub/block/block_scan.cuh>

#include <cstdint>

#include "cg/merge_plan.hpp"
#include "core/merge_path.hpp"
#include "core/ptx.cuh"

namespace resident::cg {

template <int Threads, int ItemsPerThread>
struct MergeTuning {
  static constexpr int threads = Threads;
  static constexpr int items_per_thread = ItemsPerThread;
  static constexpr TileShape tile() { return {Threads, ItemsPerThread}; }
};

// A matrix in device memory. Each array begins at a multiple of 16 bytes and may be read up to 16
// bytes beyond its end.
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

// What the engine works with; the arrays of shared memory are found from it at each use, because as
// members of an object they would hold registers through the whole solve.
template <class T>
struct SpmvArguments {
  DeviceCsr<T> a;
  Residency keep;
  SharedLayout layout;
  LocalCoordinate* tile_starts;  // in global memory, table_stride per block, or null: on chip
  std::int32_t table_stride;
};

template <class T, class Tuning>
class MergeSpmv {
  static constexpr int kThreads = Tuning::threads;
  static constexpr int kItems = Tuning::items_per_thread;
  static constexpr int kTileItems = kThreads * kItems;
  static_assert(kTileItems <= 0xffff, "search results inside a tile are 16-bit");

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

  // A tile: its place in the block, and its part of the matrix on chip.
  struct Tile {
    int index;
    LocalCoordinate start;
    int rows, nonzeros;
    const T* values;
    const Index* columns;
    const Offset* row_ends;
    Offset first_nonzero;  // in the matrix

    __device__ __forceinline__ int row_end(int row) const {
      return static_cast<int>(row_ends[row] - first_nonzero);
    }
    __device__ __forceinline__ int items() const { return rows + nonzeros; }
  };

 public:
  struct Shared {
    typename Scan::TempStorage scan;
    std::uint64_t ring_full[kRingSlots];
    std::uint64_t kept_full;
  };

  // All references outlive this object. Brings on chip what is kept.
  __device__ __forceinline__ MergeSpmv(Shared& shared, char* dynamic_shared,
                                       const SpmvArguments<T>& arguments, const BlockRange& range)
      : shared_(shared), dynamic_(dynamic_shared), g_(arguments), range_(range) {
    if (thread() == 0) {
      for (std::uint64_t& barrier : shared_.ring_full) ptx::mbarrier_init(&barrier, 1);
      ptx::mbarrier_init(&shared_.kept_full, 1);
      ptx::fence_mbarrier_init();
    }
    search_tiles();
    next_ = kept_tiles();
    if (kept_tiles() > 0) keep_matrix();
    if (g_.keep.search) {
      start_ring();
      keep_search();
    }
  }

  // Calls emit(i, sum, load(i)) for every own row i, once per row and by some thread: the sum over
  // the part of the row that lies in this block. Returns to all threads the sum of the last row's
  // part that lies in this block and ends in a later one. v may be written by other blocks up to
  // the last grid-wide barrier.
  //
  // Bytes read per iteration from beyond shared memory: per nonzero sizeof(T) + 4 and per row 8,
  // for tiles that are not kept; and a gather of sizeof(T) per nonzero.
  template <class Load, class Emit>
  __device__ __forceinline__ T apply(const T* v, Load&& load, Emit&& emit) {
    if (!g_.keep.search) {
      search_tiles();
      next_ = kept_tiles();
      start_ring();
    }
    T carry = 0;
    const int count = tiles();
    for (int index = 0; index < count; ++index) {
      const Tile tile = open(index);
      // What the first row needs is under way while the sums are formed.
      decltype(load(0)) first = {};
      if (thread() < tile.rows) first = load(tile.start.row + thread());
      stage_products(v, tile);
      __syncthreads();  // the products are complete
      carry = reduce_rows(tile, carry);
      close(index);
      const T* sums = work() + tile.nonzeros;
      if (thread() < tile.rows) emit(tile.start.row + thread(), sums[thread()], first);
      for (int i = thread() + kThreads; i < tile.rows; i += kThreads) {
        emit(tile.start.row + i, sums[i], load(tile.start.row + i));
      }
      __syncthreads();  // the row sums have been read; the next tile may overwrite them
    }
    return carry;
  }

  // Waits for the copies that run ahead; to be called before the block ends.
  __device__ __forceinline__ void drain() {
    for (; consumed_ != issued_; ++consumed_) wait_for_slot();
  }

 private:
  __device__ __forceinline__ static int thread() { return static_cast<int>(threadIdx.x); }

  template <class U>
  __device__ __forceinline__ U* on_chip(std::size_t offset) const {
    return reinterpret_cast<U*>(dynamic_ + offset);
  }
  __device__ __forceinline__ T* work() const { return on_chip<T>(g_.layout.work); }
  __device__ __forceinline__ std::uint32_t* kept_search(int tile) const {
    return on_chip<std::uint32_t>(g_.layout.search) + tile * kThreads;
  }
  __device__ __forceinline__ LocalCoordinate* tile_starts() const {
    return g_.tile_starts != nullptr
               ? g_.tile_starts + static_cast<std::size_t>(blockIdx.x) * g_.table_stride
               : on_chip<LocalCoordinate>(g_.layout.tile_starts);
  }
  __device__ __forceinline__ int tiles() const {
    return (range_.rows + range_.nonzeros + kTileItems - 1) / kTileItems;
  }
  __device__ __forceinline__ int kept_tiles() const { return min(g_.keep.matrix_tiles, tiles()); }

  // Row ends of the block relative to its first nonzero.
  struct RowEnds {
    const Offset* ends;
    Offset first_nonzero;
    __device__ __forceinline__ Offset operator[](Offset row) const {
      return ends[row] - first_nonzero;
    }
  };

  // Block-level search: where each tile starts.
  __device__ __forceinline__ void search_tiles() {
    const RowEnds row_ends = {g_.a.row_offsets + range_.first_row + 1, range_.first_nonzero};
    for (int tile = thread(); tile <= tiles(); tile += kThreads) {
      const int diagonal = min(tile * kTileItems, range_.rows + range_.nonzeros);
      const MergeCoordinate found =
          merge_path_search(diagonal, row_ends, range_.rows, range_.nonzeros);
      tile_starts()[tile] = {static_cast<std::int32_t>(found.row),
                             static_cast<std::int32_t>(found.nonzero)};
    }
    __syncthreads();  // the table and the barriers are ready
  }

  // --- Images ---

  // Where an array's part of a tile lies: copies begin and end at multiples of 16 bytes.
  template <class U>
  struct Part {
    const U* source;      // aligned
    std::uint32_t skip;   // elements between the aligned source and the first of the tile
    std::uint32_t bytes;  // of the copy

    __device__ __forceinline__ Part(const U* array, Offset first, int count) {
      constexpr std::uint32_t kPerCopy = 16 / sizeof(U);
      skip = static_cast<std::uint32_t>(first) % kPerCopy;
      source = array + (first - skip);
      bytes = count > 0 ? (skip + count + kPerCopy - 1) / kPerCopy * 16 : 0;
    }
  };
  struct Parts {
    Part<T> values;
    Part<Index> columns;
    Part<Offset> row_ends;
  };
  __device__ __forceinline__ Parts parts(LocalCoordinate start, LocalCoordinate end) const {
    const Offset nonzero = range_.first_nonzero + start.nonzero;
    const Offset row = Offset{range_.first_row} + start.row + 1;
    return {{g_.a.values, nonzero, end.nonzero - start.nonzero},
            {g_.a.columns, nonzero, end.nonzero - start.nonzero},
            {g_.a.row_offsets, row, end.row - start.row}};
  }

  // Starts the copies of a tile; for one thread. Returns the bytes that the barrier must expect.
  __device__ __forceinline__ std::uint32_t copy(int tile, char* image, std::uint64_t* barrier,
                                                std::uint64_t policy) {
    const Parts p = parts(tile_starts()[tile], tile_starts()[tile + 1]);
    char* columns = image + p.values.bytes;
    char* row_ends = columns + p.columns.bytes;
    if (p.values.bytes > 0) {
      ptx::cp_async_bulk(image, p.values.source, p.values.bytes, barrier, policy);
      ptx::cp_async_bulk(columns, p.columns.source, p.columns.bytes, barrier, policy);
    }
    if (p.row_ends.bytes > 0) {
      ptx::cp_async_bulk(row_ends, p.row_ends.source, p.row_ends.bytes, barrier, policy);
    }
    return p.values.bytes + p.columns.bytes + p.row_ends.bytes;
  }

  __device__ __forceinline__ char* ring_slot(std::uint32_t use) const {
    return dynamic_ + g_.layout.ring + use % kRingSlots * g_.layout.image_bytes;
  }
  __device__ __forceinline__ char* kept_image(int tile) const {
    return dynamic_ + g_.layout.matrix + static_cast<std::size_t>(tile) * g_.layout.image_bytes;
  }

  __device__ __forceinline__ void keep_matrix() {
    if (thread() == 0) {
      const std::uint64_t policy = ptx::createpolicy_evict_first();
      std::uint32_t bytes = 0;
      for (int tile = 0; tile < kept_tiles(); ++tile) {
        bytes += copy(tile, kept_image(tile), &shared_.kept_full, policy);
      }
      ptx::mbarrier_arrive_expect_tx(&shared_.kept_full, bytes);
    }
    ptx::mbarrier_wait_parity(&shared_.kept_full, 0);
  }

  // Sends for the next streamed tile. Every buffer has been read: a barrier lies between.
  __device__ __forceinline__ void issue() {
    if (thread() == 0) {
      std::uint64_t* barrier = &shared_.ring_full[issued_ % kRingSlots];
      const std::uint32_t bytes =
          copy(next_, ring_slot(issued_), barrier, ptx::createpolicy_evict_first());
      ptx::mbarrier_arrive_expect_tx(barrier, bytes);
    }
    ++issued_;
    ++next_;
    // Into the next iteration, if its tiles start where this one's do without a new search.
    if (next_ == tiles() && g_.keep.search) next_ = kept_tiles();
  }
  __device__ __forceinline__ void start_ring() {
    for (int slot = 0; slot < kRingSlots; ++slot) {
      if (next_ < tiles()) issue();
    }
  }
  __device__ __forceinline__ void wait_for_slot() {
    ptx::mbarrier_wait_parity(&shared_.ring_full[consumed_ % kRingSlots],
                              consumed_ / kRingSlots % 2);
  }

  // The tile, with its image complete.
  __device__ __forceinline__ Tile open(int index) {
    const LocalCoordinate start = tile_starts()[index], end = tile_starts()[index + 1];
    const bool kept = index < kept_tiles();
    if (!kept) wait_for_slot();
    const char* image = kept ? kept_image(index) : ring_slot(consumed_);
    const Parts p = parts(start, end);
    Tile tile;
    tile.index = index;
    tile.start = start;
    tile.rows = end.row - start.row;
    tile.nonzeros = end.nonzero - start.nonzero;
    tile.values = reinterpret_cast<const T*>(image) + p.values.skip;
    image += p.values.bytes;
    tile.columns = reinterpret_cast<const Index*>(image) + p.columns.skip;
    image += p.columns.bytes;
    tile.row_ends = reinterpret_cast<const Offset*>(image) + p.row_ends.skip;
    tile.first_nonzero = range_.first_nonzero + start.nonzero;
    return tile;
  }
  // The image has been read by all threads.
  __device__ __forceinline__ void close(int index) {
    if (index < kept_tiles()) return;
    ++consumed_;
    if (next_ < tiles()) issue();
  }

  // --- Products and rows ---

  // work[k] = a_k * v[column_k]. All gathers of a thread are in flight before the first is used.
  __device__ __forceinline__ void stage_products(const T* v, const Tile& tile) {
    T products[kItems];
#pragma unroll
    for (int i = 0; i < kItems; ++i) {
      const int k = thread() + i * kThreads;
      if (k < tile.nonzeros) products[i] = v[tile.columns[k]];
    }
#pragma unroll
    for (int i = 0; i < kItems; ++i) {
      const int k = thread() + i * kThreads;
      if (k < tile.nonzeros) work()[k] = products[i] * tile.values[k];
    }
  }

  // Thread-level search: where this thread's share of the tile starts.
  __device__ __forceinline__ LocalCoordinate search_thread(const Tile& tile, int diagonal) const {
    int low = max(0, diagonal - tile.nonzeros), high = min(diagonal, tile.rows);
    while (low < high) {
      const int middle = (low + high) / 2;
      if (tile.row_end(middle) < diagonal - middle) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return {low, diagonal - low};
  }

  __device__ __forceinline__ static int items_per_thread(const Tile& tile) {
    return (tile.items() + kThreads - 1) / kThreads;  // at most kItems
  }

  // One pass over the tiles for their thread-level search results.
  __device__ __forceinline__ void keep_search() {
    if (g_.keep.search_tiles == 0) return;
    for (int index = 0; index < tiles(); ++index) {
      const Tile tile = open(index);
      if (index < g_.keep.search_tiles) {
        const int diagonal = min(thread() * items_per_thread(tile), tile.items());
        const LocalCoordinate found = search_thread(tile, diagonal);
        kept_search(index)[thread()] =
            static_cast<std::uint32_t>(found.row) << 16 | static_cast<std::uint32_t>(found.nonzero);
      }
      __syncthreads();  // the image has been read
      close(index);
    }
  }

  __device__ __forceinline__ LocalCoordinate thread_start(const Tile& tile, int diagonal) const {
    if (tile.index < g_.keep.search_tiles) {
      const std::uint32_t packed = kept_search(tile.index)[thread()];
      return {static_cast<std::int32_t>(packed >> 16), static_cast<std::int32_t>(packed & 0xffff)};
    }
    return search_thread(tile, diagonal);
  }

  // Turns the products work[0, nonzeros) into row sums behind them; `carry` is what the tiles
  // before left of the row that is open at the start. Returns the same for the next tile.
  __device__ __forceinline__ T reduce_rows(const Tile& tile, T carry) {
    const int per_thread = items_per_thread(tile);
    const int diagonal = min(thread() * per_thread, tile.items());
    const int items = min(per_thread, tile.items() - diagonal);
    const LocalCoordinate first = thread_start(tile, diagonal);

    constexpr int kNoEnd = 0x7fffffff;  // the last row of a tile ends in a later one
    T* sums = work() + tile.nonzeros;
    int row = first.row, nonzero = first.nonzero;
    int row_end = row < tile.rows ? tile.row_end(row) : kNoEnd;
    OpenRow open_row = {T(0), 0};
    T first_sum = 0;
#pragma unroll
    for (int i = 0; i < kItems; ++i) {
      if (i < items) {
        if (nonzero < row_end) {
          open_row.sum += work()[nonzero++];
        } else {
          if (open_row.row_ended) {
            sums[row] = open_row.sum;
          } else {
            first_sum = open_row.sum;  // waits for what the threads before leave
          }
          open_row = {T(0), 1};
          ++row;
          row_end = row < tile.rows ? tile.row_end(row) : kNoEnd;
        }
      }
    }
    OpenRow before, all;
    Scan(shared_.scan).ExclusiveScan(open_row, before, OpenRow{carry, 0}, Join{}, all);
    if (open_row.row_ended) sums[first.row] = before.sum + first_sum;
    __syncthreads();  // the row sums are complete, the image has been read
    return Join{}(OpenRow{carry, 0}, all).sum;
  }

  Shared& shared_;
  char* const dynamic_;
  const SpmvArguments<T>& g_;
  const BlockRange& range_;
  int next_ = 0;                // the tile that the ring sends for next
  std::uint32_t issued_ = 0;    // copies sent for
  std::uint32_t consumed_ = 0;  // and used
};

}  // namespace resident::cg
