// What the host decides before the GPU kernel starts: how the merge path is cut into thread blocks
// and what each of them keeps on chip.
//
// All blocks of the grid are co-resident. A block owns the rows that end in its piece of the merge
// path; it walks the piece in tiles. Numbers of rows and nonzeros inside a block are local: they
// start at 0 at the block's first row and nonzero, and fit 32 bits.
#pragma once

#include <resident/conjugate_gradient.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/function.hpp"

namespace resident::cg {

// One block's piece of the merge path.
struct BlockRange {
  Offset first_nonzero = 0;
  Index first_row = 0;
  Index rows = 0;  // rows that end in the piece: the own rows
  std::int32_t nonzeros = 0;
  // Blocks [carry_first, this one) hold parts of the own row 0, which began before the piece.
  std::int32_t carry_first = 0;
};

// Buffers of a streamed matrix: one is consumed while the next is filled.
constexpr std::int32_t kRingSlots = 2;

// What a block keeps on chip from one iteration to the next; every count is a prefix of its piece.
struct Residency {
  bool search = false;            // block-level search results (else searched every iteration)
  std::int32_t search_tiles = 0;  // tiles whose thread-level search results are kept
  std::int32_t vector_rows = 0;   // rows whose vector entries are kept
  std::int32_t matrix_tiles = 0;  // tiles whose part of the matrix is kept
  std::int32_t ring_slots = 0;    // kRingSlots if other tiles are streamed, else 0
  std::int32_t table_tiles = 0;   // entries of the table of tile starts; 0: it is in global memory
};

struct TileShape {
  int threads = 0;
  int items_per_thread = 0;
  RESIDENT_HOST_DEVICE int items() const { return threads * items_per_thread; }
};

// A tile's part of the matrix as it lies in shared memory: values, columns and row offsets, each
// copied in units of 16 bytes that may begin and end outside the tile.
RESIDENT_HOST_DEVICE std::size_t tile_image_bytes(const TileShape& tile, std::size_t value_bytes) {
  const std::size_t per_nonzero = value_bytes + sizeof(Index);
  const std::size_t per_item = per_nonzero > sizeof(Offset) ? per_nonzero : sizeof(Offset);
  constexpr std::size_t kUnaligned = 3 * 32;
  return static_cast<std::size_t>(tile.items()) * per_item + kUnaligned;
}

// Byte offsets into a block's dynamic shared memory; `bytes` is the total. vectors holds
// vectors_per_row arrays of residency.vector_rows entries, one after the other.
struct SharedLayout {
  std::size_t work = 0;         // T[tile_items]: products, then row sums
  std::size_t tile_starts = 0;  // {int32, int32}[table_tiles + 1]
  std::size_t search = 0;       // uint32[search_tiles * threads]
  std::size_t vectors = 0;      // T[vectors_per_row * vector_rows]
  std::size_t ring = 0;         // ring_slots tile images
  std::size_t matrix = 0;       // matrix_tiles tile images
  std::size_t image_bytes = 0;  // of one tile image
  std::size_t bytes = 0;
};

RESIDENT_HOST_DEVICE SharedLayout shared_layout(const Residency& residency, const TileShape& tile,
                                                int vectors_per_row, std::size_t value_bytes) {
  const auto align = [](std::size_t bytes) { return (bytes + 15) / 16 * 16; };
  const auto count = [](int n) { return static_cast<std::size_t>(n); };
  SharedLayout layout;
  layout.image_bytes = align(tile_image_bytes(tile, value_bytes));
  std::size_t end = align(count(tile.items()) * value_bytes);
  const auto place = [&](std::size_t bytes) {
    const std::size_t start = end;
    end = align(end + bytes);
    return start;
  };
  layout.tile_starts = place(count(residency.table_tiles + 1) * 2 * sizeof(std::int32_t));
  layout.search =
      place(count(residency.search_tiles) * count(tile.threads) * sizeof(std::uint32_t));
  layout.vectors = place(count(vectors_per_row) * count(residency.vector_rows) * value_bytes);
  layout.ring = place(count(residency.ring_slots) * layout.image_bytes);
  layout.matrix = place(count(residency.matrix_tiles) * layout.image_bytes);
  layout.bytes = end;
  return layout;
}

// Capacities of a device for one kernel, as the occupancy query and the attributes give them.
struct GridCapacity {
  int multiprocessors = 0;
  int blocks_per_multiprocessor = 0;       // that fit with the smallest shared memory
  std::size_t shared_bytes_per_block = 0;  // dynamic, that each may use with that many blocks
};

struct MergePlan {
  std::vector<BlockRange> blocks;
  std::int32_t tiles_per_block = 0;  // the largest number
  Residency residency;
  SharedLayout layout;
  std::string description;  // for the report
};

// Cuts the rows + nonzeros of a matrix with these row offsets over at most all co-resident blocks,
// and places data by what a byte on chip saves an iteration: search results first (they cost a
// search), then vectors (read and written), then the matrix.
MergePlan plan_merge(std::span<const Offset> row_offsets, const GridCapacity& capacity,
                     const TileShape& tile, int vectors_per_row, std::size_t value_bytes,
                     CachePolicy policy);

}  // namespace resident::cg
