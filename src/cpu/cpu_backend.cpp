// Conjugate gradients on a team of CPU threads that stays together for a whole solve.
#include <resident/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "cg/backend.hpp"
#include "cg/recurrences.hpp"
#include "core/cpu_threads.hpp"
#include "cpu/cg_member.hpp"
#include "cpu/packed_rows.hpp"
#include "cpu/team.hpp"

namespace resident::cg {
namespace {

using cpu::AnyPackedRows;
using cpu::CgMember;
using cpu::RowRange;
using cpu::TeamPart;
using cpu::TeamSolve;

constexpr int most_threads = 4096;

// All threads that there are, but no more than have enough to do between two barriers.
int choose_threads(int wanted, Offset rows, Offset nonzeros) {
  if (wanted > most_threads) {
    throw Error(ErrorCategory::usage,
                fmt::format("threads is {}, expected at most {}", wanted, most_threads));
  }
  if (wanted > 0) return wanted;
  constexpr Offset least_work = 20000;  // rows and nonzeros of a member
  const Offset useful = std::max<Offset>(1, (rows + nonzeros) / least_work);
  return static_cast<int>(std::min<Offset>(useful, available_cpu_threads()));
}

// Says in which formats the members' rows are packed.
template <class T>
std::string formats(std::span<const TeamPart<T>> parts) {
  bool short_columns = false, long_columns = false, float_values = false, double_values = false;
  Offset rows = 0, by_diagonals = 0;
  for (const TeamPart<T>& part : parts) {
    std::visit(
        [&]<class Value, class Column>(const cpu::PackedRows<Value, Column>& packed) {
          (sizeof(Column) == 2 ? short_columns : long_columns) = true;
          (sizeof(Value) == 4 ? float_values : double_values) = true;
          rows += packed.rows;
          for (const cpu::RowGroup& group : packed.groups) {
            if (group.width != cpu::RowGroup::row_by_row) by_diagonals += group.rows;
          }
        },
        part.packed);
  }
  return fmt::format(
      "{}-bit columns, {} values, {:.0f} % of the rows by diagonals",
      !long_columns   ? "16"
      : short_columns ? "16- and 32"
                      : "32",
      !double_values ? "float"
      : float_values ? "float and double"
                     : "double",
      rows > 0 ? 100.0 * static_cast<double>(by_diagonals) / static_cast<double>(rows) : 0.0);
}

template <class T>
class CpuBackend final : public CgBackend<T> {
 public:
  CpuBackend(CsrView<T> a, std::span<const T> preconditioner, const CgOptions& resolved)
      : preconditioner_(preconditioner.begin(), preconditioner.end()) {
    this->rows = a.rows;
    this->options = resolved;
    if (resolved.recurrence == Recurrence::automatic)
      this->options.recurrence = Recurrence::classic;
    parts_.resize(static_cast<std::size_t>(choose_threads(resolved.threads, a.rows, a.nonzeros())));
    allocate_vectors();
    pack(a);
    plan_ = fmt::format("cpu team of {}, {}, {}", parts_.size(), name(this->options.recurrence),
                        formats(std::span<const TeamPart<T>>(parts_)));
  }

  SolveReport solve(std::span<const T> b, std::span<T> x) override {
    const int members = static_cast<int>(parts_.size());
    TeamSolve<T> team{.parts = parts_,
                      .vectors = vectors_,
                      .preconditioner = preconditioner_,
                      .b = b,
                      .x = x,
                      .reduction = cpu::AllReduce<cpu::Contribution>(members),
                      .watch = cpu::HostWatch(this->options)};
    Outcome outcome;
    cpu::run_team(members, [&](int rank) {
      const Outcome own = this->options.recurrence == Recurrence::single_reduction
                              ? run_member<SingleReduction>(team, rank)
                              : run_member<Classic>(team, rank);
      if (rank == 0) outcome = own;
    });
    team.watch.rethrow();
    return report(outcome, team.watch);
  }

  SolveReport solve(DeviceSpan<const T>, DeviceSpan<T>, CUstream_st*) override {
    throw Error(ErrorCategory::usage, "device vectors were given to a solver that runs on the CPU");
  }

  DeviceKind device() const override { return DeviceKind::cpu; }

 private:
  void allocate_vectors() {
    const auto size = static_cast<std::size_t>(this->rows);
    for (auto* vector : {&vectors_.r, &vectors_.p, &vectors_.s}) {
      *vector = cpu::Buffer<T>(size);
    }
    if (this->options.recurrence == Recurrence::single_reduction) {
      vectors_.w = cpu::Buffer<T>(size);
    }
  }

  // Every member packs what it will multiply, so that it lies near to it.
  void pack(CsrView<T> a) {
    const int members = static_cast<int>(parts_.size());
    const std::vector<MergeCoordinate> cuts = cpu::cut_rows(a.row_offsets, members);
    cpu::run_team(members, [&](int rank) {
      const auto i = static_cast<std::size_t>(rank);
      TeamPart<T>& part = parts_[i];
      part.packed = cpu::pack_rows(a, cuts[i], cuts[i + 1]);
      part.rows = {static_cast<Index>(cuts[i].row), static_cast<Index>(cuts[i + 1].row)};
      part.first_carry = cpu::first_carry(cuts, a.row_offsets, rank);
    });
  }

  template <class Steps>
  Outcome run_member(TeamSolve<T>& team, int rank) {
    CgMember<T> member(team, rank, this->options.recurrence);
    const Limits limits{.tolerance = this->options.tolerance,
                        .absolute_tolerance = this->options.absolute_tolerance,
                        .max_iterations = this->options.max_iterations};
    const Outcome outcome = cg::solve<Steps>(member, limits);
    if (rank == 0) team.watch.iterations_end();
    return outcome;
  }

  SolveReport report(const Outcome& outcome, cpu::HostWatch& watch) const {
    SolveReport report;
    report.reason = outcome.reason;
    report.iterations = outcome.iterations;
    report.restarts = outcome.restarts;
    report.residual_norm = std::sqrt(outcome.norm2);
    report.rhs_norm = std::sqrt(outcome.rhs_norm2);
    report.solve_seconds = watch.seconds();
    report.iteration_seconds = watch.iteration_seconds();
    report.device = fmt::format("CPU, {} thread{}", parts_.size(), parts_.size() == 1 ? "" : "s");
    report.plan = plan_;
    report.detail = detail(outcome);
    report.history = watch.take_history();
    return report;
  }

  static std::string detail(const Outcome& outcome) {
    if (outcome.reason == StopReason::indefinite_matrix) {
      return "r·Ar of a residual r is not positive";
    }
    if (outcome.reason != StopReason::not_finite) return {};
    if (!is_finite(outcome.rhs_norm2)) return "the norm of b is not finite";
    if (outcome.iterations == 0) return "the norm of the initial b - A x is not finite";
    return {};
  }

  std::vector<T> preconditioner_;
  std::vector<TeamPart<T>> parts_;
  cpu::Vectors<T> vectors_;
  std::string plan_;
};

}  // namespace

template <class T>
std::unique_ptr<CgBackend<T>> make_cpu_backend(CsrView<T> a, std::span<const T> preconditioner,
                                               const CgOptions& options) {
  try {
    return std::make_unique<CpuBackend<T>>(a, preconditioner, options);
  } catch (const std::bad_alloc&) {
    throw Error(ErrorCategory::memory,
                fmt::format("not enough memory to prepare a matrix of {} rows and {} nonzeros",
                            a.rows, a.nonzeros()));
  }
}

template std::unique_ptr<CgBackend<float>> make_cpu_backend(CsrView<float>, std::span<const float>,
                                                            const CgOptions&);
template std::unique_ptr<CgBackend<double>> make_cpu_backend(CsrView<double>,
                                                             std::span<const double>,
                                                             const CgOptions&);

}  // namespace resident::cg
