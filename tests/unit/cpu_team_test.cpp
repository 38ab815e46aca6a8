// The CPU team: synchronisation, merge-path cuts, packing, products, and whole solves.
#include <resident/conjugate_gradient.hpp>
#include <resident/error.hpp>
#include <resident/families.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "core/merge_path.hpp"
#include "cpu/barrier.hpp"
#include "cpu/kernels.hpp"
#include "cpu/packed_rows.hpp"
#include "cpu/team.hpp"

namespace resident {
namespace {

using cpu::PackedRows;
using cpu::RowGroup;
using cpu::slice_rows;

// --- Synchronisation -----------------------------------------------------------------------------

class Team : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Sizes, Team, testing::Values(1, 2, 3, 8));

TEST_P(Team, BarrierOrdersPlainMemory) {
  const int members = GetParam();
  cpu::Barrier barrier(members);
  std::vector<int> round_of(static_cast<std::size_t>(members), -1);
  std::atomic<int> disagreements = 0;
  cpu::run_team(members, [&](int rank) {
    for (int round = 0; round < 1000; ++round) {
      round_of[static_cast<std::size_t>(rank)] = round;
      barrier.arrive_and_wait();
      for (const int seen : round_of) disagreements += seen != round;
      barrier.arrive_and_wait();
    }
  });
  EXPECT_EQ(disagreements, 0);
}

TEST_P(Team, AllMembersGetTheSumInMemberOrder) {
  const int members = GetParam();
  // Terms of such different size that another order gives other bits.
  const auto term = [](int rank, int round) { return std::pow(10.0, (rank * 7 + round) % 17) / 3; };
  cpu::AllReduce<double> reduction(members);
  std::atomic<int> wrong = 0;
  cpu::run_team(members, [&](int rank) {
    for (int round = 0; round < 2000; ++round) {
      double expected = term(0, round);
      for (int other = 1; other < members; ++other) expected += term(other, round);
      wrong += reduction.sum(rank, term(rank, round)) != expected;
    }
  });
  EXPECT_EQ(wrong, 0);
}

TEST_P(Team, MembersThatComeLateAreWaitedForAsleep) {
  const int members = GetParam();
  cpu::AllReduce<int> reduction(members);
  cpu::run_team(members, [&](int rank) {
    for (int round = 0; round < 3; ++round) {
      if (rank == round % members) std::this_thread::sleep_for(std::chrono::milliseconds(20));
      EXPECT_EQ(reduction.sum(rank, 1), members);
    }
  });
}

TEST_P(Team, ThrowsWhatTheLowestRankThrew) {
  const int members = GetParam();
  std::atomic<int> calls = 0;
  const auto fail = [&](int rank) {
    ++calls;
    if (rank >= members / 2) throw std::runtime_error(std::to_string(rank));
  };
  try {
    cpu::run_team(members, fail);
    FAIL() << "nothing was thrown";
  } catch (const std::runtime_error& error) {
    EXPECT_EQ(error.what(), std::to_string(members / 2));
  }
  EXPECT_EQ(calls, members);
}

// --- Merge path ----------------------------------------------------------------------------------

TEST(MergePath, SearchAgreesWithTheWalk) {
  std::mt19937 random(1);
  for (int trial = 0; trial < 300; ++trial) {
    std::vector<Offset> ends(random() % 9);
    Offset nonzeros = 0;
    for (Offset& end : ends) {
      nonzeros += random() % 3 == 0 ? 0 : static_cast<Offset>(random() % 6);
      end = nonzeros;
    }
    const auto rows = static_cast<Offset>(ends.size());
    MergeCoordinate walk;
    for (Offset diagonal = 0; diagonal <= rows + nonzeros; ++diagonal) {
      const MergeCoordinate found = merge_path_search(diagonal, ends.data(), rows, nonzeros);
      ASSERT_EQ(found.row, walk.row);
      ASSERT_EQ(found.nonzero, walk.nonzero);
      const bool row_ends =
          walk.row < rows && ends[static_cast<std::size_t>(walk.row)] <= walk.nonzero;
      ++(row_ends ? walk.row : walk.nonzero);
    }
  }
}

TEST(MergePath, CutsBalanceADenseRow) {
  const auto a = generate<double>("arrow:1000");
  const int members = 7;
  const auto cuts = cpu::cut_rows(a.row_offsets, members);
  ASSERT_EQ(cuts.size(), 8u);
  EXPECT_EQ(cuts.front().row, 0);
  EXPECT_EQ(cuts.back().row, a.rows);
  EXPECT_EQ(cuts.back().nonzero, a.nonzeros());
  const Offset share = (a.rows + a.nonzeros()) / members;
  for (std::size_t i = 0; i + 1 < cuts.size(); ++i) {
    const Offset work = cuts[i + 1].row - cuts[i].row + cuts[i + 1].nonzero - cuts[i].nonzero;
    EXPECT_GE(work, share);
    EXPECT_LE(work, share + 1);
  }
}

// --- Packing -------------------------------------------------------------------------------------

CsrMatrix<double> from_dense(Index rows, const std::function<double(Index, Index)>& entry) {
  CsrMatrix<double> a{.rows = rows, .cols = rows, .row_offsets = {0}, .columns = {}, .values = {}};
  for (Index i = 0; i < rows; ++i) {
    for (Index j = 0; j < rows; ++j) {
      if (entry(i, j) == 0) continue;
      a.columns.push_back(j);
      a.values.push_back(entry(i, j));
    }
    a.row_offsets.push_back(a.nonzeros());
  }
  return a;
}

// Irregular, with empty rows and one dense row and column; each row has a value of its own.
CsrMatrix<double> irregular(Index rows, double smallest) {
  return from_dense(rows, [=](Index i, Index j) {
    const Index low = std::min(i, j), high = std::max(i, j);
    if (low % 11 == 5 || high % 11 == 5) return 0.0;
    if (low == high) return 100.0 + low;
    return low == 2 || (low * 31 + high * 17) % 23 == 0 ? -smallest * (1 + low % 3) : 0.0;
  });
}

// Adds all that is packed to a dense copy; zeros are padding.
template <class Value, class Column>
void unpack(const PackedRows<Value, Column>& packed, Index rows, std::vector<double>& dense) {
  const Value* value = packed.values.data();
  const Column* column = packed.columns.data();
  const Index* distance = packed.distances.data();
  const Index* length = packed.lengths.data();
  const auto add = [&](Index row, Index col) {
    ASSERT_TRUE(col >= 0 && col < rows) << "row " << row << ", column " << col;
    dense[static_cast<std::size_t>(row) * static_cast<std::size_t>(rows) +
          static_cast<std::size_t>(col)] += static_cast<double>(*value++);
  };
  const auto add_row = [&](Index row, Index entries) {
    for (Index k = 0; k < entries; ++k) add(row, row + *column++);
  };
  Index row = packed.first_row;
  for (const RowGroup& group : packed.groups) {
    const Index end = row + group.rows;
    if (group.width == RowGroup::row_by_row) {
      for (; row < end; ++row) add_row(row, *length++);
      continue;
    }
    ASSERT_EQ(group.rows % slice_rows, 0);
    for (; row < end; row += slice_rows) {
      for (Index k = 0; k < group.width; ++k) {
        for (Index lane = 0; lane < slice_rows; ++lane) add(row + lane, row + lane + distance[k]);
      }
    }
    distance += group.width;
  }
  EXPECT_EQ(row, packed.first_row + packed.rows);
  add_row(row, packed.tail_length);
  EXPECT_EQ(value, packed.values.data() + packed.values.size());
  EXPECT_EQ(column, packed.columns.data() + packed.columns.size());
}

std::vector<double> dense_copy(const CsrMatrix<double>& a) {
  const auto rows = static_cast<std::size_t>(a.rows);
  std::vector<double> dense(rows * rows, 0.0);
  for (std::size_t i = 0; i < rows; ++i) {
    for (auto k = static_cast<std::size_t>(a.row_offsets[i]);
         k < static_cast<std::size_t>(a.row_offsets[i + 1]); ++k) {
      dense[i * rows + static_cast<std::size_t>(a.columns[k])] = a.values[k];
    }
  }
  return dense;
}

void expect_unpacks(const CsrMatrix<double>& a, int members) {
  SCOPED_TRACE(std::to_string(members) + " members");
  const auto cuts = cpu::cut_rows(a.row_offsets, members);
  std::vector<double> dense(dense_copy(a).size(), 0.0);
  for (std::size_t i = 0; i + 1 < cuts.size(); ++i) {
    const auto packed = cpu::pack_rows<double>(a, cuts[i], cuts[i + 1]);
    std::visit([&](const auto& part) { unpack(part, a.rows, dense); }, packed);
  }
  EXPECT_EQ(dense, dense_copy(a));
}

TEST(Packing, LosesNothing) {
  const std::vector<CsrMatrix<double>> matrices = {
      irregular(83, 0.1),
      irregular(64, 0.5),
      generate<double>("poisson2d:9:11"),
      generate<double>("box27:8:4:4"),
      generate<double>("arrow:90"),
      generate<double>("elasticity3d:2:2:3"),
      from_dense(1, [](Index, Index) { return 3.0; }),
      from_dense(20, [](Index, Index) { return 0.0; }),
  };
  for (std::size_t i = 0; i < matrices.size(); ++i) {
    SCOPED_TRACE("matrix " + std::to_string(i));
    for (const int members : {1, 2, 3, 8, 40}) expect_unpacks(matrices[i], members);
  }
}

template <class Value, class Column>
bool packs_as(const CsrMatrix<double>& a) {
  const auto cuts = cpu::cut_rows(a.row_offsets, 1);
  const auto packed = cpu::pack_rows<double>(a, cuts[0], cuts[1]);
  return std::holds_alternative<PackedRows<Value, Column>>(packed);
}

// A diagonal matrix with one entry far from the diagonal.
CsrMatrix<double> with_far_entry(Index distance, double value) {
  CsrMatrix<double> a;
  a.rows = a.cols = distance + 1;
  a.columns.push_back(0);
  a.values.push_back(1);
  a.columns.push_back(distance);
  a.values.push_back(value);
  a.row_offsets.push_back(2);
  for (Index i = 1; i <= distance; ++i) {
    a.columns.push_back(i);
    a.values.push_back(1);
    a.row_offsets.push_back(a.nonzeros());
  }
  return a;
}

TEST(Packing, TakesTheSmallestFormatThatIsExact) {
  EXPECT_TRUE((packs_as<float, std::int16_t>(with_far_entry(32767, 0.5))));
  EXPECT_TRUE((packs_as<float, std::int32_t>(with_far_entry(32768, 0.5))));
  EXPECT_TRUE((packs_as<double, std::int16_t>(with_far_entry(32767, 0.1))));
  EXPECT_TRUE((packs_as<double, std::int32_t>(with_far_entry(32768, 0.1))));
  EXPECT_TRUE((packs_as<double, std::int16_t>(with_far_entry(9, 1e300))));
  EXPECT_TRUE((packs_as<double, std::int16_t>(with_far_entry(9, 1e-300))));
  EXPECT_TRUE((packs_as<double, std::int16_t>(with_far_entry(9, std::nan("")))));
}

TEST(Packing, GridsLieByDiagonals) {
  const auto a = generate<double>("poisson3d:16:16:16");
  const auto cuts = cpu::cut_rows(a.row_offsets, 1);
  const auto packed = cpu::pack_rows<double>(a, cuts[0], cuts[1]);
  const auto& part = std::get<PackedRows<float, std::int16_t>>(packed);
  Index by_diagonals = 0;
  for (const RowGroup& group : part.groups) {
    if (group.width == RowGroup::row_by_row) continue;
    by_diagonals += group.rows;
    EXPECT_LE(group.width, 7);
  }
  EXPECT_GE(by_diagonals, a.rows * 9 / 10);
}

// --- Products ------------------------------------------------------------------------------------

TEST(Multiply, PartsAndCarriesMakeTheProduct) {
  const std::vector<CsrMatrix<double>> matrices = {
      irregular(83, 0.1), irregular(200, 0.5), generate<double>("poisson2d:24:11"),
      generate<double>("arrow:300"), generate<double>("graph:500:8:1")};
  for (const auto& a : matrices) {
    const auto rows = static_cast<std::size_t>(a.rows);
    std::vector<double> in(rows), expected(rows);
    for (std::size_t i = 0; i < rows; ++i) in[i] = std::sin(double(i) + 1);
    multiply<double>(a, in, expected);
    for (const int members : {1, 2, 3, 8, 64}) {
      const auto cuts = cpu::cut_rows(a.row_offsets, members);
      std::vector<double> out(rows, -1.0), carries(static_cast<std::size_t>(members));
      double dot = 0;
      for (std::size_t m = 0; m < carries.size(); ++m) {
        const auto packed = cpu::pack_rows<double>(a, cuts[m], cuts[m + 1]);
        dot += cpu::multiply(packed, in.data(), out.data(), carries[m]);
      }
      for (int m = 0; m < members; ++m) {
        for (int from = cpu::first_carry(cuts, a.row_offsets, m); from < m; ++from) {
          out[static_cast<std::size_t>(cuts[static_cast<std::size_t>(m)].row)] +=
              carries[static_cast<std::size_t>(from)];
        }
      }
      double expected_dot = 0;
      for (std::size_t i = 0; i < rows; ++i) {
        EXPECT_NEAR(out[i], expected[i], 1e-9) << "row " << i << ", " << members << " members";
        expected_dot += in[i] * expected[i];
      }
      EXPECT_NEAR(dot, expected_dot, 1e-8);
    }
  }
}

TEST(Multiply, FloatValuesGiveTheBitsOfDoubleValues) {
  // 0.5 is a float; the last row, whose value is not, makes the other matrix store doubles.
  const auto narrow = irregular(80, 0.5);
  auto wide = narrow;
  wide.values.back() = 0.1;
  std::vector<double> in(80), narrow_out(80), wide_out(80);
  for (std::size_t i = 0; i < 80; ++i) in[i] = std::cos(double(i));
  const auto product = [&](const CsrMatrix<double>& a, std::vector<double>& out) {
    const auto cuts = cpu::cut_rows(a.row_offsets, 1);
    double carry = 0;
    cpu::multiply(cpu::pack_rows<double>(a, cuts[0], cuts[1]), in.data(), out.data(), carry);
  };
  ASSERT_TRUE((packs_as<float, std::int16_t>(narrow)));
  ASSERT_TRUE((packs_as<double, std::int16_t>(wide)));
  product(narrow, narrow_out);
  product(wide, wide_out);
  narrow_out.pop_back();
  wide_out.pop_back();
  EXPECT_EQ(narrow_out, wide_out);
}

// --- Solves --------------------------------------------------------------------------------------

struct Case {
  std::string family;
  int threads;
  Recurrence recurrence;
};

std::string case_name(const testing::TestParamInfo<Case>& info) {
  std::string text = info.param.family + "_" + std::to_string(info.param.threads) + "_" +
                     std::string(name(info.param.recurrence));
  for (char& c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  }
  return text;
}

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const char* family :
       {"poisson2d:37:23", "box27:9:8:10", "trefethen:500", "arrow:1000", "elasticity3d:4:3:4",
        "jump3d:8:9:10:1000", "graph:2000:8:1", "mass3d:6:7:8", "poisson2d:1:1", "poisson2d:5:1"}) {
    for (const int threads : {1, 2, 3, 8}) {
      for (const auto recurrence : {Recurrence::classic, Recurrence::single_reduction}) {
        cases.push_back({family, threads, recurrence});
      }
    }
  }
  return cases;
}

template <class T>
CgOptions options_of(const Case& c) {
  return {.tolerance = std::is_same_v<T, float> ? 1e-4 : 1e-9,
          .recurrence = c.recurrence,
          .device = DeviceKind::cpu,
          .threads = c.threads,
          .history = true};
}

template <class T>
double relative_residual(const CsrMatrix<T>& a, const std::vector<T>& b, const std::vector<T>& x) {
  double residual = 0, rhs = 0;
  for (std::size_t i = 0; i < b.size(); ++i) {
    auto sum = static_cast<double>(b[i]);
    for (auto k = static_cast<std::size_t>(a.row_offsets[i]);
         k < static_cast<std::size_t>(a.row_offsets[i + 1]); ++k) {
      sum -= static_cast<double>(a.values[k]) *
             static_cast<double>(x[static_cast<std::size_t>(a.columns[k])]);
    }
    residual += sum * sum;
    rhs += static_cast<double>(b[i]) * static_cast<double>(b[i]);
  }
  return std::sqrt(residual / rhs);
}

double dot(const std::vector<double>& u, const std::vector<double>& v) {
  double sum = 0;
  for (std::size_t i = 0; i < u.size(); ++i) sum += u[i] * v[i];
  return sum;
}

// Plain conjugate gradients with the Jacobi preconditioner, in its textbook form.
int textbook_iterations(const CsrMatrix<double>& a, const std::vector<double>& b,
                        double tolerance) {
  std::vector<double> diagonal(b.size()), r = b, z(b.size()), p(b.size()), s(b.size());
  for (std::size_t i = 0; i < b.size(); ++i) {
    for (auto k = static_cast<std::size_t>(a.row_offsets[i]);
         k < static_cast<std::size_t>(a.row_offsets[i + 1]); ++k) {
      if (a.columns[k] == static_cast<Index>(i)) diagonal[i] = a.values[k];
    }
  }
  double rz = 0;
  for (int iteration = 0; iteration < 10000; ++iteration) {
    if (dot(r, r) <= tolerance * tolerance * dot(b, b)) return iteration;
    for (std::size_t i = 0; i < b.size(); ++i) z[i] = r[i] / diagonal[i];
    const double next = dot(r, z);
    for (std::size_t i = 0; i < b.size(); ++i) p[i] = z[i] + (rz > 0 ? next / rz : 0) * p[i];
    rz = next;
    multiply<double>(a, p, s);
    const double alpha = rz / dot(p, s);
    for (std::size_t i = 0; i < b.size(); ++i) r[i] -= alpha * s[i];
  }
  return 10000;
}

class CpuSolve : public testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(All, CpuSolve, testing::ValuesIn(all_cases()), case_name);

TEST_P(CpuSolve, MeetsTheToleranceInTextbookIterations) {
  const auto a = generate<double>(GetParam().family);
  const auto rows = static_cast<std::size_t>(a.rows);
  std::vector<double> solution(rows), b(rows), x(rows, 0.0);
  for (std::size_t i = 0; i < rows; ++i) solution[i] = 1 + double(i % 7);
  multiply<double>(a, solution, b);
  ConjugateGradient<double> cg(a, options_of<double>(GetParam()));
  const SolveReport report = cg.solve(b, x);
  EXPECT_EQ(report.reason, StopReason::converged) << report.message();
  EXPECT_LE(relative_residual(a, b, x), 1.01e-9);
  EXPECT_NEAR(report.relative_residual(), relative_residual(a, b, x), 1e-12);
  const int expected = textbook_iterations(a, b, 1e-9);
  EXPECT_LE(std::abs(double(report.iterations) - expected), 0.05 * expected + 2)
      << report.iterations << " iterations, textbook " << expected;
  ASSERT_EQ(report.history.size(), static_cast<std::size_t>(report.iterations) + 1);
  EXPECT_DOUBLE_EQ(report.history.front(), report.rhs_norm);
  EXPECT_LE(report.history.back(), 1e-9 * report.rhs_norm);
}

TEST_P(CpuSolve, RepeatsToTheLastBit) {
  const auto a = generate<double>(GetParam().family);
  const auto rows = static_cast<std::size_t>(a.rows);
  const std::vector<double> b(rows, 1.0);
  std::vector<double> first(rows, 0.0);
  SolveReport first_report;
  for (int run = 0; run < 3; ++run) {
    ConjugateGradient<double> cg(a, options_of<double>(GetParam()));
    std::vector<double> x(rows, 0.0);
    const SolveReport report = cg.solve(b, x);
    if (run == 0) {
      first = x;
      first_report = report;
    }
    EXPECT_EQ(0, std::memcmp(x.data(), first.data(), rows * sizeof(double)));
    EXPECT_EQ(report.history, first_report.history);
  }
}

TEST_P(CpuSolve, SolvesInFloat) {
  const auto a = generate<float>(GetParam().family);
  const auto rows = static_cast<std::size_t>(a.rows);
  const std::vector<float> ones(rows, 1.0f);
  std::vector<float> b(rows), x(rows, 0.0f);
  multiply<float>(a, ones, b);
  ConjugateGradient<float> cg(a, options_of<float>(GetParam()));
  const SolveReport report = cg.solve(b, x);
  EXPECT_EQ(report.reason, StopReason::converged) << report.message();
  EXPECT_LE(relative_residual(a, b, x), 1.1e-4);
}

TEST(CpuReport, NamesTeamAndFormats) {
  const auto a = generate<double>("poisson2d:64:64");
  const std::vector<double> b(64 * 64, 1.0);
  std::vector<double> x(64 * 64, 0.0);
  ConjugateGradient<double> cg(a, {.device = DeviceKind::cpu, .threads = 2});
  const SolveReport report = cg.solve(b, x);
  EXPECT_EQ(cg.options().recurrence, Recurrence::classic);
  EXPECT_EQ(report.device, "CPU, 2 threads");
  EXPECT_EQ(report.plan.rfind("cpu team of 2, classic, 16-bit columns, float values, ", 0), 0u)
      << report.plan;
  EXPECT_GT(report.iteration_seconds, 0);
  EXPECT_GE(report.solve_seconds, report.iteration_seconds);
}

TEST(CpuReport, SmallSystemsGetOneThread) {
  const auto a = generate<double>("poisson2d:10:10");
  const std::vector<double> b(100, 1.0);
  std::vector<double> x(100, 0.0);
  ConjugateGradient<double> cg(a, {.device = DeviceKind::cpu});
  EXPECT_EQ(cg.solve(b, x).device, "CPU, 1 thread");
}

TEST(CpuEdges, NoRows) {
  const CsrMatrix<double> a;
  for (const int threads : {1, 3}) {
    ConjugateGradient<double> cg(a, {.device = DeviceKind::cpu, .threads = threads});
    std::vector<double> x;
    const SolveReport report = cg.solve(std::span<const double>(), x);
    EXPECT_EQ(report.reason, StopReason::converged);
    EXPECT_EQ(report.iterations, 0);
  }
}

TEST(CpuEdges, EmptyRowsAndRowsOfOthers) {
  const auto a = irregular(83, 0.1);
  std::vector<double> ones(83, 1.0), b(83);
  multiply<double>(a, ones, b);
  for (const auto recurrence : {Recurrence::classic, Recurrence::single_reduction}) {
    for (const int threads : {1, 2, 5, 16, 100}) {
      ConjugateGradient<double> cg(
          a, {.recurrence = recurrence, .device = DeviceKind::cpu, .threads = threads});
      std::vector<double> x(83, 0.0);
      const SolveReport report = cg.solve(b, x);
      EXPECT_EQ(report.reason, StopReason::converged) << report.message();
      EXPECT_LE(relative_residual(a, b, x), 1e-8);
    }
  }
}

TEST(CpuEdges, ExactGuessKeepsItsBits) {
  const auto a = generate<double>("trefethen:300");  // scaled, since its diagonal varies
  std::vector<double> guess(300), b(300);
  for (std::size_t i = 0; i < 300; ++i) guess[i] = 1.0 / (3.0 + double(i));
  multiply<double>(a, guess, b);
  auto x = guess;
  ConjugateGradient<double> cg(a, {.device = DeviceKind::cpu, .threads = 2});
  const SolveReport report = cg.solve(b, x);
  EXPECT_EQ(report.reason, StopReason::converged);
  EXPECT_EQ(report.iterations, 0);
  EXPECT_EQ(x, guess);
}

TEST(CpuEdges, ZeroRightHandSideGivesZero) {
  const auto a = generate<double>("poisson2d:8:8");
  const std::vector<double> b(64, 0.0);
  std::vector<double> x(64, 5.0);
  ConjugateGradient<double> cg(a, {.device = DeviceKind::cpu, .threads = 3});
  EXPECT_EQ(cg.solve(b, x).reason, StopReason::converged);
  EXPECT_EQ(x, std::vector<double>(64, 0.0));
}

TEST(CpuEdges, TooManyThreadsAreRefused) {
  const auto a = generate<double>("poisson2d:8:8");
  try {
    ConjugateGradient<double> cg(a, {.device = DeviceKind::cpu, .threads = 1000000});
    FAIL() << "a million threads were accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.category(), ErrorCategory::usage);
  }
}

// A solve that nothing but the host ends: the tolerance cannot be met, the limit is far away.
CgOptions endless(int threads, Recurrence recurrence) {
  return {.tolerance = 1e-300,
          .max_iterations = 1000000000,
          .recurrence = recurrence,
          .device = DeviceKind::cpu,
          .threads = threads};
}

class HostRequest : public testing::TestWithParam<Case> {
 protected:
  SolveReport solve(const CgOptions& options) {
    const std::vector<double> b(static_cast<std::size_t>(a_.rows), 1.0);
    std::vector<double> x(b.size(), 0.0);
    ConjugateGradient<double> cg(a_, options);
    return cg.solve(b, x);
  }

  CgOptions options() const { return endless(GetParam().threads, GetParam().recurrence); }

  // Ill-conditioned, so that thousands of iterations pass before anything stagnates.
  const CsrMatrix<double> a_ = generate<double>("anisotropic2d:400:400:0.00001");
};
INSTANTIATE_TEST_SUITE_P(All, HostRequest,
                         testing::Values(Case{"a", 1, Recurrence::classic},
                                         Case{"a", 2, Recurrence::classic},
                                         Case{"a", 3, Recurrence::single_reduction}),
                         case_name);

TEST_P(HostRequest, RaisedFlagCancels) {
  std::atomic<bool> cancel = true;
  CgOptions o = options();
  o.cancel = &cancel;
  const SolveReport report = solve(o);
  EXPECT_EQ(report.reason, StopReason::cancelled);
  EXPECT_LE(report.iterations, 1);
}

TEST_P(HostRequest, FlagRaisedDuringTheSolveCancels) {
  std::atomic<bool> cancel = false;
  CgOptions o = options();
  o.cancel = &cancel;
  o.progress_interval = 0;
  o.progress = [&](const Progress& p) {
    if (p.iteration == 20) cancel = true;
  };
  const SolveReport report = solve(o);
  EXPECT_EQ(report.reason, StopReason::cancelled);
  EXPECT_GE(report.iterations, 20);
  EXPECT_LE(report.iterations, 22);
}

TEST_P(HostRequest, TimeLimitEndsTheSolve) {
  CgOptions o = options();
  o.time_limit = 0.02;
  const SolveReport report = solve(o);
  EXPECT_EQ(report.reason, StopReason::time_limit);
  EXPECT_GE(report.solve_seconds, 0.02);
}

TEST_P(HostRequest, ProgressIsReportedAndItsExceptionLeaves) {
  CgOptions o = options();
  std::vector<std::int64_t> iterations;
  o.progress_interval = 0;
  o.progress = [&](const Progress& p) {
    iterations.push_back(p.iteration);
    EXPECT_EQ(p.rhs_norm, 400.0);
    EXPECT_GE(p.seconds, 0);
    if (p.iteration == 5) throw std::runtime_error("enough");
  };
  EXPECT_THROW(solve(o), std::runtime_error);
  EXPECT_EQ(iterations[5], 5);
  EXPECT_LE(iterations.size(), 8u);
}

}  // namespace
}  // namespace resident
