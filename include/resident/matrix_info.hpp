// A look at a matrix before it is solved.
#pragma once

#include <resident/csr.hpp>

#include <array>
#include <cstdint>
#include <string>

namespace resident {

struct MatrixInfo {
  Index rows = 0, cols = 0;
  Offset nonzeros = 0;
  Offset row_length_min = 0, row_length_max = 0;
  double row_length_mean = 0, row_length_deviation = 0;  // standard deviation
  // histogram[0] counts empty rows, histogram[k] rows with 2^(k-1) <= length < 2^k.
  std::array<Index, 34> row_length_histogram{};
  Index bandwidth = 0;  // max |i - j| over the stored entries
  bool square = false;
  bool structurally_symmetric = false;
  bool numerically_symmetric = false;
  double largest_asymmetry = 0;     // max |a_ij - a_ji| / max(|a_ij|, |a_ji|)
  Index nonpositive_diagonals = 0;  // zero rows excepted, as in CsrChecks
  double diagonal_min = 0, diagonal_max = 0;
  Index diagonally_dominant_rows = 0;  // a_ii >= sum of |a_ij|, j != i
  bool finite = true;
};

// Needs sorted columns and ranges as validate() checks them.
template <class T>
MatrixInfo inspect(CsrView<T> a);

}  // namespace resident
