// The part of a matrix that one member of a CPU team multiplies, packed so that few bytes pass
// through memory in every iteration. Packing loses nothing: values become float only where that is
// exact.
#pragma once

#include <resident/csr.hpp>

#include <cstdint>
#include <span>
#include <variant>
#include <vector>

#include "core/merge_path.hpp"
#include "cpu/buffer.hpp"

namespace resident::cpu {

// Rows that lie side by side in a slice, one per vector lane.
inline constexpr Index slice_rows = 8;

// Consecutive rows that are stored in the same way: by diagonals, a multiple of slice_rows rows
// whose entries share `width` distances from the diagonal, or row by row.
struct RowGroup {
  static constexpr Index row_by_row = -1;

  Index rows = 0;
  Index width = row_by_row;
};

// A member owns the rows that end in its range of the merge path; the first of them may have begun
// in an earlier member. The row that is unfinished where the range ends is the tail, whose product
// is carried to the member that owns the row.
//
// The arrays are read front to back, group after group, then the tail:
//   by diagonals  distances: `width`. values: for each slice, `width` times slice_rows values, zero
//                 where a row lacks the entry. row + distance is a valid column for all of them.
//   row by row    lengths: one per row. distances of its entries in `columns`, and values.
template <class Value, class Column>
struct PackedRows {
  Index first_row = 0;
  Index rows = 0;  // owned
  std::vector<RowGroup> groups;
  std::vector<Index> distances;
  std::vector<Index> lengths;
  Buffer<Column> columns;  // column - row
  Buffer<Value> values;
  Index tail_length = 0;  // entries of row first_row + rows
};

template <class T>
struct PackedRowsOf;
template <>
struct PackedRowsOf<float> {
  using type = std::variant<PackedRows<float, std::int16_t>, PackedRows<float, std::int32_t>>;
};
template <>
struct PackedRowsOf<double> {
  using type = std::variant<PackedRows<float, std::int16_t>, PackedRows<float, std::int32_t>,
                            PackedRows<double, std::int16_t>, PackedRows<double, std::int32_t>>;
};

// In the smallest format that holds the member's columns and values.
template <class T>
using AnyPackedRows = typename PackedRowsOf<T>::type;

// Where the members' ranges begin and end: members + 1 points that cut rows + nonzeros evenly.
std::vector<MergeCoordinate> cut_rows(std::span<const Offset> row_offsets, int members);

// Members [first_carry, member) carry parts of the first row that `member` owns; `member` itself
// where that row begins in it, or where it owns no row.
int first_carry(std::span<const MergeCoordinate> cuts, std::span<const Offset> row_offsets,
                int member);

// Packs the entries of `a` from `begin` to `end`.
template <class T>
AnyPackedRows<T> pack_rows(CsrView<T> a, MergeCoordinate begin, MergeCoordinate end);

}  // namespace resident::cpu
