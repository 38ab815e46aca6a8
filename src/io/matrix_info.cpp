// The figures of `resident info`: two parallel passes over the matrix.
#include <resident/matrix_info.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "io/csr_rows.hpp"
#include "io/row_ranges.hpp"

namespace resident {
namespace {

using io::Row;
using io::row_of;
using io::RowRange;

// What one thread learns of its rows; sums are kept so that the parts add up.
struct PartInfo {
  MatrixInfo info;
  double squared_lengths = 0;
  double diagonal_min = std::numeric_limits<double>::infinity();
  double diagonal_max = -std::numeric_limits<double>::infinity();
  bool structurally_symmetric = true;
};

template <class T>
void add_lengths(PartInfo& part, const Row<T>& entries) {
  const auto length = static_cast<Offset>(entries.columns.size());
  part.squared_lengths += static_cast<double>(length) * static_cast<double>(length);
  part.info.row_length_min = std::min(part.info.row_length_min, length);
  part.info.row_length_max = std::max(part.info.row_length_max, length);
  ++part.info.row_length_histogram[static_cast<std::size_t>(
      std::bit_width(static_cast<std::uint64_t>(length)))];
}

template <class T>
void add_entries(PartInfo& part, CsrView<T> a, Index row, const Row<T>& entries) {
  if (!entries.columns.empty()) {
    const Index left = row - entries.columns.front(), right = entries.columns.back() - row;
    part.info.bandwidth = std::max({part.info.bandwidth, left, right});
  }
  double diagonal = 0, others = 0;
  for (std::size_t k = 0; k < entries.columns.size(); ++k) {
    const auto value = static_cast<double>(entries.values[k]);
    part.info.finite = part.info.finite && std::isfinite(value);
    if (entries.columns[k] == row) {
      diagonal = value;
    } else {
      others += std::abs(value);
    }
  }
  if (diagonal >= others) ++part.info.diagonally_dominant_rows;
  if (row < a.cols) {
    part.diagonal_min = std::min(part.diagonal_min, diagonal);
    part.diagonal_max = std::max(part.diagonal_max, diagonal);
  }
  if (io::diagonal_is_nonpositive(a, row)) ++part.info.nonpositive_diagonals;
}

template <class T>
void add_symmetry(PartInfo& part, CsrView<T> a, RowRange rows) {
  double& largest = part.info.largest_asymmetry;
  const auto pair = [&](T u, T v) {
    if (u != v) largest = std::max(largest, io::asymmetry(u, v));
    return true;
  };
  const auto lone = [&](T value) {
    part.structurally_symmetric = false;
    return pair(value, T(0));
  };
  io::MirrorScan(a, rows, pair, lone).run();
}

template <class T>
PartInfo inspect_part(CsrView<T> a, RowRange rows) {
  PartInfo part;
  part.info.row_length_min = std::numeric_limits<Offset>::max();
  for (Index row = rows.begin; row < rows.end; ++row) {
    const Row<T> entries = row_of(a, row);
    add_lengths(part, entries);
    add_entries(part, a, row, entries);
  }
  if (a.rows == a.cols) add_symmetry(part, a, rows);
  return part;
}

void merge(PartInfo& sum, const PartInfo& part) {
  MatrixInfo& into = sum.info;
  const MatrixInfo& from = part.info;
  into.row_length_min = std::min(into.row_length_min, from.row_length_min);
  into.row_length_max = std::max(into.row_length_max, from.row_length_max);
  for (std::size_t k = 0; k < into.row_length_histogram.size(); ++k) {
    into.row_length_histogram[k] += from.row_length_histogram[k];
  }
  into.bandwidth = std::max(into.bandwidth, from.bandwidth);
  into.largest_asymmetry = std::max(into.largest_asymmetry, from.largest_asymmetry);
  into.nonpositive_diagonals += from.nonpositive_diagonals;
  into.diagonally_dominant_rows += from.diagonally_dominant_rows;
  into.finite = into.finite && from.finite;
  sum.squared_lengths += part.squared_lengths;
  sum.diagonal_min = std::min(sum.diagonal_min, part.diagonal_min);
  sum.diagonal_max = std::max(sum.diagonal_max, part.diagonal_max);
  sum.structurally_symmetric = sum.structurally_symmetric && part.structurally_symmetric;
}

}  // namespace

template <class T>
MatrixInfo inspect(CsrView<T> a) {
  MatrixInfo empty;
  empty.rows = a.rows;
  empty.cols = a.cols;
  empty.square = a.rows == a.cols;
  empty.structurally_symmetric = empty.numerically_symmetric = empty.square;
  if (a.rows == 0) return empty;

  const int parts = io::threads_for(a.rows + a.nonzeros());
  std::vector<PartInfo> found(static_cast<std::size_t>(parts));
  io::for_balanced_rows(a, parts, [&](int part, RowRange rows) {
    found[static_cast<std::size_t>(part)] = inspect_part(a, rows);
  });
  PartInfo sum = found.front();
  for (std::size_t part = 1; part < found.size(); ++part) merge(sum, found[part]);

  MatrixInfo info = sum.info;
  info.rows = a.rows;
  info.cols = a.cols;
  info.nonzeros = a.nonzeros();
  info.square = empty.square;
  info.structurally_symmetric = info.square && sum.structurally_symmetric;
  info.numerically_symmetric =
      info.square && info.largest_asymmetry <= CsrChecks{}.symmetry_tolerance;
  info.row_length_mean = static_cast<double>(info.nonzeros) / a.rows;
  const double variance =
      sum.squared_lengths / a.rows - info.row_length_mean * info.row_length_mean;
  info.row_length_deviation = std::sqrt(std::max(variance, 0.0));
  if (sum.diagonal_min <= sum.diagonal_max) {
    info.diagonal_min = sum.diagonal_min;
    info.diagonal_max = sum.diagonal_max;
  }
  return info;
}

template MatrixInfo inspect(CsrView<float>);
template MatrixInfo inspect(CsrView<double>);

}  // namespace resident
