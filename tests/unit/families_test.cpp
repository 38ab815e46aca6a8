// Generated families: definite, symmetric, the entries that their definitions say.
#include <gtest/gtest.h>
#include <resident/error.hpp>
#include <resident/families.hpp>
#include <resident/matrix_market.hpp>

#include <Eigen/SparseCholesky>
#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>

#include "../matrix_path.hpp"

namespace resident {
namespace {

template <class T>
Eigen::SparseMatrix<T> to_eigen(const CsrMatrix<T>& a) {
  const std::vector<int> offsets(a.row_offsets.begin(), a.row_offsets.end());
  return Eigen::Map<const Eigen::SparseMatrix<T, Eigen::RowMajor>>(
      a.rows, a.cols, std::ssize(a.values), offsets.data(), a.columns.data(), a.values.data());
}

template <class T>
T entry(const CsrMatrix<T>& a, Index row, Index column) {
  for (Offset k = a.row_offsets[static_cast<std::size_t>(row)];
       k < a.row_offsets[static_cast<std::size_t>(row) + 1]; ++k) {
    if (a.columns[static_cast<std::size_t>(k)] == column) {
      return a.values[static_cast<std::size_t>(k)];
    }
  }
  return 0;
}

std::vector<double> product(const CsrMatrix<double>& a, const std::vector<double>& x) {
  std::vector<double> y(static_cast<std::size_t>(a.rows));
  multiply<double>(a, x, y);
  return y;
}

std::vector<double> row_sums(const CsrMatrix<double>& a) {
  return product(a, std::vector<double>(static_cast<std::size_t>(a.cols), 1.0));
}

template <class T>
bool equal(const CsrMatrix<T>& a, const CsrMatrix<T>& b) {
  return a.rows == b.rows && a.cols == b.cols && a.row_offsets == b.row_offsets &&
         a.columns == b.columns && a.values == b.values;
}

class Definite : public testing::TestWithParam<const char*> {
 protected:
  template <class T>
  void check() {
    const CsrMatrix<T> a = generate<T>(GetParam());
    CsrChecks exact;
    exact.symmetry_tolerance = 0;
    EXPECT_NO_THROW(validate<T>(a, exact));
    const Eigen::SimplicialLLT<Eigen::SparseMatrix<T>> factor(to_eigen(a));
    EXPECT_EQ(factor.info(), Eigen::Success);
  }
};

TEST_P(Definite, Float) { check<float>(); }
TEST_P(Definite, Double) { check<double>(); }

INSTANTIATE_TEST_SUITE_P(
    Families, Definite,
    testing::Values("poisson2d:1:1", "poisson2d:1:9", "poisson2d:9:1", "poisson2d:31:17",
                    "poisson3d:1:1:1", "poisson3d:1:1:7", "poisson3d:7:9:8", "box9:1:1",
                    "box9:13:21", "box27:1:1:1", "box27:2:1:3", "box27:7:6:9", "trefethen:1",
                    "trefethen:2", "trefethen:5", "trefethen:2000", "elasticity3d:1:2:2",
                    "elasticity3d:2:3:4", "elasticity3d:7:6:5", "anisotropic2d:1:1:1",
                    "anisotropic2d:20:30:0.001", "anisotropic2d:20:30:1000",
                    "anisotropic2d:30:20:1e-8", "jump3d:1:1:1:5", "jump3d:10:9:11:1000",
                    "jump3d:9:12:10:1e-6", "jump3d:12:12:12:1e8", "mass3d:2:2:2", "mass3d:6:5:7",
                    "graph:4:1:0", "graph:1000:4:1", "graph:1000:250:18446744073709551615",
                    "arrow:1", "arrow:2", "arrow:1000"),
    [](const auto& test) {
      std::string name = test.param;
      std::ranges::replace_if(
          name, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
      return name;
    });

TEST(Families, EveryFamilyIsListedAndGenerated) {
  std::set<std::string> names;
  for (const Family& family : families()) {
    names.emplace(family.name);
    EXPECT_FALSE(family.description.empty());
    EXPECT_TRUE(is_family(std::string(family.name) + ":1"));
    EXPECT_FALSE(is_family(family.name));
    const auto parameters = 1 + std::count(family.parameters.begin(), family.parameters.end(), ':');
    std::string specification(family.name);
    for (int k = 0; k < parameters; ++k)
      specification += family.name == "graph" && k == 0 ? ":9" : ":2";
    EXPECT_NO_THROW(generate<double>(specification)) << specification;
  }
  EXPECT_EQ(names.size(), 11U);
  EXPECT_FALSE(is_family("matrix.mtx"));
  EXPECT_FALSE(is_family("poisson4d:1:1"));
  EXPECT_FALSE(is_family("folder:poisson2d:3:3"));
  EXPECT_FALSE(is_family(""));
}

TEST(Families, BadSpecificationsSayWhatWasExpected) {
  const std::map<std::string, std::string> cases{
      {"", "no family is named ''"},
      {"laplace:3", "no family is named 'laplace', expected one of poisson2d, poisson3d"},
      {"poisson2d", "found 0 parameters, expected poisson2d:NX:NY"},
      {"poisson2d:3", "found 1 parameters, expected poisson2d:NX:NY"},
      {"poisson2d:3:4:5", "found 3 parameters"},
      {"poisson2d:3:", "NY is '', expected an integer from 1 to 2147483647"},
      {"poisson2d:3:x", "NY is 'x'"},
      {"poisson2d:0:3", "NX is '0'"},
      {"poisson2d:-3:3", "NX is '-3'"},
      {"poisson2d:+3:3", "NX is '+3'"},
      {"poisson2d: 3:3", "NX is ' 3'"},
      {"poisson2d:3.5:3", "NX is '3.5'"},
      {"poisson2d:3e2:3", "NX is '3e2'"},
      {"poisson2d:99999999999:3", "NX is '99999999999'"},
      {"poisson2d:100000:100000", "more than 2147483647 rows"},
      {"poisson3d:2147483647:2147483647:2147483647", "more than 2147483647 rows"},
      {"elasticity3d:900:900:900", "more than 2147483647 rows"},
      {"elasticity3d:3:1:3", "NY is '1', expected an integer from 2"},
      {"mass3d:1:2:2", "NX is '1', expected an integer from 2"},
      {"anisotropic2d:3:3:0", "EPS is '0', expected a number from 1e-8 to 1e8"},
      {"anisotropic2d:3:3:-1", "EPS is '-1'"},
      {"anisotropic2d:3:3:nan", "EPS is 'nan'"},
      {"anisotropic2d:3:3:inf", "EPS is 'inf'"},
      {"jump3d:3:3:3:1e9", "CONTRAST is '1e9'"},
      {"jump3d:3:3:3:1e3x", "CONTRAST is '1e3x'"},
      {"trefethen:0", "N is '0'"},
      {"graph:3:1:0", "N is '3', expected an integer from 4"},
      {"graph:100:26:0", "DEGREE is '26', expected an integer from 1 to 25"},
      {"graph:100:4:-1", "SEED is '-1'"},
      {"arrow:", "N is ''"},
  };
  for (const auto& [specification, expected] : cases) {
    try {
      generate<double>(specification);
      ADD_FAILURE() << specification << " was accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.category(), ErrorCategory::usage);
      const std::string message = error.what();
      EXPECT_NE(message.find(expected), std::string::npos) << message;
      EXPECT_EQ(message.find(specification + ":"), 0U) << message;
    }
  }
}

TEST(Families, EqualTheirCopiesInTheCollections) {
  const std::map<std::string, std::string> copies{{"poisson2d:100:100", "lap2D_5pt_n100.mtx.gz"},
                                                  {"poisson3d:20:20:20", "lap3D_7pt_n20.mtx.gz"},
                                                  {"box9:30:30", "gr_30_30.mtx.gz"},
                                                  {"trefethen:2000", "Trefethen_2000.mtx.gz"}};
  for (const auto& [specification, file] : copies) {
    EXPECT_TRUE(
        equal(generate<double>(specification), read_matrix_market<double>(matrix_path(file))))
        << specification;
  }
}

TEST(Families, LaplaciansCountTheirNeighbours) {
  const auto a = generate<double>("poisson3d:4:3:5");
  EXPECT_EQ(a.rows, 60);
  EXPECT_EQ(a.nonzeros(), 60 + 2 * (3 * 15 + 2 * 20 + 4 * 12));
  EXPECT_EQ(entry(a, 17, 17), 6);
  EXPECT_EQ(entry(a, 17, 18), -1);
  EXPECT_EQ(entry(a, 17, 21), -1);
  EXPECT_EQ(entry(a, 17, 29), -1);
  EXPECT_EQ(row_sums(a)[0], 3);
  EXPECT_EQ(row_sums(a)[17], 0);  // (1, 1, 1), an interior point

  const auto box = generate<double>("box27:4:3:5");
  EXPECT_EQ(box.nonzeros(), (3 * 4 - 2) * (3 * 3 - 2) * (3 * 5 - 2));
  EXPECT_EQ(row_sums(box)[17], 0);
  EXPECT_EQ(row_sums(box)[0], 26 - 7);
}

TEST(Families, LargeGridsMatchSmallOnes) {
  // Enough rows for several threads; the sum over all faces of the grid is known.
  const auto a = generate<double>("poisson2d:1000:300");
  double sum = 0;
  for (const double row : row_sums(a)) sum += row;
  EXPECT_EQ(sum, 2 * (1000 + 300));
  EXPECT_NO_THROW(validate<double>(a));
}

TEST(Families, AnisotropyIsInY) {
  const auto a = generate<double>("anisotropic2d:5:4:0.25");
  EXPECT_EQ(entry(a, 6, 6), 2.5);
  EXPECT_EQ(entry(a, 6, 7), -1);
  EXPECT_EQ(entry(a, 6, 11), -0.25);
  EXPECT_EQ(row_sums(a)[6], 0);
}

TEST(Families, JumpsAreHarmonicMeansBetweenBlocks) {
  EXPECT_TRUE(equal(generate<double>("jump3d:9:8:7:1"), generate<double>("poisson3d:9:8:7")));
  const auto a = generate<double>("jump3d:9:8:7:3");
  EXPECT_EQ(entry(a, 0, 1), -1);    // inside the first block
  EXPECT_EQ(entry(a, 3, 4), -1.5);  // 2 * 1 * 3 / (1 + 3), from cell 3 to 4 in x
  EXPECT_EQ(entry(a, 4, 5), -3);    // inside the second block
  EXPECT_EQ(entry(a, 27, 36), -1.5);
  EXPECT_EQ(entry(a, 3 * 72, 4 * 72), -1.5);
  EXPECT_EQ(entry(a, 0, 0), 6);
  EXPECT_EQ(row_sums(a)[0], 3);                   // three faces on the boundary, coefficient 1
  EXPECT_EQ(row_sums(a)[1 + 1 * 9 + 1 * 72], 0);  // an interior cell
  EXPECT_EQ(row_sums(a)[3 + 1 * 9 + 1 * 72], 0);  // an interior cell at a jump
}

TEST(Families, MassIntegratesConstantsAndLinearFunctions) {
  const auto a = generate<double>("mass3d:5:4:6");
  EXPECT_EQ(a.nonzeros(), (3 * 5 - 2) * (3 * 4 - 2) * (3 * 6 - 2));
  EXPECT_DOUBLE_EQ(entry(a, 0, 0), 1.0 / 27);
  EXPECT_DOUBLE_EQ(entry(a, 26, 26), 8.0 / 27);  // (1, 1, 1)
  std::vector<double> x(static_cast<std::size_t>(a.rows));
  for (std::size_t k = 0; k < x.size(); ++k) x[k] = static_cast<double>(k % 5);
  double volume = 0, square = 0;
  for (const double row : row_sums(a)) volume += row;
  const auto ax = product(a, x);
  for (std::size_t k = 0; k < x.size(); ++k) square += x[k] * ax[k];
  EXPECT_NEAR(volume, 4 * 3 * 5, 1e-12);
  EXPECT_NEAR(square, 4.0 * 4 * 4 / 3 * 3 * 5, 1e-11);  // integral of x^2 over the body
}

// A displacement of each node of elasticity3d:NX:NY:NZ; the first free layer lies at x = 1.
template <class Field>
std::vector<double> displace(Index nx, Index ny, Index nz, const Field& field) {
  std::vector<double> u;
  for (Index z = 0; z < nz; ++z) {
    for (Index y = 0; y < ny; ++y) {
      for (Index x = 1; x <= nx; ++x) {
        for (const double component : field(x, y, z)) u.push_back(component);
      }
    }
  }
  return u;
}

using Vector = std::array<double, 3>;

TEST(Elasticity, Sizes) {
  const auto a = generate<double>("elasticity3d:6:4:5");
  EXPECT_EQ(a.rows, 3 * 6 * 4 * 5);
  EXPECT_EQ(a.nonzeros(), 9 * (3 * 6 - 2) * (3 * 4 - 2) * (3 * 5 - 2));
}

TEST(Elasticity, RigidBodiesFeelNoForceAwayFromTheClamp) {
  const auto a = generate<double>("elasticity3d:6:4:5");
  const std::vector<std::vector<double>> motions{displace(6, 4, 5,
                                                          [](double, double, double) {
                                                            return Vector{1, 0, 0};
                                                          }),
                                                 displace(6, 4, 5,
                                                          [](double, double, double) {
                                                            return Vector{0, 1, 0};
                                                          }),
                                                 displace(6, 4, 5,
                                                          [](double, double, double) {
                                                            return Vector{0, 0, 1};
                                                          }),
                                                 displace(6, 4, 5,
                                                          [](double x, double y, double) {
                                                            return Vector{-y, x, 0};
                                                          }),
                                                 displace(6, 4, 5,
                                                          [](double x, double, double z) {
                                                            return Vector{z, 0, -x};
                                                          }),
                                                 displace(6, 4, 5, [](double, double y, double z) {
                                                   return Vector{0, -z, y};
                                                 })};
  for (const std::vector<double>& motion : motions) {
    const auto force = product(a, motion);
    double at_clamp = 0;
    for (std::size_t row = 0; row < force.size(); ++row) {
      if (row / 3 % 6 == 0) {
        at_clamp += std::abs(force[row]);
      } else {
        EXPECT_NEAR(force[row], 0, 1e-13) << "row " << row;
      }
    }
    EXPECT_GT(at_clamp, 0.1);
  }
}

TEST(Elasticity, UniformStrainHasTheEnergyOfTheMaterial) {
  const auto a = generate<double>("elasticity3d:6:4:5");
  const double volume = 6 * 3 * 4, lambda = 0.3 / (1.3 * 0.4), mu = 1 / 2.6;
  const auto energy = [&](const std::vector<double>& u) {
    const auto force = product(a, u);
    double sum = 0;
    for (std::size_t k = 0; k < u.size(); ++k) sum += u[k] * force[k];
    return sum;
  };
  const auto stretch = displace(6, 4, 5, [](double x, double, double) { return Vector{x, 0, 0}; });
  const auto shear_y = displace(6, 4, 5, [](double x, double, double) { return Vector{0, x, 0}; });
  const auto shear_z = displace(6, 4, 5, [](double x, double, double) { return Vector{0, 0, x}; });
  EXPECT_NEAR(energy(stretch), (lambda + 2 * mu) * volume, 1e-11);
  EXPECT_NEAR(energy(shear_y), mu * volume, 1e-11);
  EXPECT_NEAR(energy(shear_z), mu * volume, 1e-11);
}

// u = (x y, 0, 0) lies in the space of the elements and strains x and xy: exx = y, exy = x / 2.
TEST(Elasticity, VaryingStrainCouplesTheComponents) {
  const auto a = generate<double>("elasticity3d:6:4:5");
  const double lambda = 0.3 / (1.3 * 0.4), mu = 1 / 2.6;
  const auto u = displace(6, 4, 5, [](double x, double y, double) { return Vector{x * y, 0, 0}; });
  const auto v = displace(6, 4, 5, [](double x, double, double) { return Vector{0, x, 0}; });
  const auto force = product(a, u);
  double uu = 0, vu = 0;
  for (std::size_t k = 0; k < u.size(); ++k) {
    uu += u[k] * force[k];
    vu += v[k] * force[k];
  }
  const double y2 = 6 * 9.0 * 4, x2 = 72.0 * 3 * 4, x = 18.0 * 3 * 4;  // integrals over the body
  EXPECT_NEAR(uu, (lambda + 2 * mu) * y2 + mu * x2, 1e-10);
  EXPECT_NEAR(vu, mu * x, 1e-11);  // v has gamma_xy = 1
}

TEST(Trefethen, HasTheStartOfTheKnownMatrix) {
  const auto a = generate<double>("trefethen:20000");
  EXPECT_EQ(a.rows, 20'000);
  EXPECT_EQ(a.nonzeros(), 554'466);  // the matrix of the 100-digit challenge
  EXPECT_EQ(entry(a, 0, 0), 2);
  EXPECT_EQ(entry(a, 5, 5), 13);
  EXPECT_EQ(entry(a, 19'999, 19'999), 224'737);
  EXPECT_EQ(entry(a, 0, 16), 1);
  EXPECT_EQ(entry(a, 0, 15), 0);
  EXPECT_EQ(entry(a, 16'484, 100), 1);
}

TEST(Graph, DependsOnTheSeedAlone) {
  const auto a = generate<double>("graph:5000:8:42");
  EXPECT_TRUE(equal(a, generate<double>("graph:5000:8:42")));
  EXPECT_FALSE(equal(a, generate<double>("graph:5000:8:43")));
}

// Order-dependent sum of the columns: a change of the generator would change recorded results.
TEST(Graph, IsTheSameOnEveryMachine) {
  const auto a = generate<double>("graph:5000:8:42");
  std::uint64_t hash = 0;
  for (const Index column : a.columns) hash = hash * 31 + static_cast<std::uint64_t>(column);
  EXPECT_EQ(a.nonzeros(), 44'730);
  EXPECT_EQ(hash, 17'595'715'390'430'430'506U);
}

TEST(Graph, HasTheMeanDegreeAndIsAShiftedLaplacian) {
  const auto a = generate<double>("graph:20000:16:1");
  EXPECT_NEAR(static_cast<double>(a.nonzeros()), 20'000 * 17.0, 0.01 * 20'000 * 17.0);
  for (const double sum : row_sums(a)) EXPECT_NEAR(sum, 0.01, 1e-12);
  EXPECT_EQ(std::count(a.values.begin(), a.values.end(), -1.0), a.nonzeros() - a.rows);
}

// For the exponent 3, the vertices with a degree above d are about n (mean / (2 d))^2 many.
TEST(Graph, DegreesFollowAPowerLaw) {
  const auto a = generate<double>("graph:100000:16:3");
  for (const double d : {32.0, 64.0, 128.0, 256.0}) {
    const auto above =
        std::count_if(a.values.begin(), a.values.end(), [&](double value) { return value > d; });
    const double expected = 100'000 * (8 / d) * (8 / d);
    EXPECT_NEAR(static_cast<double>(above), expected, 0.25 * expected) << "degree " << d;
  }
}

TEST(Graph, HeavyVerticesAreSpreadOverTheRows) {
  const auto a = generate<double>("graph:100000:16:3");
  Offset first_half = 0;
  std::vector<Offset> heavy;
  for (std::size_t row = 0; row < 100'000; ++row) {
    if (a.row_offsets[row + 1] - a.row_offsets[row] <= 128) continue;
    heavy.push_back(static_cast<Offset>(row));
    first_half += row < 50'000;
  }
  ASSERT_GT(heavy.size(), 100U);
  EXPECT_NEAR(static_cast<double>(first_half) / static_cast<double>(heavy.size()), 0.5, 0.15);
}

TEST(Arrow, HasOneDenseRowAndColumn) {
  const auto a = generate<double>("arrow:7");
  EXPECT_EQ(a.nonzeros(), 7 + 2 * 6);
  EXPECT_EQ(entry(a, 0, 0), 7);
  EXPECT_EQ(entry(a, 0, 6), -1);
  EXPECT_EQ(entry(a, 6, 0), -1);
  EXPECT_EQ(entry(a, 6, 6), 2);
  EXPECT_EQ(row_sums(a), std::vector<double>(7, 1.0));
}

}  // namespace
}  // namespace resident
