// What validate() and inspect() both ask of a matrix: its diagonal and its mirror pairs.
#pragma once

#include <resident/csr.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "io/row_ranges.hpp"

namespace resident::io {

// The entries of one row.
template <class T>
struct Row {
  std::span<const Index> columns;
  std::span<const T> values;

  // Position of a column in the row, or its length. Needs sorted columns.
  std::size_t find(Index column) const {
    const auto at = std::lower_bound(columns.begin(), columns.end(), column);
    return at != columns.end() && *at == column ? static_cast<std::size_t>(at - columns.begin())
                                                : columns.size();
  }
};

template <class T>
Row<T> row_of(CsrView<T> a, Index row) {
  const auto begin = static_cast<std::size_t>(a.row_offsets[static_cast<std::size_t>(row)]);
  const auto end = static_cast<std::size_t>(a.row_offsets[static_cast<std::size_t>(row) + 1]);
  return {a.columns.subspan(begin, end - begin), a.values.subspan(begin, end - begin)};
}

// a_ii, zero where it is not stored.
template <class T>
T diagonal_of(CsrView<T> a, Index row) {
  const Row<T> entries = row_of(a, row);
  const std::size_t at = entries.find(row);
  return at < entries.columns.size() ? entries.values[at] : T(0);
}

// True if the diagonal entry proves that the matrix is not positive semidefinite: it is negative,
// or it is zero in a row that has a nonzero. Only finite entries prove anything.
template <class T>
bool diagonal_is_nonpositive(CsrView<T> a, Index row) {
  const T diagonal = diagonal_of(a, row);
  if (diagonal > 0 || !std::isfinite(diagonal)) return false;
  if (diagonal < 0) return true;
  const Row<T> entries = row_of(a, row);
  return std::any_of(entries.values.begin(), entries.values.end(),
                     [](T value) { return std::isfinite(value) && value != 0; });
}

// |u - v| / max(|u|, |v|); 0 for two NaNs, infinity where one of two different values is not
// finite.
template <class T>
double asymmetry(T u, T v) {
  if (u == v || (std::isnan(u) && std::isnan(v))) return 0;
  if (!std::isfinite(u) || !std::isfinite(v)) return std::numeric_limits<double>::infinity();
  // Scaled before the difference, which could overflow.
  const double du = static_cast<double>(u), dv = static_cast<double>(v);
  const double largest = std::max(std::abs(du), std::abs(dv));
  return std::abs(du / largest - dv / largest);
}

// Pairs the entries (i, j) and (j, i), j < i, of a square matrix with sorted columns, for i in a
// range of rows: calls pair(a_ij, a_ji) where both are stored, lone(value) where one is. Stops as
// soon as a call returns false.
//
// The lower entries of column j come by in ascending rows i, in which order row j stores their
// mirrors; a cursor in each row therefore replaces the search. Reads every entry about once.
template <class T, class Pair, class Lone>
class MirrorScan {
 public:
  MirrorScan(CsrView<T> a, RowRange rows, Pair pair, Lone lone)
      : a_(a), rows_(rows), pair_(pair), lone_(lone) {}

  // False if a call returned false.
  bool run() {
    first_ = rows_.begin;
    for (Index i = rows_.begin; i < rows_.end; ++i) {
      const Row<T> row = row_of(a_, i);
      if (!row.columns.empty()) first_ = std::min(first_, row.columns.front());
    }
    for (Index j = 0; j < first_; ++j) {
      Cursor cursor = seek(j);
      if (!skip_to(cursor, rows_.end)) return false;
    }
    cursors_.resize(static_cast<std::size_t>(rows_.end - first_));
    for (Index j = first_; j < rows_.begin; ++j) cursor_of(j) = seek(j);
    for (Index i = rows_.begin; i < rows_.end; ++i) {
      if (!scan_row(i)) return false;
    }
    return std::all_of(cursors_.begin(), cursors_.end(),
                       [&](Cursor& cursor) { return skip_to(cursor, rows_.end); });
  }

 private:
  // The entries of a row whose mirrors have not come by.
  struct Cursor {
    Offset at, end;
  };

  Index column(Offset at) const { return a_.columns[static_cast<std::size_t>(at)]; }
  T value(Offset at) const { return a_.values[static_cast<std::size_t>(at)]; }
  Offset row_begin(Index row) const { return a_.row_offsets[static_cast<std::size_t>(row)]; }
  Cursor& cursor_of(Index row) { return cursors_[static_cast<std::size_t>(row - first_)]; }

  // Row j from its first entry in a column of the range.
  Cursor seek(Index j) const {
    const Offset begin = row_begin(j), end = row_begin(j + 1);
    if (begin == end || column(end - 1) < rows_.begin) return {end, end};
    const auto columns = a_.columns.begin();
    return {std::lower_bound(columns + begin, columns + end, rows_.begin) - columns, end};
  }

  // Passes the entries left of column `stop`: their mirrors are missing.
  bool skip_to(Cursor& cursor, Index stop) const {
    for (; cursor.at < cursor.end && column(cursor.at) < stop; ++cursor.at) {
      if (!lone_(value(cursor.at))) return false;
    }
    return true;
  }

  // Matches the lower entries of row i; its upper ones wait for rows to come.
  bool scan_row(Index i) {
    const Offset end = row_begin(i + 1);
    Offset k = row_begin(i);
    for (; k < end && column(k) < i; ++k) {
      Cursor& mirror = cursor_of(column(k));
      if (!skip_to(mirror, i)) return false;
      if (mirror.at < mirror.end && column(mirror.at) == i) {
        if (!pair_(value(k), value(mirror.at))) return false;
        ++mirror.at;
      } else if (!lone_(value(k))) {
        return false;
      }
    }
    if (k < end && column(k) == i) ++k;
    cursor_of(i) = {k, end};
    return true;
  }

  CsrView<T> a_;
  RowRange rows_;
  Pair pair_;
  Lone lone_;
  Index first_ = 0;  // the lowest column in the range: rows above it have no lower entry there
  std::vector<Cursor> cursors_;
};

}  // namespace resident::io
