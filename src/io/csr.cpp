// Checks of a CSR matrix, and the product with a vector.
#include <fmt/format.h>
#include <resident/csr.hpp>
#include <resident/error.hpp>

#include <string>

#include "io/csr_rows.hpp"
#include "io/row_ranges.hpp"

namespace resident {
namespace {

using io::Row;
using io::row_of;
using io::RowRange;

[[noreturn]] void reject(const std::string& message) {
  throw Error(ErrorCategory::input, "the matrix cannot be used: " + message);
}

// "(3, 5) = 2.5", counted from 1 as Matrix Market files do.
template <class T>
std::string entry(Index row, Index column, T value) {
  return fmt::format("({}, {}) = {}", std::int64_t{row} + 1, std::int64_t{column} + 1, value);
}

// The first row for which the predicate holds, or -1.
template <class T, class Predicate>
Index first_row(CsrView<T> a, const Predicate& predicate) {
  const int parts = io::threads_for(a.rows + a.nonzeros());
  std::vector<Index> found(static_cast<std::size_t>(parts), -1);
  io::for_balanced_rows(a, parts, [&](int part, RowRange rows) {
    for (Index row = rows.begin; row < rows.end; ++row) {
      if (!predicate(row)) continue;
      found[static_cast<std::size_t>(part)] = row;
      return;
    }
  });
  const auto at = std::find_if(found.begin(), found.end(), [](Index row) { return row >= 0; });
  return at != found.end() ? *at : -1;
}

template <class T>
void check_offsets(CsrView<T> a) {
  if (a.rows < 0 || a.cols < 0) {
    reject(fmt::format("its size is {} x {}, expected no negative number", a.rows, a.cols));
  }
  const std::size_t expected = static_cast<std::size_t>(a.rows) + 1;
  if (a.row_offsets.size() != expected) {
    reject(fmt::format("row_offsets has {} entries, expected rows + 1 = {}", a.row_offsets.size(),
                       expected));
  }
  if (a.row_offsets.front() != 0) {
    reject(fmt::format("row 1 starts at offset {}, expected 0", a.row_offsets.front()));
  }
  for (std::size_t row = 0; row + 1 < expected; ++row) {
    if (a.row_offsets[row + 1] < a.row_offsets[row]) {
      reject(fmt::format("row {} ends at offset {}, before its start at {}", row + 1,
                         a.row_offsets[row + 1], a.row_offsets[row]));
    }
  }
  if (a.columns.size() != a.values.size() || a.row_offsets.back() != std::ssize(a.columns)) {
    reject(fmt::format("the last row ends at offset {}, but there are {} columns and {} values",
                       a.row_offsets.back(), a.columns.size(), a.values.size()));
  }
}

// Says what is wrong with the columns of one row, if something is.
template <class T>
void check_row_columns(CsrView<T> a, Index row, const CsrChecks& checks) {
  const Row<T> entries = row_of(a, row);
  for (std::size_t k = 0; k < entries.columns.size(); ++k) {
    const Index column = entries.columns[k];
    if (checks.ranges && (column < 0 || column >= a.cols)) {
      reject(fmt::format("entry {} lies outside its {} columns",
                         entry(row, column, entries.values[k]), a.cols));
    }
    if (checks.sorted && k > 0 && column <= entries.columns[k - 1]) {
      reject(fmt::format("entry {} follows entry {}, expected ascending columns in a row",
                         entry(row, column, entries.values[k]),
                         entry(row, entries.columns[k - 1], entries.values[k - 1])));
    }
  }
}

template <class T>
void check_columns(CsrView<T> a, const CsrChecks& checks) {
  const Index row = first_row(a, [&](Index candidate) {
    const std::span<const Index> columns = row_of(a, candidate).columns;
    bool bad = false;
    if (checks.ranges) {
      for (const Index column : columns) bad |= column < 0 || column >= a.cols;
    }
    if (checks.sorted) {
      for (std::size_t k = 1; k < columns.size(); ++k) bad |= columns[k] <= columns[k - 1];
    }
    return bad;
  });
  if (row >= 0) check_row_columns(a, row, checks);
}

// What the symmetry checks say of one pair of entries; an entry that is not stored counts as zero.
template <class T>
struct SymmetryRule {
  bool structural, numerical;
  double tolerance;

  explicit SymmetryRule(const CsrChecks& checks)
      : structural(checks.structural_symmetry),
        numerical(checks.numerical_symmetry),
        tolerance(checks.symmetry_tolerance) {}
  bool allows_pair(T u, T v) const {
    return u == v || !numerical || io::asymmetry(u, v) <= tolerance;
  }
  bool allows_lone(T value) const { return !structural && allows_pair(value, T(0)); }
};

// Searches the mirror of every entry, row by row, so as to name the first that differs.
template <class T>
[[noreturn]] void report_asymmetry(CsrView<T> a, const SymmetryRule<T>& rule) {
  for (Index i = 0; i < a.rows; ++i) {
    const Row<T> row = row_of(a, i);
    for (std::size_t k = 0; k < row.columns.size(); ++k) {
      const Index j = row.columns[k];
      const Row<T> mirror = row_of(a, j);
      const std::size_t at = mirror.find(i);
      if (at == mirror.columns.size() && !rule.allows_lone(row.values[k])) {
        reject(fmt::format("it is not symmetric: entry {} has no counterpart ({}, {})",
                           entry(i, j, row.values[k]), std::int64_t{j} + 1, std::int64_t{i} + 1));
      }
      if (at < mirror.columns.size() && !rule.allows_pair(row.values[k], mirror.values[at])) {
        reject(fmt::format("it is not symmetric: entry {} differs from entry {}",
                           entry(i, j, row.values[k]), entry(j, i, mirror.values[at])));
      }
    }
  }
  reject("it is not symmetric");
}

template <class T>
void check_symmetry(CsrView<T> a, const CsrChecks& checks) {
  if (a.rows != a.cols) {
    reject(fmt::format("it is {} x {}, expected a square matrix", a.rows, a.cols));
  }
  const SymmetryRule<T> rule(checks);
  const int parts = io::threads_for(a.rows + a.nonzeros());
  std::vector<char> symmetric(static_cast<std::size_t>(parts));
  io::for_balanced_rows(a, parts, [&](int part, RowRange rows) {
    io::MirrorScan scan(
        a, rows, [&](T u, T v) { return rule.allows_pair(u, v); },
        [&](T value) { return rule.allows_lone(value); });
    symmetric[static_cast<std::size_t>(part)] = scan.run();
  });
  if (std::count(symmetric.begin(), symmetric.end(), 0) > 0) report_asymmetry(a, rule);
}

template <class T>
void check_diagonal(CsrView<T> a) {
  const Index row = first_nonpositive_diagonal(a);
  if (row < 0) return;
  const Row<T> entries = row_of(a, row);
  const std::size_t at = entries.find(row);
  if (at < entries.columns.size()) {
    reject(fmt::format("diagonal entry {} is not positive, so it is not positive definite",
                       entry(row, row, entries.values[at])));
  }
  const std::int64_t number = std::int64_t{row} + 1;
  reject(fmt::format("diagonal entry ({}, {}) is missing, so it is not positive definite", number,
                     number));
}

}  // namespace

template <class T>
void validate(CsrView<T> a, const CsrChecks& checks) {
  if (checks.offsets) check_offsets(a);
  if (checks.ranges || checks.sorted) check_columns(a, checks);
  if (checks.structural_symmetry || checks.numerical_symmetry) check_symmetry(a, checks);
  if (checks.positive_diagonal) check_diagonal(a);
}

template <class T>
Index first_nonpositive_diagonal(CsrView<T> a) {
  return first_row(a, [&](Index row) { return io::diagonal_is_nonpositive(a, row); });
}

template <class T>
void multiply(CsrView<T> a, std::span<const T> x, std::span<T> y) {
  if (std::ssize(x) != a.cols || std::ssize(y) != a.rows) {
    throw Error(ErrorCategory::usage,
                fmt::format("product of a {} x {} matrix: x has {} entries, y has {}, expected {} "
                            "and {}",
                            a.rows, a.cols, x.size(), y.size(), a.cols, a.rows));
  }
  // Bytes: 4 + sizeof(T) a nonzero, 8 + sizeof(T) a row, and the gathers from x.
  io::for_balanced_rows(a, io::threads_for(a.rows + a.nonzeros()), [&](int, RowRange rows) {
    for (Index row = rows.begin; row < rows.end; ++row) {
      const Row<T> entries = row_of(a, row);
      double sum = 0;
      for (std::size_t k = 0; k < entries.columns.size(); ++k) {
        sum += static_cast<double>(entries.values[k]) *
               static_cast<double>(x[static_cast<std::size_t>(entries.columns[k])]);
      }
      y[static_cast<std::size_t>(row)] = static_cast<T>(sum);
    }
  });
}

template void validate(CsrView<float>, const CsrChecks&);
template void validate(CsrView<double>, const CsrChecks&);
template Index first_nonpositive_diagonal(CsrView<float>);
template Index first_nonpositive_diagonal(CsrView<double>);
template void multiply(CsrView<float>, std::span<const float>, std::span<float>);
template void multiply(CsrView<double>, std::span<const double>, std::span<double>);

}  // namespace resident
