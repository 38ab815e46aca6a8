// inspect(): every figure on a small matrix worked out by hand, and on large ones with known
// answers.
#include <gtest/gtest.h>
#include <resident/families.hpp>
#include <resident/matrix_info.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

namespace resident {
namespace {

template <class T>
class MatrixInfoTest : public testing::Test {};
using Values = testing::Types<float, double>;
TYPED_TEST_SUITE(MatrixInfoTest, Values);

//  4  -1   0   2
// -1   0   0   0
//  0   0   0   0
//  1   0   0   8
template <class T>
CsrMatrix<T> small() {
  return {4, 4, {0, 3, 4, 4, 6}, {0, 1, 3, 0, 0, 3}, {4, -1, 2, -1, 1, 8}};
}

TYPED_TEST(MatrixInfoTest, SmallMatrix) {
  const MatrixInfo info = inspect<TypeParam>(small<TypeParam>());
  EXPECT_EQ(info.rows, 4);
  EXPECT_EQ(info.cols, 4);
  EXPECT_EQ(info.nonzeros, 6);
  EXPECT_EQ(info.row_length_min, 0);
  EXPECT_EQ(info.row_length_max, 3);
  EXPECT_DOUBLE_EQ(info.row_length_mean, 1.5);
  EXPECT_DOUBLE_EQ(info.row_length_deviation, std::sqrt(1.25));
  EXPECT_EQ(info.row_length_histogram[0], 1);
  EXPECT_EQ(info.row_length_histogram[1], 1);
  EXPECT_EQ(info.row_length_histogram[2], 2);
  EXPECT_EQ(info.bandwidth, 3);
  EXPECT_TRUE(info.square);
  EXPECT_TRUE(info.structurally_symmetric);
  EXPECT_FALSE(info.numerically_symmetric);
  EXPECT_DOUBLE_EQ(info.largest_asymmetry, 0.5);
  EXPECT_EQ(info.nonpositive_diagonals, 1);  // row 2; row 3 is zero
  EXPECT_EQ(info.diagonal_min, 0);
  EXPECT_EQ(info.diagonal_max, 8);
  EXPECT_EQ(info.diagonally_dominant_rows, 3);
  EXPECT_TRUE(info.finite);
}

TYPED_TEST(MatrixInfoTest, EntriesWithoutCounterpart) {
  auto a = small<TypeParam>();
  a.columns[4] = 1;  // (4, 1) moves to (4, 2)
  MatrixInfo info = inspect<TypeParam>(a);
  EXPECT_FALSE(info.structurally_symmetric);
  EXPECT_FALSE(info.numerically_symmetric);
  EXPECT_DOUBLE_EQ(info.largest_asymmetry, 1);
  a.values[2] = a.values[4] = 0;
  info = inspect<TypeParam>(a);
  EXPECT_FALSE(info.structurally_symmetric);
  EXPECT_TRUE(info.numerically_symmetric);
  EXPECT_EQ(info.largest_asymmetry, 0);
}

TYPED_TEST(MatrixInfoTest, ValuesThatAreNotFinite) {
  auto a = small<TypeParam>();
  a.values[2] = a.values[4] = std::numeric_limits<TypeParam>::quiet_NaN();
  MatrixInfo info = inspect<TypeParam>(a);
  EXPECT_FALSE(info.finite);
  EXPECT_TRUE(info.numerically_symmetric);
  a.values[4] = 1;
  info = inspect<TypeParam>(a);
  EXPECT_FALSE(info.numerically_symmetric);
  EXPECT_TRUE(std::isinf(info.largest_asymmetry));
}

TYPED_TEST(MatrixInfoTest, EmptyAndRectangular) {
  const MatrixInfo empty = inspect<TypeParam>(CsrMatrix<TypeParam>{});
  EXPECT_EQ(empty.rows, 0);
  EXPECT_TRUE(empty.square);
  EXPECT_TRUE(empty.numerically_symmetric);
  EXPECT_EQ(empty.row_length_min, 0);

  const MatrixInfo wide = inspect<TypeParam>(CsrMatrix<TypeParam>{1, 3, {0, 2}, {0, 2}, {1, 5}});
  EXPECT_FALSE(wide.square);
  EXPECT_FALSE(wide.structurally_symmetric);
  EXPECT_FALSE(wide.numerically_symmetric);
  EXPECT_EQ(wide.bandwidth, 2);
  EXPECT_EQ(wide.diagonal_min, 1);

  const MatrixInfo tall =
      inspect<TypeParam>(CsrMatrix<TypeParam>{3, 1, {0, 1, 1, 2}, {0, 0}, {7, 5}});
  EXPECT_EQ(tall.bandwidth, 2);
  EXPECT_EQ(tall.diagonal_min, 7);
  EXPECT_EQ(tall.diagonal_max, 7);
}

TYPED_TEST(MatrixInfoTest, LargeMatrixInSeveralThreads) {
  const auto a = generate<TypeParam>("arrow:300000");
  const MatrixInfo info = inspect<TypeParam>(a);
  EXPECT_EQ(info.nonzeros, 300'000 + 2 * 299'999);
  EXPECT_EQ(info.row_length_min, 2);
  EXPECT_EQ(info.row_length_max, 300'000);
  EXPECT_EQ(info.row_length_histogram[2], 299'999);
  EXPECT_EQ(info.row_length_histogram[19], 1);  // 2^18 <= 300000 < 2^19
  EXPECT_EQ(info.bandwidth, 299'999);
  EXPECT_TRUE(info.structurally_symmetric);
  EXPECT_TRUE(info.numerically_symmetric);
  EXPECT_EQ(info.nonpositive_diagonals, 0);
  EXPECT_EQ(info.diagonal_min, 2);
  EXPECT_EQ(info.diagonal_max, 300'000);
  EXPECT_EQ(info.diagonally_dominant_rows, 300'000);
}

TYPED_TEST(MatrixInfoTest, LargestAsymmetryIsFoundAnywhere) {
  const auto good = generate<TypeParam>("poisson2d:500:500");
  for (const Index row : {0, 124'998, 125'000, 249'998}) {
    auto a = good;
    const auto begin = a.columns.begin() + a.row_offsets[static_cast<std::size_t>(row)];
    a.values[static_cast<std::size_t>(std::find(begin, a.columns.end(), row + 1) -
                                      a.columns.begin())] = -4;
    const MatrixInfo info = inspect<TypeParam>(a);
    EXPECT_TRUE(info.structurally_symmetric);
    EXPECT_FALSE(info.numerically_symmetric);
    EXPECT_DOUBLE_EQ(info.largest_asymmetry, 0.75) << row;
  }
}

}  // namespace
}  // namespace resident
