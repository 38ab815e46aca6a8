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

 private:
  std::size_t left_;
};

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
  Index most_rows = 0;
  std::int32_t most_nonzeros = 0;
  for (const BlockRange& range : plan.blocks) {
    most_rows = std::max(most_rows, range.rows);
    most_nonzeros = std::max(most_nonzeros, range.nonzeros);
    const std::int32_t tiles = (range.rows + range.nonzeros + tile.items() - 1) / tile.items();
    plan.tiles_per_block = std::max(plan.tiles_per_block, tiles);
  }

  const bool vectors = policy == CachePolicy::vectors || policy == CachePolicy::all;
  const bool matrix = policy == CachePolicy::matrix || policy == CachePolicy::all;
  const std::size_t fixed = shared_layout({}, tile, vectors_per_row, value_bytes).bytes;
  constexpr std::size_t kAlignmentSlack = 16 * 8;
  if (fixed + kAlignmentSlack > capacity.shared_bytes_per_block) {
    throw Error(ErrorCategory::device,
                fmt::format("a block has {} bytes of shared memory, the kernel needs {}",
                            capacity.shared_bytes_per_block, fixed + kAlignmentSlack));
  }
  Budget budget(capacity.shared_bytes_per_block - fixed - kAlignmentSlack);
  Residency& keep = plan.residency;
  if (policy != CachePolicy::none) {
    keep.tile_starts = true;
    keep.search_tiles = budget.take(plan.tiles_per_block,
                                    static_cast<std::size_t>(tile.threads) * sizeof(std::uint32_t));
  }
  if (vectors) {
    keep.vector_rows =
        budget.take(most_rows, static_cast<std::size_t>(vectors_per_row) * value_bytes);
  }
  if (matrix) {
    keep.matrix_rows = budget.take(most_rows, sizeof(std::uint16_t));
    keep.nonzeros = budget.take(most_nonzeros, value_bytes + sizeof(Index));
  }
  plan.layout = shared_layout(keep, tile, vectors_per_row, value_bytes);

  const auto percent = [](double part, double whole) {
    return whole > 0 ? 100.0 * std::min(part, whole) / whole : 100.0;
  };
  plan.description = fmt::format(
      "grid of {} blocks x {} threads, merge engine, cache {}: on chip {:.0f} % of the search, "
      "{:.0f} % of the vectors, {:.0f} % of the matrix",
      count, tile.threads, name(policy), percent(keep.search_tiles, plan.tiles_per_block),
      percent(keep.vector_rows, most_rows), percent(keep.nonzeros, most_nonzeros));
  return plan;
}

}  // namespace resident::cg
