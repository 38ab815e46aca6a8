// The solver suite: one set of tests over devices, precisions and recurrences. Cases for a GPU skip
// themselves where there is none.
#include <gtest/gtest.h>
#include <resident/resident.hpp>

#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include "../matrix_path.hpp"
#include "reference/reference.hpp"

namespace resident {
namespace {

bool has_gpu() {
  static const bool usable = [] {
    const DeviceList list = list_devices();
    return !list.gpus.empty() && list.gpus[0].usable;
  }();
  return usable;
}

CsrMatrix<double> load(const std::string& name) {
  return is_family(name) ? generate<double>(name)
                         : read_matrix_market<double>(matrix_path(name + ".mtx.gz"));
}

template <class T>
CsrMatrix<T> convert(const CsrMatrix<double>& a) {
  CsrMatrix<T> converted{a.rows, a.cols, a.row_offsets, a.columns, {}};
  for (const double value : a.values) converted.values.push_back(static_cast<T>(value));
  return converted;
}

// Small dense matrices, row by row; zeros are not stored.
template <class T>
CsrMatrix<T> dense(std::initializer_list<std::initializer_list<double>> rows) {
  CsrMatrix<T> a;
  a.rows = a.cols = static_cast<Index>(rows.size());
  for (const auto& row : rows) {
    Index column = 0;
    for (const double value : row) {
      if (value != 0) {
        a.columns.push_back(column);
        a.values.push_back(static_cast<T>(value));
      }
      ++column;
    }
    a.row_offsets.push_back(a.nonzeros());
  }
  return a;
}

// ‖b - A x‖ / ‖b‖ in double.
template <class T>
double true_residual(CsrView<T> a, const std::vector<T>& b, const std::vector<T>& x) {
  double r2 = 0, b2 = 0;
  for (std::size_t row = 0; row < b.size(); ++row) {
    double r = static_cast<double>(b[row]);
    for (auto k = static_cast<std::size_t>(a.row_offsets[row]);
         k < static_cast<std::size_t>(a.row_offsets[row + 1]); ++k) {
      r -= static_cast<double>(a.values[k]) *
           static_cast<double>(x[static_cast<std::size_t>(a.columns[k])]);
    }
    r2 += r * r;
    b2 += static_cast<double>(b[row]) * static_cast<double>(b[row]);
  }
  return std::sqrt(r2 / b2);
}

template <class T>
std::vector<T> right_hand_side(CsrView<T> a) {
  std::vector<T> ones(static_cast<std::size_t>(a.cols), T(1)), b(ones.size());
  multiply<T>(a, ones, b);
  return b;
}

struct Target {
  DeviceKind device;
  Recurrence recurrence;
};

std::string target_name(const Target& target) {
  return std::string(name(target.device)) + "_" + std::string(name(target.recurrence));
}

const std::vector<Target> kTargets = {{DeviceKind::cpu, Recurrence::classic},
                                      {DeviceKind::cpu, Recurrence::single_reduction},
                                      {DeviceKind::gpu, Recurrence::classic},
                                      {DeviceKind::gpu, Recurrence::single_reduction}};

class Targeted : public testing::TestWithParam<Target> {
 protected:
  void SetUp() override {
    if (GetParam().device == DeviceKind::gpu && !has_gpu()) GTEST_SKIP() << "no GPU here";
  }
  CgOptions options() const {
    CgOptions options;
    options.device = GetParam().device;
    options.recurrence = GetParam().recurrence;
    return options;
  }
  template <class T>
  SolveReport solve(CsrView<T> a, const std::vector<T>& b, std::vector<T>& x,
                    const CgOptions& with) const {
    return ConjugateGradient<T>(a, with).solve(b, x);
  }
};

// --- Against the reference ---

using AgainstReferenceParameter = std::tuple<Target, std::string, Preconditioner>;

class AgainstReference : public testing::TestWithParam<AgainstReferenceParameter> {
 protected:
  void SetUp() override {
    if (std::get<0>(GetParam()).device == DeviceKind::gpu && !has_gpu()) {
      GTEST_SKIP() << "no GPU here";
    }
  }
};

template <class T>
void expect_like_reference(const AgainstReferenceParameter& parameter, double tolerance) {
  const auto& [target, matrix, preconditioner] = parameter;
  const CsrMatrix<T> a = convert<T>(load(matrix));
  const std::vector<T> b = right_hand_side<T>(a);
  reference::Options with;
  with.tolerance = tolerance;
  with.max_iterations = 20 * std::int64_t{a.rows};
  with.preconditioner = preconditioner;
  const auto expected = reference::solve<T>(a, b, {}, with);
  ASSERT_TRUE(expected.converged);

  CgOptions options;
  options.device = target.device;
  options.recurrence = target.recurrence;
  options.tolerance = tolerance;
  options.max_iterations = with.max_iterations;
  options.preconditioner = preconditioner;
  std::vector<T> x(b.size());
  const SolveReport report = ConjugateGradient<T>(a, options).solve(b, x);
  EXPECT_EQ(report.reason, StopReason::converged) << report.message();
  // The sums of the solver and of this check round differently.
  const double slack = std::is_same_v<T, float> ? 0.1 : 0.01;
  EXPECT_LE(true_residual<T>(a, b, x), tolerance * (1 + slack));
  const auto iterations = static_cast<double>(expected.iterations);
  EXPECT_NEAR(static_cast<double>(report.iterations), iterations, 0.05 * iterations + 2);
}

TEST_P(AgainstReference, Double) { expect_like_reference<double>(GetParam(), 1e-8); }

std::string against_reference_name(const testing::TestParamInfo<AgainstReferenceParameter>& info) {
  const auto& [target, matrix, preconditioner] = info.param;
  std::string text = target_name(target) + "_" + matrix + "_" + std::string(name(preconditioner));
  for (char& c : text) {
    if (c == ':' || c == '.') c = '_';
  }
  return text;
}

const std::vector<std::string> kGenerated = {
    "poisson2d:32:32",         "poisson3d:12:13:14",  "box9:33:20",   "box27:10:10:10",
    "trefethen:500",           "elasticity3d:6:5:4",  "mass3d:9:9:9", "graph:2000:8:1",
    "anisotropic2d:40:40:0.1", "jump3d:10:10:10:100", "arrow:3000",   "poisson2d:1:1"};

INSTANTIATE_TEST_SUITE_P(
    Generated, AgainstReference,
    testing::Combine(testing::ValuesIn(kTargets), testing::ValuesIn(kGenerated),
                     testing::Values(Preconditioner::none, Preconditioner::jacobi)),
    against_reference_name);

// Matrices of the collection on which every recurrence keeps the reference's iteration count.
INSTANTIATE_TEST_SUITE_P(
    Real, AgainstReference,
    testing::Combine(testing::ValuesIn(kTargets),
                     testing::Values("494_bus", "685_bus", "1138_bus", "bcsstk08", "bcsstk14",
                                     "bcsstk27", "bcsstm07", "gr_30_30", "mesh3e1", "nos4", "nos5",
                                     "nos6", "Trefethen_2000", "lap3D_7pt_n20"),
                     testing::Values(Preconditioner::jacobi)),
    against_reference_name);

// Ill-conditioned matrices on which single_reduction needs up to a sixth more iterations.
INSTANTIATE_TEST_SUITE_P(RealClassic, AgainstReference,
                         testing::Combine(testing::Values(kTargets[0], kTargets[2]),
                                          testing::Values("nos1", "nos2", "bcsstk13"),
                                          testing::Values(Preconditioner::jacobi)),
                         against_reference_name);

class AgainstReferenceFloat : public AgainstReference {};
TEST_P(AgainstReferenceFloat, Float) { expect_like_reference<float>(GetParam(), 1e-4); }
INSTANTIATE_TEST_SUITE_P(Generated, AgainstReferenceFloat,
                         testing::Combine(testing::ValuesIn(kTargets),
                                          testing::ValuesIn(kGenerated),
                                          testing::Values(Preconditioner::jacobi)),
                         against_reference_name);

// --- Reasons to stop ---

class Reasons : public Targeted {};

TEST_P(Reasons, ZeroRightHandSide) {
  const auto a = generate<double>("poisson2d:5:5");
  const std::vector<double> b(25);
  std::vector<double> x(25, 3.0);
  const SolveReport report = solve<double>(a, b, x, options());
  EXPECT_EQ(report.reason, StopReason::converged);
  EXPECT_EQ(report.iterations, 0);
  EXPECT_EQ(x, std::vector<double>(25));
}

TEST_P(Reasons, ExactInitialGuess) {
  const auto a = generate<double>("poisson2d:9:5");
  const std::vector<double> b = right_hand_side<double>(a);
  std::vector<double> x(b.size(), 1.0);
  const SolveReport report = solve<double>(a, b, x, options());
  EXPECT_EQ(report.reason, StopReason::converged);
  EXPECT_EQ(report.iterations, 0);
  EXPECT_EQ(x, std::vector<double>(b.size(), 1.0));
}

TEST_P(Reasons, InitialGuessIsUsed) {
  const auto a = load("bcsstk14");
  const std::vector<double> b = right_hand_side<double>(a);
  std::vector<double> cold(b.size()), warm(b.size(), 1.0 + 1e-6);
  const auto from_zero = solve<double>(a, b, cold, options());
  const auto from_near = solve<double>(a, b, warm, options());
  EXPECT_TRUE(from_near.converged());
  EXPECT_LT(from_near.iterations, from_zero.iterations);
}

TEST_P(Reasons, OneByOne) {
  const auto a = dense<double>({{4}});
  const std::vector<double> b = {8};
  std::vector<double> x(1);
  const SolveReport report = solve<double>(a, b, x, options());
  EXPECT_EQ(report.reason, StopReason::converged);
  EXPECT_DOUBLE_EQ(x[0], 2);
}

TEST_P(Reasons, NoRows) {
  const CsrMatrix<double> a;
  std::vector<double> x;
  const SolveReport report = solve<double>(a, {}, x, options());
  EXPECT_EQ(report.reason, StopReason::converged);
}

TEST_P(Reasons, DiagonalIsSolvedByJacobiInOneIteration) {
  CsrMatrix<double> a;
  a.rows = a.cols = 1000;
  std::vector<double> b, expected;
  for (Index i = 0; i < 1000; ++i) {
    a.columns.push_back(i);
    a.values.push_back(1.0 + i);
    a.row_offsets.push_back(i + 1);
    b.push_back(2.0 * (1.0 + i));
  }
  std::vector<double> x(1000);
  const SolveReport report = solve<double>(a, b, x, options());
  EXPECT_EQ(report.reason, StopReason::converged);
  EXPECT_LE(report.iterations, 1);
  for (const double entry : x) EXPECT_NEAR(entry, 2, 1e-12);
}

TEST_P(Reasons, SingularButConsistent) {
  // The Laplacian of a path, whose null space is the constants; b has mean zero.
  CsrMatrix<double> a;
  a.rows = a.cols = 50;
  for (Index i = 0; i < 50; ++i) {
    for (Index j = i - 1; j <= i + 1; ++j) {
      if (j < 0 || j >= 50) continue;
      a.columns.push_back(j);
      a.values.push_back(j != i ? -1.0 : (i == 0 || i == 49) ? 1.0 : 2.0);
    }
    a.row_offsets.push_back(a.nonzeros());
  }
  std::vector<double> b(50), x(50);
  for (std::size_t i = 0; i < 50; ++i) b[i] = i < 25 ? 1.0 : -1.0;
  const SolveReport report = solve<double>(a, b, x, options());
  EXPECT_EQ(report.reason, StopReason::converged) << report.message();
  EXPECT_LE(true_residual<double>(a, b, x), 1e-8);
}

TEST_P(Reasons, ZeroRowsAreAllowedWhereTheRightHandSideIsZero) {
  const auto a = dense<double>({{2, 0, -1}, {0, 0, 0}, {-1, 0, 2}});
  const std::vector<double> b = {1, 0, 1};
  std::vector<double> x(3);
  const SolveReport report = solve<double>(a, b, x, options());
  EXPECT_EQ(report.reason, StopReason::converged) << report.message();
  EXPECT_NEAR(x[0], 1, 1e-8);
  EXPECT_NEAR(x[2], 1, 1e-8);
}

TEST_P(Reasons, IndefiniteWithPositiveDiagonal) {
  const auto a = dense<double>({{1, 2, 0}, {2, 1, 0}, {0, 0, 5}});
  const std::vector<double> b = {1, -1, 0};
  std::vector<double> x(3);
  const SolveReport report = solve<double>(a, b, x, options());
  EXPECT_EQ(report.reason, StopReason::indefinite_matrix) << report.message();
  EXPECT_FALSE(report.converged());
}

TEST_P(Reasons, LargeIndefiniteMatrix) {
  // A shifted Laplacian: positive diagonal, some negative eigenvalues.
  auto a = generate<double>("poisson2d:30:30");
  for (std::size_t k = 0; k < a.values.size(); ++k) {
    if (a.values[k] > 0) a.values[k] = 2.5;
  }
  std::vector<double> b(900), x(900);
  for (std::size_t i = 0; i < 900; ++i) b[i] = std::sin(static_cast<double>(i * i));
  const SolveReport report = solve<double>(a, b, x, options());
  EXPECT_EQ(report.reason, StopReason::indefinite_matrix) << report.message();
}

TEST_P(Reasons, NegativeDiagonalIsNamed) {
  const auto a = dense<double>({{1, 0}, {0, -1}});
  const std::vector<double> b = {1, 1};
  std::vector<double> x(2);
  const SolveReport report = solve<double>(a, b, x, options());
  EXPECT_EQ(report.reason, StopReason::indefinite_matrix);
  EXPECT_NE(report.detail.find("row 2"), std::string::npos) << report.detail;
}

TEST_P(Reasons, NotFiniteInputs) {
  const double nan = std::nan(""), infinity = std::numeric_limits<double>::infinity();
  for (const double bad : {nan, infinity}) {
    for (const int where : {0, 1, 2}) {
      auto a = generate<double>("poisson2d:20:20");
      std::vector<double> b(400, 1.0), x(400);
      if (where == 0) {
        const std::size_t row = 7;  // symmetric, so that it is not refused as asymmetric
        const auto end = static_cast<std::size_t>(a.row_offsets[row + 1]);
        for (auto k = static_cast<std::size_t>(a.row_offsets[row]); k < end; ++k) {
          if (a.columns[k] == 7) a.values[k] = bad;
        }
      } else if (where == 1) {
        b[200] = bad;
      } else {
        x[3] = bad;
      }
      const SolveReport report = solve<double>(a, b, x, options());
      EXPECT_EQ(report.reason, StopReason::not_finite) << bad << " in " << where;
    }
  }
}

TEST_P(Reasons, IterationLimit) {
  const auto a = generate<double>("poisson2d:40:40");
  const std::vector<double> b(1600, 1.0);
  std::vector<double> x(1600);
  CgOptions with = options();
  with.max_iterations = 7;
  const SolveReport report = solve<double>(a, b, x, with);
  EXPECT_EQ(report.reason, StopReason::iteration_limit);
  EXPECT_EQ(report.iterations, 7);
  EXPECT_NEAR(report.relative_residual(), true_residual<double>(a, b, x), 1e-12);
}

TEST_P(Reasons, TimeLimit) {
  const auto a = generate<double>("poisson2d:200:200");
  const std::vector<double> b(40000, 1.0);
  std::vector<double> x(40000);
  CgOptions with = options();
  with.tolerance = 0;
  with.max_iterations = 1'000'000'000;
  with.time_limit = 1e-3;
  const SolveReport report = solve<double>(a, b, x, with);
  EXPECT_EQ(report.reason, StopReason::time_limit) << report.message();
  EXPECT_GT(report.iterations, 0);
  EXPECT_NEAR(report.relative_residual(), true_residual<double>(a, b, x), 1e-9);
}

TEST_P(Reasons, Cancelled) {
  const auto a = generate<double>("poisson2d:200:200");
  const std::vector<double> b(40000, 1.0);
  std::vector<double> x(40000);
  std::atomic<bool> cancel = false;
  CgOptions with = options();
  with.tolerance = 0;
  with.max_iterations = 1'000'000'000;
  with.cancel = &cancel;
  with.progress = [&](const Progress& progress) {
    EXPECT_GT(progress.rhs_norm, 0);
    if (progress.iteration >= 20) cancel = true;
  };
  with.progress_interval = 0.001;
  const SolveReport report = solve<double>(a, b, x, with);
  EXPECT_EQ(report.reason, StopReason::cancelled) << report.message();
  EXPECT_GE(report.iterations, 20);
  EXPECT_NEAR(report.relative_residual(), true_residual<double>(a, b, x), 1e-9);
}

TEST_P(Reasons, StagnatesBelowTheAttainableAccuracy) {
  const auto a = load("bcsstk14");
  const std::vector<double> b = right_hand_side<double>(a);
  std::vector<double> x(b.size());
  CgOptions with = options();
  with.tolerance = 1e-17;
  const SolveReport report = solve<double>(a, b, x, with);
  EXPECT_FALSE(report.converged());
  EXPECT_EQ(report.reason, StopReason::stagnated) << report.message();
  EXPECT_GT(report.restarts, 0);
  EXPECT_LT(report.relative_residual(), 1e-12);
}

TEST_P(Reasons, AbsoluteTolerance) {
  const auto a = generate<double>("poisson2d:20:20");
  const std::vector<double> b(400, 1.0);
  std::vector<double> x(400);
  CgOptions with = options();
  with.tolerance = 0;
  with.absolute_tolerance = 1e-3;
  const SolveReport report = solve<double>(a, b, x, with);
  EXPECT_EQ(report.reason, StopReason::converged);
  EXPECT_LE(report.residual_norm, 1e-3);
  EXPECT_GT(report.residual_norm, 1e-6);
}

TEST_P(Reasons, ExtremeScalesOfTheRightHandSide) {
  const auto a = generate<double>("poisson2d:20:20");
  for (const double size : {1e-250, 1e-170, 1e160, 1e250}) {
    const std::vector<double> b(400, size);
    std::vector<double> x(400);
    const SolveReport report = solve<double>(a, b, x, options());
    EXPECT_EQ(report.reason, StopReason::converged) << size << ": " << report.message();
    EXPECT_NEAR(report.rhs_norm / size, 20, 1e-9);
    std::vector<double> unit(400, 1.0), y(400);
    ASSERT_TRUE(solve<double>(a, unit, y, options()).converged());
    EXPECT_NEAR(x[210] / size, y[210], 1e-6 * y[210]);
  }
}

TEST_P(Reasons, HistoryFallsFromTheInitialResidual) {
  const auto a = load("nos5");
  const std::vector<double> b = right_hand_side<double>(a);
  std::vector<double> x(b.size());
  CgOptions with = options();
  with.history = true;
  const SolveReport report = solve<double>(a, b, x, with);
  ASSERT_EQ(report.history.size(), static_cast<std::size_t>(report.iterations) + 1);
  EXPECT_NEAR(report.history.front(), report.rhs_norm, 1e-12 * report.rhs_norm);
  EXPECT_LE(report.history.back(), 1e-8 * report.rhs_norm);
  for (std::size_t i = 0; i + 1 < report.history.size(); ++i) {
    EXPECT_GT(report.history[i], 1e-8 * report.rhs_norm) << "converged before the end";
  }
}

TEST_P(Reasons, SameBitsInEveryRun) {
  const auto a = load("bcsstk14");
  const std::vector<double> b = right_hand_side<double>(a);
  ConjugateGradient<double> cg(a, options());
  std::vector<double> first(b.size());
  const SolveReport expected = cg.solve(b, first);
  for (int run = 0; run < 3; ++run) {
    std::vector<double> x(b.size());
    const SolveReport report = cg.solve(b, x);
    EXPECT_EQ(report.iterations, expected.iterations);
    EXPECT_EQ(std::memcmp(x.data(), first.data(), x.size() * sizeof(double)), 0);
  }
}

TEST_P(Reasons, SizesThatDoNotFitAreRefused) {
  const auto a = generate<double>("poisson2d:3:3");
  ConjugateGradient<double> cg(a, options());
  std::vector<double> b(8), x(9);
  EXPECT_THROW(cg.solve(b, x), Error);
}

TEST_P(Reasons, LongRowsAndEmptyRowsTogether) {
  // Row 0 is dense over the first half; the second half of the rows is diagonal.
  CsrMatrix<double> a;
  const Index n = 20000;
  a.rows = a.cols = n;
  for (Index i = 0; i < n; ++i) {
    if (i == 0) {
      for (Index j = 0; j < n / 2; ++j) {
        a.columns.push_back(j);
        a.values.push_back(j == 0 ? n : -1.0);
      }
    } else {
      if (i < n / 2) {
        a.columns.push_back(0);
        a.values.push_back(-1);
      }
      if (i % 3 != 0 || i < n / 2) {
        a.columns.push_back(i);
        a.values.push_back(2);
      }
    }
    a.row_offsets.push_back(a.nonzeros());
  }
  const std::vector<double> b = right_hand_side<double>(a);
  std::vector<double> x(b.size());
  const SolveReport report = solve<double>(a, b, x, options());
  EXPECT_EQ(report.reason, StopReason::converged) << report.message();
  EXPECT_LE(true_residual<double>(a, b, x), 1e-8);
}

INSTANTIATE_TEST_SUITE_P(Targets, Reasons, testing::ValuesIn(kTargets),
                         [](const auto& parameter) { return target_name(parameter.param); });

// --- The object ---

TEST(ConjugateGradientObject, RefusesWhatItCannotSolve) {
  const CgOptions cpu = {.device = DeviceKind::cpu};
  const auto asymmetric = dense<double>({{2, 1}, {0, 2}});
  EXPECT_THROW((ConjugateGradient<double>(asymmetric, cpu)), Error);
  CsrMatrix<double> rectangular = generate<double>("poisson2d:2:2");
  rectangular.cols = 5;
  EXPECT_THROW((ConjugateGradient<double>(rectangular, cpu)), Error);
  const auto a = generate<double>("poisson2d:2:2");
  EXPECT_THROW((ConjugateGradient<double>(a, {.tolerance = -1})), Error);
  EXPECT_THROW((ConjugateGradient<double>(a, {.tolerance = std::nan("")})), Error);
  EXPECT_THROW((ConjugateGradient<double>(a, {.max_iterations = -1})), Error);
  EXPECT_THROW((ConjugateGradient<double>(a, {.time_limit = 0})), Error);
}

TEST(ConjugateGradientObject, MovesAndOutlivesTheMatrix) {
  std::vector<double> b;
  ConjugateGradient<double> cg = [&] {
    const auto a = generate<double>("poisson2d:8:8");
    b = right_hand_side<double>(a);
    return ConjugateGradient<double>(a, {.device = DeviceKind::cpu});
  }();
  ConjugateGradient<double> moved = std::move(cg);
  std::vector<double> x(64);
  EXPECT_TRUE(moved.solve(b, x).converged());
  EXPECT_EQ(moved.rows(), 64);
  EXPECT_EQ(moved.device(), DeviceKind::cpu);
}

TEST(ConjugateGradientObject, DeviceVectorsNeedAGpu) {
  const auto a = generate<double>("poisson2d:2:2");
  ConjugateGradient<double> cg(a, {.device = DeviceKind::cpu});
  EXPECT_THROW(cg.solve(DeviceSpan<const double>{nullptr, 4}, DeviceSpan<double>{nullptr, 4}),
               Error);
}

TEST(ConjugateGradientObject, AskingForAGpuWhereThereIsNoneIsADeviceError) {
  if (has_gpu()) GTEST_SKIP() << "there is a GPU here";
  const auto a = generate<double>("poisson2d:2:2");
  try {
    ConjugateGradient<double> cg(a, {.device = DeviceKind::gpu});
    FAIL() << "no exception";
  } catch (const Error& error) {
    EXPECT_EQ(error.category(), ErrorCategory::device);
  }
}

}  // namespace
}  // namespace resident
