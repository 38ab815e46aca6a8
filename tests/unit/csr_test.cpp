// Checks of CSR matrices: each check finds its fault, names it, and can be skipped.
#include <gtest/gtest.h>
#include <resident/csr.hpp>
#include <resident/error.hpp>
#include <resident/families.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>

namespace resident {
namespace {

template <class T>
CsrMatrix<T> from_dense(const std::vector<std::vector<T>>& dense) {
  CsrMatrix<T> a;
  a.rows = static_cast<Index>(dense.size());
  a.cols = dense.empty() ? 0 : static_cast<Index>(dense.front().size());
  for (const std::vector<T>& row : dense) {
    for (std::size_t j = 0; j < row.size(); ++j) {
      if (row[j] == 0) continue;
      a.columns.push_back(static_cast<Index>(j));
      a.values.push_back(row[j]);
    }
    a.row_offsets.push_back(std::ssize(a.columns));
  }
  return a;
}

// The message of the error that validate() throws, or nothing.
template <class T>
std::string complaint(const CsrMatrix<T>& a, const CsrChecks& checks = {}) {
  try {
    validate<T>(a, checks);
  } catch (const Error& error) {
    EXPECT_EQ(error.category(), ErrorCategory::input);
    return error.what();
  }
  return "";
}

// The position of (row, column), counted from zero, in the arrays of a matrix.
template <class T>
std::size_t position(const CsrMatrix<T>& a, Index row, Index column) {
  for (Offset k = a.row_offsets[static_cast<std::size_t>(row)];
       k < a.row_offsets[static_cast<std::size_t>(row) + 1]; ++k) {
    if (a.columns[static_cast<std::size_t>(k)] == column) return static_cast<std::size_t>(k);
  }
  throw std::out_of_range("no such entry");
}

template <class T>
void erase(CsrMatrix<T>& a, Index row, Index column) {
  const auto at = static_cast<std::ptrdiff_t>(position(a, row, column));
  a.columns.erase(a.columns.begin() + at);
  a.values.erase(a.values.begin() + at);
  for (std::size_t k = static_cast<std::size_t>(row) + 1; k < a.row_offsets.size(); ++k) {
    --a.row_offsets[k];
  }
}

#define EXPECT_COMPLAINT(text, ...)                                                    \
  {                                                                                    \
    const std::string found = complaint(__VA_ARGS__);                                  \
    EXPECT_NE(found.find(text), std::string::npos) << "complaint: '" << found << '\''; \
  }

template <class T>
class CsrTest : public testing::Test {};
using Values = testing::Types<float, double>;
TYPED_TEST_SUITE(CsrTest, Values);

TYPED_TEST(CsrTest, AcceptsGoodMatrices) {
  EXPECT_EQ(complaint(CsrMatrix<TypeParam>{}), "");
  EXPECT_EQ(complaint(from_dense<TypeParam>({{3}})), "");
  EXPECT_EQ(complaint(from_dense<TypeParam>({{2, -1, 0}, {-1, 2, -1}, {0, -1, 2}})), "");
  EXPECT_EQ(complaint(generate<TypeParam>("box27:20:20:20")), "");
}

TYPED_TEST(CsrTest, NamesBadOffsets) {
  const auto good = from_dense<TypeParam>({{2, -1}, {-1, 2}});
  auto a = good;
  a.row_offsets.pop_back();
  EXPECT_COMPLAINT("row_offsets has 2 entries, expected rows + 1 = 3", a);
  a = good;
  a.row_offsets[0] = 1;
  EXPECT_COMPLAINT("row 1 starts at offset 1, expected 0", a);
  a = good;
  a.row_offsets[1] = 5;
  EXPECT_COMPLAINT("row 2 ends at offset 4, before its start at 5", a);
  a = good;
  a.row_offsets[1] = -1;
  EXPECT_COMPLAINT("row 1 ends at offset -1, before its start at 0", a);
  a = good;
  a.row_offsets[2] = 3;
  EXPECT_COMPLAINT("the last row ends at offset 3, but there are 4 columns and 4 values", a);
  a = good;
  a.values.pop_back();
  EXPECT_COMPLAINT("4 columns and 3 values", a);
  a = good;
  a.rows = -1;
  EXPECT_COMPLAINT("-1 x 2", a);
}

TYPED_TEST(CsrTest, NamesColumnsOutOfRange) {
  auto a = from_dense<TypeParam>({{2, -1}, {-1, 2}});
  a.columns[3] = 2;
  EXPECT_COMPLAINT("entry (2, 3) = 2 lies outside its 2 columns", a);
  a.columns[3] = -1;
  EXPECT_COMPLAINT("entry (2, 0) = 2 lies outside its 2 columns", a);
  EXPECT_EQ(complaint(a, CsrChecks::none()), "");
}

TYPED_TEST(CsrTest, NamesUnsortedColumns) {
  auto a = from_dense<TypeParam>({{2, -1}, {-1, 2}});
  std::swap(a.columns[2], a.columns[3]);
  EXPECT_COMPLAINT("entry (2, 1) = 2 follows entry (2, 2) = -1", a);
  a.columns[3] = a.columns[2];
  EXPECT_COMPLAINT("entry (2, 2) = 2 follows entry (2, 2) = -1", a);
  CsrChecks unsorted = CsrChecks::none();
  unsorted.offsets = unsorted.ranges = true;
  EXPECT_EQ(complaint(a, unsorted), "");
}

TYPED_TEST(CsrTest, NamesTheEntryWithoutCounterpart) {
  const std::vector<std::vector<TypeParam>> lower{{2, 0, 0}, {0, 2, 0}, {0.5, 0, 2}};
  const std::vector<std::vector<TypeParam>> upper{{2, 0, 0.5}, {0, 2, 0}, {0, 0, 2}};
  EXPECT_COMPLAINT("entry (3, 1) = 0.5 has no counterpart (1, 3)", from_dense(lower));
  EXPECT_COMPLAINT("entry (1, 3) = 0.5 has no counterpart (3, 1)", from_dense(upper));

  CsrChecks values_only;
  values_only.structural_symmetry = false;
  EXPECT_COMPLAINT("entry (3, 1) = 0.5 has no counterpart", from_dense(lower), values_only);
  auto stored_zero = from_dense(upper);
  stored_zero.values[1] = 0;
  EXPECT_EQ(complaint(stored_zero, values_only), "");
  EXPECT_COMPLAINT("entry (1, 3) = 0 has no counterpart", stored_zero);

  CsrChecks asymmetric;
  asymmetric.structural_symmetry = asymmetric.numerical_symmetry = false;
  EXPECT_EQ(complaint(from_dense(lower), asymmetric), "");
}

TYPED_TEST(CsrTest, NamesTheEntriesThatDiffer) {
  auto a = from_dense<TypeParam>({{4, 1, 2}, {1, 4, 3}, {2, 3.25, 4}});
  EXPECT_COMPLAINT("entry (2, 3) = 3 differs from entry (3, 2) = 3.25", a);
  CsrChecks checks;
  checks.symmetry_tolerance = 0.1;
  EXPECT_EQ(complaint(a, checks), "");
  checks = {};
  checks.numerical_symmetry = false;
  EXPECT_EQ(complaint(a, checks), "");
}

TYPED_TEST(CsrTest, RoundingIsNoAsymmetry) {
  auto a = from_dense<double>({{4, 1.0 / 3}, {std::nextafter(1.0 / 3, 1.0), 4}});
  EXPECT_EQ(complaint(a), "");
  CsrChecks exact;
  exact.symmetry_tolerance = 0;
  EXPECT_COMPLAINT("differs from", a, exact);
}

TYPED_TEST(CsrTest, ValuesThatAreNotFinite) {
  constexpr TypeParam nan = std::numeric_limits<TypeParam>::quiet_NaN();
  constexpr TypeParam inf = std::numeric_limits<TypeParam>::infinity();
  constexpr TypeParam max = std::numeric_limits<TypeParam>::max();
  EXPECT_EQ(complaint(from_dense<TypeParam>({{nan, nan}, {nan, 1}})), "");
  EXPECT_EQ(complaint(from_dense<TypeParam>({{inf, -inf}, {-inf, 1}})), "");
  EXPECT_COMPLAINT("entry (1, 2) = inf differs", from_dense<TypeParam>({{2, inf}, {1, 2}}));
  EXPECT_COMPLAINT("entry (1, 2) = nan differs", from_dense<TypeParam>({{2, nan}, {1, 2}}));
  EXPECT_COMPLAINT("differs", from_dense<TypeParam>({{2, max}, {-max, 2}}));
  EXPECT_EQ(complaint(from_dense<TypeParam>({{2, max}, {max, 2}})), "");
}

TYPED_TEST(CsrTest, RefusesWhatIsNotSquare) {
  EXPECT_COMPLAINT("1 x 2, expected a square", from_dense<TypeParam>({{1, 2}}));
  CsrChecks checks;
  checks.structural_symmetry = checks.numerical_symmetry = false;
  EXPECT_EQ(complaint(from_dense<TypeParam>({{1, 2}}), checks), "");
}

TYPED_TEST(CsrTest, NamesNonpositiveDiagonals) {
  EXPECT_COMPLAINT("diagonal entry (2, 2) = -3", from_dense<TypeParam>({{1, 0}, {0, -3}}));
  EXPECT_COMPLAINT("diagonal entry (1, 1) is missing", from_dense<TypeParam>({{0, 1}, {1, 1}}));
  auto stored_zero = from_dense<TypeParam>({{1, 1}, {1, 1}});
  stored_zero.values[3] = 0;
  EXPECT_COMPLAINT("diagonal entry (2, 2) = 0", stored_zero);
  CsrChecks checks;
  checks.positive_diagonal = false;
  EXPECT_EQ(complaint(stored_zero, checks), "");
}

TYPED_TEST(CsrTest, ZeroRowsMayLackADiagonal) {
  const auto a = from_dense<TypeParam>({{1, 0, 0}, {0, 0, 0}, {0, 0, 1}});
  EXPECT_EQ(complaint(a), "");
  EXPECT_EQ(first_nonpositive_diagonal<TypeParam>(a), -1);
}

TYPED_TEST(CsrTest, FirstNonpositiveDiagonal) {
  constexpr TypeParam nan = std::numeric_limits<TypeParam>::quiet_NaN();
  EXPECT_EQ(first_nonpositive_diagonal<TypeParam>(from_dense<TypeParam>({{1, 0}, {0, -1}})), 1);
  EXPECT_EQ(first_nonpositive_diagonal<TypeParam>(from_dense<TypeParam>({{nan, 1}, {1, 1}})), -1);
  EXPECT_EQ(first_nonpositive_diagonal<TypeParam>(CsrMatrix<TypeParam>{}), -1);
  auto large = generate<TypeParam>("poisson2d:500:500");
  large.values[position(large, 200'000, 200'000)] = -4;
  large.values[position(large, 70'000, 70'000)] = 0;
  EXPECT_EQ(first_nonpositive_diagonal<TypeParam>(large), 70'000);
}

// Large enough for several threads: faults at both ends, in the middle, and two at once.
TYPED_TEST(CsrTest, FindsOneFaultInALargeMatrix) {
  const auto good = generate<TypeParam>("poisson2d:500:400");
  ASSERT_EQ(complaint(good), "");
  for (const Index row : {0, 1, 99'998, 100'000, 199'998}) {
    auto a = good;
    a.values[position(a, row, row + 1)] = -2;
    const std::string first = std::to_string(row + 1), second = std::to_string(row + 2);
    EXPECT_COMPLAINT("entry (" + first + ", " + second + ") = -2 differs", a);
    erase(a, row, row + 1);
    EXPECT_COMPLAINT("entry (" + second + ", " + first + ") = -1 has no counterpart", a);
    a = good;
    erase(a, row + 1, row);
    EXPECT_COMPLAINT("entry (" + first + ", " + second + ") = -1 has no counterpart", a);
    a.values[0] = -2;
    a.columns.back() = 200'000;
    EXPECT_COMPLAINT("entry (200000, 200001) = 4 lies outside", a);
  }
}

// No lower entry of the last rows leads to row 1, so nothing but a look at that row finds it.
TYPED_TEST(CsrTest, FindsAnUpperEntryFarFromAllOthers) {
  constexpr Index rows = 300'000;
  CsrMatrix<TypeParam> a;
  a.rows = a.cols = rows;
  for (Index row = 0; row < rows; ++row) {
    a.columns.push_back(row);
    a.values.push_back(2);
    if (row == 0) {
      a.columns.push_back(rows - 1);
      a.values.push_back(1);
    }
    a.row_offsets.push_back(std::ssize(a.columns));
  }
  EXPECT_COMPLAINT("entry (1, 300000) = 1 has no counterpart (300000, 1)", a);
}

// Entries far from the diagonal couple the ranges of different threads.
TYPED_TEST(CsrTest, AgreesWithASearchForEveryEntry) {
  std::mt19937 random(7);
  const auto good = generate<TypeParam>("graph:20000:16:5");
  ASSERT_EQ(complaint(good), "");
  for (int round = 0; round < 20; ++round) {
    auto a = good;
    const auto at = static_cast<std::size_t>(random() % a.values.size());
    const auto row = static_cast<Index>(
        std::upper_bound(a.row_offsets.begin(), a.row_offsets.end(), static_cast<Offset>(at)) -
        a.row_offsets.begin() - 1);
    const Index column = a.columns[at];
    if (row == column) continue;
    const std::string here =
        "(" + std::to_string(row + 1) + ", " + std::to_string(column + 1) + ")";
    const std::string there =
        "(" + std::to_string(column + 1) + ", " + std::to_string(row + 1) + ")";
    if (round % 2 == 0) {
      a.values[at] = 3;
      EXPECT_COMPLAINT(row < column ? here + " = 3 differs from entry " + there
                                    : there + " = -1 differs from entry " + here,
                       a);
    } else {
      erase(a, row, column);
      EXPECT_COMPLAINT(there + " = -1 has no counterpart " + here, a);
    }
  }
}

TYPED_TEST(CsrTest, MultipliesLikeADenseMatrix) {
  const std::vector<std::vector<TypeParam>> dense{{1, 2, 0}, {0, 0, 0}, {0, -3, 4}, {5, 0, 0.5}};
  const auto a = from_dense(dense);
  const std::vector<TypeParam> x{2, -1, 3};
  std::vector<TypeParam> y(4, 99);
  multiply<TypeParam>(a, x, y);
  EXPECT_EQ(y, (std::vector<TypeParam>{0, 0, 15, 11.5}));
}

TYPED_TEST(CsrTest, MultipliesLargeMatrices) {
  const auto a = generate<TypeParam>("arrow:300000");
  const std::vector<TypeParam> x(300'000, 1);
  std::vector<TypeParam> y(300'000);
  multiply<TypeParam>(a, x, y);
  EXPECT_EQ(y[0], 1);
  EXPECT_EQ(std::count(y.begin(), y.end(), TypeParam(1)), 300'000);
}

TYPED_TEST(CsrTest, MultiplyRefusesWrongSizes) {
  const auto a = from_dense<TypeParam>({{1, 2, 3}});
  std::vector<TypeParam> three(3), one(1);
  try {
    multiply<TypeParam>(a, one, three);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.category(), ErrorCategory::usage);
    EXPECT_NE(std::string(error.what()).find("x has 1 entries, y has 3, expected 3 and 1"),
              std::string::npos);
  }
}

}  // namespace
}  // namespace resident
