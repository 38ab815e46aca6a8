// The reference solvers: known solutions, counted steps, and what they say when they fail.
#include "reference/reference.hpp"

#include <gtest/gtest.h>
#include <resident/error.hpp>
#include <resident/families.hpp>
#include <resident/matrix_market.hpp>

#include <cmath>

#include "../matrix_path.hpp"

namespace resident {
namespace {

using reference::Options;
using Method = reference::Options::Method;

template <class T>
class ReferenceTest : public testing::Test {
 protected:
  static constexpr double tolerance = sizeof(T) == 4 ? 1e-5 : 1e-10;

  // Solves for b = A 1 and expects the residual and the solution to be near.
  static reference::Result<T> solve_for_ones(const CsrMatrix<T>& a, const Options& options,
                                             double error) {
    const std::vector<T> ones(static_cast<std::size_t>(a.rows), T(1));
    std::vector<T> b(ones.size());
    multiply<T>(a, ones, b);
    const auto result = reference::solve<T>(a, b, {}, options);
    EXPECT_TRUE(result.converged);
    EXPECT_LE(result.relative_residual, 2 * options.tolerance);
    for (const T x : result.x) EXPECT_NEAR(x, 1, error);
    return result;
  }
};
using Values = testing::Types<float, double>;
TYPED_TEST_SUITE(ReferenceTest, Values);

TYPED_TEST(ReferenceTest, AllMethodsSolve) {
  const auto a = generate<TypeParam>("poisson3d:9:8:7");
  Options options;
  options.tolerance = this->tolerance;
  const auto plain = this->solve_for_ones(a, options, 100 * this->tolerance);
  EXPECT_GT(plain.iterations, 5);
  EXPECT_LT(plain.iterations, 60);
  options.preconditioner = Preconditioner::jacobi;  // a constant diagonal changes nothing
  EXPECT_NEAR(
      static_cast<double>(this->solve_for_ones(a, options, 100 * this->tolerance).iterations),
      static_cast<double>(plain.iterations), 1);
  options.method = Method::cholesky;
  EXPECT_EQ(this->solve_for_ones(a, options, 100 * this->tolerance).iterations, 0);
}

TYPED_TEST(ReferenceTest, CountsEveryStep) {
  // As many steps as distinct eigenvalues: one for a multiple of the identity, three for three.
  const CsrMatrix<TypeParam> one{3, 3, {0, 1, 2, 3}, {0, 1, 2}, {2, 2, 2}};
  const CsrMatrix<TypeParam> three{3, 3, {0, 1, 2, 3}, {0, 1, 2}, {1, 2, 3}};
  Options options;
  options.tolerance = 1e-6;
  EXPECT_EQ(this->solve_for_ones(one, options, 1e-5).iterations, 1);
  EXPECT_EQ(this->solve_for_ones(three, options, 1e-5).iterations, 3);
  options.preconditioner = Preconditioner::jacobi;
  EXPECT_EQ(this->solve_for_ones(three, options, 1e-5).iterations, 1);
}

TYPED_TEST(ReferenceTest, StartsFromTheGuess) {
  const auto a = generate<TypeParam>("poisson2d:10:10");
  const std::vector<TypeParam> ones(100, 1), zeros(100, 0);
  std::vector<TypeParam> b(100);
  multiply<TypeParam>(a, ones, b);
  const auto exact = reference::solve<TypeParam>(a, b, ones, {});
  EXPECT_TRUE(exact.converged);
  EXPECT_EQ(exact.iterations, 0);
  EXPECT_EQ(exact.x, ones);
  const auto from_zero = reference::solve<TypeParam>(a, b, zeros, {});
  EXPECT_EQ(from_zero.x, (reference::solve<TypeParam>(a, b, {}, {}).x));
}

TYPED_TEST(ReferenceTest, ZeroRightHandSide) {
  const auto a = generate<TypeParam>("poisson2d:10:10");
  const std::vector<TypeParam> b(100, 0), guess(100, 1);
  const auto result = reference::solve<TypeParam>(a, b, guess, {});
  EXPECT_TRUE(result.converged);
  EXPECT_EQ(result.iterations, 0);
  EXPECT_EQ(result.x, b);
  EXPECT_EQ(result.relative_residual, 0);
}

TYPED_TEST(ReferenceTest, StopsAtTheLimit) {
  const auto a = generate<TypeParam>("poisson2d:50:50");
  const std::vector<TypeParam> b(2500, 1);
  Options options;
  options.max_iterations = 7;
  const auto result = reference::solve<TypeParam>(a, b, {}, options);
  EXPECT_FALSE(result.converged);
  EXPECT_EQ(result.iterations, 7);
  EXPECT_GT(result.relative_residual, 1e-3);
}

TYPED_TEST(ReferenceTest, CholeskyRefusesIndefiniteMatrices) {
  const CsrMatrix<TypeParam> a{2, 2, {0, 2, 4}, {0, 1, 0, 1}, {1, 2, 2, 1}};
  const std::vector<TypeParam> b{1, 0};
  Options options;
  options.method = Method::cholesky;
  const auto result = reference::solve<TypeParam>(a, b, {}, options);
  EXPECT_FALSE(result.converged);
  EXPECT_EQ(result.relative_residual, 1);
}

TYPED_TEST(ReferenceTest, RefusesWrongSizes) {
  const auto a = generate<TypeParam>("poisson2d:3:3");
  const std::vector<TypeParam> nine(9, 1), eight(8, 1);
  EXPECT_THROW(reference::solve<TypeParam>(a, eight, {}, {}), Error);
  EXPECT_THROW(reference::solve<TypeParam>(a, nine, eight, {}), Error);
  const CsrMatrix<TypeParam> wide{1, 2, {0, 1}, {0}, {1}};
  EXPECT_THROW((reference::solve<TypeParam>(wide, std::vector<TypeParam>{1}, {}, {})), Error);
}

TEST(Reference, SolversAgreeOnARealMatrix) {
  const auto a = read_matrix_market<double>(matrix_path("bcsstk14.mtx.gz"));
  const std::vector<double> b(static_cast<std::size_t>(a.rows), 1.0);
  Options options;
  options.method = Method::cholesky;
  const auto direct = reference::solve<double>(a, b, {}, options);
  ASSERT_TRUE(direct.converged);
  EXPECT_LT(direct.relative_residual, 1e-8);

  options = {};
  options.tolerance = 1e-10;
  options.preconditioner = Preconditioner::jacobi;
  const auto iterative = reference::solve<double>(a, b, {}, options);
  ASSERT_TRUE(iterative.converged);
  EXPECT_LT(iterative.relative_residual, 1e-9);
  double difference = 0, norm = 0;
  for (std::size_t k = 0; k < b.size(); ++k) {
    difference = std::max(difference, std::abs(direct.x[k] - iterative.x[k]));
    norm = std::max(norm, std::abs(direct.x[k]));
  }
  EXPECT_LT(difference, 1e-5 * norm);
}

}  // namespace
}  // namespace resident
