// Compressed sparse row matrices: an owning form, a view, and the checks that a solver relies on.
//
//   resident::CsrMatrix<double> a = resident::generate<double>("poisson2d:100:100");
//   resident::validate<double>(a);  // throws resident::Error, naming the first offending entry
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace resident {

using Offset = std::int64_t;  // counts nonzeros
using Index = std::int32_t;   // names a row or a column

// Non-owning. row_offsets has rows + 1 entries, columns and values have row_offsets[rows] entries;
// row i holds the entries [row_offsets[i], row_offsets[i + 1]), columns ascending within a row.
template <class T>
struct CsrView {
  Index rows = 0;
  Index cols = 0;
  std::span<const Offset> row_offsets;
  std::span<const Index> columns;
  std::span<const T> values;

  Offset nonzeros() const { return static_cast<Offset>(columns.size()); }
};

// Owning; converts to a view of itself, which lives no longer than the matrix.
template <class T>
struct CsrMatrix {
  Index rows = 0;
  Index cols = 0;
  std::vector<Offset> row_offsets = {0};
  std::vector<Index> columns;
  std::vector<T> values;

  Offset nonzeros() const { return static_cast<Offset>(columns.size()); }
  CsrView<T> view() const { return {rows, cols, row_offsets, columns, values}; }
  operator CsrView<T>() const { return view(); }
};

// Which properties validate() verifies. Later checks rely on the earlier ones: switch `offsets`,
// `ranges` and `sorted` off only for a matrix that is known to have these properties.
struct CsrChecks {
  bool offsets = true;              // sizes agree, offsets start at 0 and do not decrease
  bool ranges = true;               // 0 <= column < cols
  bool sorted = true;               // columns strictly ascending within each row
  bool structural_symmetry = true;  // square, and (i, j) stored whenever (j, i) is
  bool numerical_symmetry = true;   // |a_ij - a_ji| <= symmetry_tolerance * max(|a_ij|, |a_ji|)
  bool positive_diagonal = true;    // a_ii > 0, unless the whole row is zero
  double symmetry_tolerance =
      1e-10;  // relative; rounding in the last printed digit is no asymmetry

  static CsrChecks none() { return {false, false, false, false, false, false, 0.0}; }
};

// Throws Error(input) that names the first entry that fails a requested check. Values that are not
// finite pass: solves report them as StopReason::not_finite.
template <class T>
void validate(CsrView<T> a, const CsrChecks& checks = {});

// Row whose diagonal entry proves that the matrix is not positive semidefinite (negative, or zero
// or missing in a row that has nonzeros), or -1. Needs sorted columns.
template <class T>
Index first_nonpositive_diagonal(CsrView<T> a);

// y = A x. x has a.cols entries, y has a.rows.
template <class T>
void multiply(CsrView<T> a, std::span<const T> x, std::span<T> y);

}  // namespace resident
