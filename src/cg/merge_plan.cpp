// Cutting the merge path and choosing what stays on chip.
#include "cg/merge_plan.hpp"

#include <resident/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "core/merge_path.hpp"

namespace resident::cg {
namespace {

// A block that has fewer items than this per thread spends its time waiting for the others.
constexpr Offset kSmallestItemsPerThread = 2;

std::vector<BlockRange> cut(std::span<const Offset> row_offsets, int count) {
  const auto rows = static_cast<Offset>(row_offsets.size()) - 1;
  const Offset nonzeros = row_offsets.back();
  const Offset items = rows + nonzeros;
  const Offset* row_ends = row_offsets.data() + 1;

  std::vector<MergeCoordinate> starts;
  for (int block = 0; block <= count; ++block) {
    // items * block may exceed 64 bits only for sizes that no device holds.
    starts.push_back(merge_path_search(items * block / count, row_ends, rows, nonzeros));
  }
  std::vector<BlockRange> blocks(static_cast<std::size_t>(count));
  std::int32_t row_begins_in = 0;  // the block in which the row that is open at a start begins
  for (int block = 0; block < count; ++block) {
    const auto& start = starts[static_cast<std::size_t>(block)];
    const auto& end = starts[static_cast<std::size_t>(block) + 1];
    if (end.nonzero - start.nonzero > std::numeric_limits<std::int32_t>::max() / 2) {
      throw Error(ErrorCategory::memory, "the matrix is too large for this device");
    }
    const bool open =
        start.row < rows && row_offsets[static_cast<std::size_t>(start.row)] < start.nonzero;
    if (!open) row_begins_in = block;
    BlockRange& range = blocks[static_cast<std::size_t>(block)];
    range.first_nonzero = start.nonzero;
    range.first_row = static_cast<Index>(start.row);
    range.rows = static_cast<Index>(end.row - start.row);
    range.nonzeros = static_cast<std::int32_t>(end.nonzero - start.nonzero);
    range.carry_first = open && range.rows > 0 ? row_begins_in : block;
    // A row that begins in this piece and does not end in it is carried from here.
    if (range.rows > 0) row_begins_in = block;
  }
  return blocks;
}

// Bytes of shared memory still free, handed out to whoever asks first.
class Budget {
 public:
  explicit Budget(std::size_t bytes) : left_(bytes) {}

  // As many of `wanted` items of `bytes` each as fit.
  std::int32_t take(std::int32_t wanted, std::size_t bytes) {
    const auto fit = static_cast<std::int64_t>(left_ / bytes);
    const auto taken = static_cast<std::int32_t>(std::min<std::int64_t>(wanted, fit));
    left_ -= static_cast<std::size_t>(taken) * bytes;
    return taken;
  }

  Budget part(std::size_t divisor) const { return Budget(left_ / divisor); }

  bool holds(std::int32_t count, std::size_t bytes) const {
    return static_cast<std::size_t>(count) * bytes <= left_;
  }

 private:
  std::size_t left_;
};

// The largest block, which all are given room for.
struct Extent {
  std::int32_t tiles = 0;
  Index rows = 0;
};

struct Wishes {
  Extent extent;
  CachePolicy policy;
  std::size_t search_bytes, vector_bytes, image_bytes;  // of a tile, a row, a tile
};

Residency place(const Wishes& wishes, std::int32_t ring_slots, Budget budget) {
  const auto [extent, policy, search_bytes, vector_bytes, image_bytes] = wishes;
  Residency keep;
  keep.ring_slots = budget.take(ring_slots, image_bytes);
  // The table of tile starts may take a quarter of the room; for larger matrices L2 serves it.
  constexpr std::size_t kCoordinate = 2 * sizeof(std::int32_t);
  if (budget.part(4).holds(extent.tiles, kCoordinate)) {
    keep.table_tiles = budget.take(extent.tiles, kCoordinate);
  }
  keep.search = policy != CachePolicy::none;
  if (keep.search) keep.search_tiles = budget.take(extent.tiles, search_bytes);
  if (policy == CachePolicy::vectors || policy == CachePolicy::all) {
    // A few rows on chip cost every row the question where it is, and do not pay for it.
    constexpr std::int32_t kSmallestShare = 8;
    if (budget.holds(extent.rows / kSmallestShare, vector_bytes)) {
      keep.vector_rows = budget.take(extent.rows, vector_bytes);
    }
  }
  if (policy == CachePolicy::matrix || policy == CachePolicy::all) {
    keep.matrix_tiles = budget.take(extent.tiles, image_bytes);
  }
  return keep;
}

}  // namespace

MergePlan plan_merge(std::span<const Offset> row_offsets, const GridCapacity& capacity,
                     const TileShape& tile, int vectors_per_row, std::size_t value_bytes,
                     CachePolicy policy) {
  const Offset items = static_cast<Offset>(row_offsets.size()) - 1 + row_offsets.back();
  const Offset useful = std::max<Offset>(1, items / (kSmallestItemsPerThread * tile.threads));
  const Offset resident = Offset{capacity.multiprocessors} * capacity.blocks_per_multiprocessor;
  const int count = static_cast<int>(std::min(useful, resident));

  MergePlan plan;
  plan.blocks = cut(row_offsets, count);
  Extent extent;
  for (const BlockRange& range : plan.blocks) {
    const std::int32_t tiles = (range.rows + range.nonzeros + tile.items() - 1) / tile.items();
    extent.tiles = std::max(extent.tiles, tiles);
    extent.rows = std::max(extent.rows, range.rows);
  }
  plan.tiles_per_block = extent.tiles;

  const SharedLayout fixed = shared_layout({}, tile, vectors_per_row, value_bytes);
  constexpr std::size_t kAlignmentSlack = 16 * 8;
  const std::size_t least = fixed.bytes + kRingSlots * fixed.image_bytes + kAlignmentSlack;
  if (least > capacity.shared_bytes_per_block) {
    throw Error(ErrorCategory::device,
                fmt::format("a block has {} bytes of shared memory, the kernel needs {}",
                            capacity.shared_bytes_per_block, least));
  }
  const Wishes wishes = {
      extent, policy, static_cast<std::size_t>(tile.threads) * sizeof(std::uint32_t),
      static_cast<std::size_t>(vectors_per_row) * value_bytes, fixed.image_bytes};
  const Budget budget(capacity.shared_bytes_per_block - fixed.bytes - kAlignmentSlack);
  plan.residency = place(wishes, 0, budget);
  if (plan.residency.matrix_tiles < extent.tiles) {
    plan.residency = place(wishes, kRingSlots, budget);
  }
  const Residency& keep = plan.residency;
  plan.layout = shared_layout(keep, tile, vectors_per_row, value_bytes);

  const auto percent = [](double part, double whole) {
    return whole > 0 ? 100.0 * std::min(part, whole) / whole : 100.0;
  };
  plan.description = fmt::format(
      "grid of {} blocks x {} threads, merge engine, cache {}: on chip {:.0f} % of the search, "
      "{:.0f} % of the vectors, {:.0f} % of the matrix",
      count, tile.threads, name(policy), percent(keep.search_tiles, extent.tiles),
      percent(keep.vector_rows, extent.rows), percent(keep.matrix_tiles, extent.tiles));
  return plan;
}

}  // namespace resident::cg
