// The GPU plan, decoded on the host: what the blocks would compute from it is y = A x, nothing
// overlaps in shared memory, and the budget is kept.
#include "cg/merge_plan.hpp"

#include <gtest/gtest.h>
#include <resident/error.hpp>
#include <resident/families.hpp>

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace resident::cg {
namespace {

constexpr TileShape kTile = {32, 7};
constexpr int kVectors = 4;

GridCapacity capacity(int multiprocessors, int blocks, std::size_t bytes) {
  return {multiprocessors, blocks, bytes};
}

// y = A x as the grid computes it: each block's own rows, then the carries in block order.
std::vector<double> multiply_by_plan(const MergePlan& plan, const CsrMatrix<double>& a,
                                     const std::vector<double>& x) {
  std::vector<double> y(static_cast<std::size_t>(a.rows), -1e300), carries;
  for (const BlockRange& range : plan.blocks) {
    auto k = static_cast<std::size_t>(range.first_nonzero);
    const std::size_t end = k + static_cast<std::size_t>(range.nonzeros);
    for (Index i = 0; i < range.rows; ++i) {
      const auto row = static_cast<std::size_t>(range.first_row + i);
      double sum = 0;
      for (; k < static_cast<std::size_t>(a.row_offsets[row + 1]); ++k) {
        sum += a.values[k] * x[static_cast<std::size_t>(a.columns[k])];
      }
      y[row] = sum;
    }
    double carry = 0;
    for (; k < end; ++k) carry += a.values[k] * x[static_cast<std::size_t>(a.columns[k])];
    carries.push_back(carry);
  }
  for (std::size_t block = 0; block < plan.blocks.size(); ++block) {
    const BlockRange& range = plan.blocks[block];
    for (auto from = static_cast<std::size_t>(range.carry_first); from < block; ++from) {
      y[static_cast<std::size_t>(range.first_row)] += carries[from];
    }
  }
  return y;
}

class MergePlan : public testing::TestWithParam<std::pair<const char*, int>> {};

TEST_P(MergePlan, BlocksAndCarriesMultiplyTheMatrix) {
  const auto& [family, multiprocessors] = GetParam();
  const CsrMatrix<double> a = generate<double>(family);
  const auto plan = plan_merge(a.row_offsets, capacity(multiprocessors, 2, 48 << 10), kTile,
                               kVectors, sizeof(double), CachePolicy::all);
  std::vector<double> x(static_cast<std::size_t>(a.rows)), y(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = 1.0 + static_cast<double>(i % 17) / 16;
  multiply<double>(a, x, y);
  const std::vector<double> planned = multiply_by_plan(plan, a, x);
  for (std::size_t i = 0; i < x.size(); ++i) {
    ASSERT_NEAR(planned[i], y[i], 1e-12 * (1 + std::abs(y[i]))) << "row " << i;
  }
}

TEST_P(MergePlan, BlocksHaveEqualWork) {
  const auto& [family, multiprocessors] = GetParam();
  const CsrMatrix<double> a = generate<double>(family);
  const auto plan = plan_merge(a.row_offsets, capacity(multiprocessors, 2, 48 << 10), kTile,
                               kVectors, sizeof(double), CachePolicy::all);
  const auto items = [](const BlockRange& r) { return Offset{r.rows} + r.nonzeros; };
  const auto [least, most] = std::minmax_element(
      plan.blocks.begin(), plan.blocks.end(),
      [&](const BlockRange& a1, const BlockRange& b1) { return items(a1) < items(b1); });
  EXPECT_LE(items(*most) - items(*least), 1);
  EXPECT_LE(plan.blocks.size(), static_cast<std::size_t>(2 * multiprocessors));
}

INSTANTIATE_TEST_SUITE_P(Families, MergePlan,
                         testing::Values(std::pair("poisson2d:30:31", 3),
                                         std::pair("poisson2d:30:31", 132),
                                         std::pair("arrow:5000", 7), std::pair("arrow:5000", 132),
                                         std::pair("trefethen:300", 20),
                                         std::pair("poisson2d:1:1", 132),
                                         std::pair("graph:3000:8:1", 50)),
                         [](const auto& parameter) {
                           std::string name = std::string(parameter.param.first) + "_on_" +
                                              std::to_string(parameter.param.second);
                           std::replace(name.begin(), name.end(), ':', '_');
                           return name;
                         });

TEST(MergePlanResidency, LayoutDoesNotOverlapAndKeepsTheBudget) {
  const CsrMatrix<double> a = generate<double>("poisson3d:24:24:24");
  for (const std::size_t budget : {12000u, 20000u, 56000u, 200000u}) {
    for (const CachePolicy policy : {CachePolicy::none, CachePolicy::search, CachePolicy::vectors,
                                     CachePolicy::matrix, CachePolicy::all}) {
      const auto plan = plan_merge(a.row_offsets, capacity(4, 2, budget), kTile, kVectors,
                                   sizeof(double), policy);
      const SharedLayout& l = plan.layout;
      const Residency& keep = plan.residency;
      const auto count = [](int n) { return static_cast<std::size_t>(n); };
      EXPECT_LE(l.bytes, budget);
      EXPECT_GE(l.image_bytes, count(kTile.items()) * (sizeof(double) + sizeof(Index)));
      EXPECT_GE(l.tile_starts, count(kTile.items()) * sizeof(double));
      EXPECT_GE(l.search, l.tile_starts + count(keep.table_tiles + 1) * 8);
      EXPECT_GE(l.vectors, l.search + count(keep.search_tiles) * count(kTile.threads) * 4);
      EXPECT_GE(l.ring, l.vectors + count(kVectors) * count(keep.vector_rows) * sizeof(double));
      EXPECT_GE(l.matrix, l.ring + count(keep.ring_slots) * l.image_bytes);
      EXPECT_GE(l.bytes, l.matrix + count(keep.matrix_tiles) * l.image_bytes);
      EXPECT_EQ(l.tile_starts % 16 + l.search % 16 + l.vectors % 16 + l.ring % 16 + l.matrix % 16 +
                    l.image_bytes % 16,
                0u);
      // Either the whole matrix is kept, or there is a ring for the rest.
      EXPECT_TRUE(keep.matrix_tiles == plan.tiles_per_block || keep.ring_slots == kRingSlots);
    }
  }
}

TEST(MergePlanResidency, PoliciesKeepWhatTheyName) {
  const CsrMatrix<double> a = generate<double>("poisson2d:20:20");
  const auto keep = [&](CachePolicy policy) {
    return plan_merge(a.row_offsets, capacity(4, 1, 200000), kTile, kVectors, sizeof(double),
                      policy)
        .residency;
  };
  EXPECT_FALSE(keep(CachePolicy::none).search);
  EXPECT_EQ(keep(CachePolicy::none).search_tiles, 0);
  EXPECT_TRUE(keep(CachePolicy::search).search);
  EXPECT_GT(keep(CachePolicy::search).search_tiles, 0);
  EXPECT_EQ(keep(CachePolicy::search).vector_rows, 0);
  EXPECT_GT(keep(CachePolicy::vectors).vector_rows, 0);
  EXPECT_EQ(keep(CachePolicy::vectors).matrix_tiles, 0);
  EXPECT_EQ(keep(CachePolicy::matrix).vector_rows, 0);
  EXPECT_GT(keep(CachePolicy::matrix).matrix_tiles, 0);
  EXPECT_GT(keep(CachePolicy::all).vector_rows, 0);
  EXPECT_GT(keep(CachePolicy::all).matrix_tiles, 0);
}

TEST(MergePlanResidency, EverythingOfASmallSystemIsKept) {
  const CsrMatrix<double> a = generate<double>("poisson2d:20:20");
  const auto plan = plan_merge(a.row_offsets, capacity(4, 1, 200000), kTile, kVectors,
                               sizeof(double), CachePolicy::all);
  for (const BlockRange& range : plan.blocks) {
    EXPECT_GE(plan.residency.vector_rows, range.rows);
    EXPECT_GE(plan.residency.matrix_tiles * kTile.items(), range.rows + range.nonzeros);
  }
  EXPECT_EQ(plan.residency.ring_slots, 0);
}

TEST(MergePlanResidency, TooLittleSharedMemoryIsAnError) {
  const CsrMatrix<double> a = generate<double>("poisson2d:20:20");
  EXPECT_THROW(plan_merge(a.row_offsets, capacity(4, 1, 1000), kTile, kVectors, sizeof(double),
                          CachePolicy::all),
               Error);
}

TEST(MergePlanCut, EmptyRowsAndNoRows) {
  const std::vector<Offset> none = {0};
  EXPECT_EQ(
      plan_merge(none, capacity(4, 1, 50000), kTile, kVectors, 8, CachePolicy::all).blocks.size(),
      1u);
  const std::vector<Offset> empty_rows(1001, 0);
  const auto plan =
      plan_merge(empty_rows, capacity(4, 2, 50000), kTile, kVectors, 8, CachePolicy::all);
  Index rows = 0;
  for (const BlockRange& range : plan.blocks) {
    EXPECT_EQ(range.first_row, rows);
    rows += range.rows;
  }
  EXPECT_EQ(rows, 1000);
}

}  // namespace
}  // namespace resident::cg
