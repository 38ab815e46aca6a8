#include "cpu/packed_rows.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <type_traits>
#include <utility>

namespace resident::cpu {

std::vector<MergeCoordinate> cut_rows(std::span<const Offset> row_offsets, int members) {
  const Offset rows = static_cast<Offset>(row_offsets.size()) - 1;
  const Offset nonzeros = row_offsets.back();
  const Offset length = rows + nonzeros;
  std::vector<MergeCoordinate> cuts;
  for (int member = 0; member <= members; ++member) {
    // length / members * member would lose the remainder, length * member might overflow.
    const Offset diagonal = length / members * member + std::min<Offset>(length % members, member);
    cuts.push_back(merge_path_search(diagonal, row_offsets.data() + 1, rows, nonzeros));
  }
  return cuts;
}

int first_carry(std::span<const MergeCoordinate> cuts, std::span<const Offset> row_offsets,
                int member) {
  const auto cut = [&](int i) { return cuts[static_cast<std::size_t>(i)]; };
  const Offset row = cut(member).row;
  const Offset row_begin = row_offsets[static_cast<std::size_t>(row)];
  if (cut(member + 1).row == row) return member;
  int first = member;
  while (cut(first).row == row && cut(first).nonzero > row_begin) --first;
  return first;
}

namespace {

// The entries of a matrix between two points of the merge path.
template <class T>
class Part {
 public:
  Part(CsrView<T> a, MergeCoordinate begin, MergeCoordinate end)
      : a_(a), begin_(begin), end_(end) {}

  Index first_row() const { return static_cast<Index>(begin_.row); }
  Index end_row() const { return static_cast<Index>(end_.row); }
  Index matrix_rows() const { return a_.rows; }

  // The entries of a row that lie in this part.
  Offset row_begin(Index row) const {
    return std::max(a_.row_offsets[static_cast<std::size_t>(row)], begin_.nonzero);
  }
  Offset row_end(Index row) const {
    return std::min(a_.row_offsets[static_cast<std::size_t>(row) + 1], end_.nonzero);
  }
  Index length(Index row) const { return static_cast<Index>(row_end(row) - row_begin(row)); }
  Index tail_length() const { return end_row() < a_.rows ? length(end_row()) : 0; }

  Index column(Offset entry) const { return a_.columns[static_cast<std::size_t>(entry)]; }

  T value(Offset entry) const { return a_.values[static_cast<std::size_t>(entry)]; }

  // Whether every entry, the tail's too, satisfies the predicate.
  template <class Predicate>
  bool all_entries(Predicate predicate) const {
    const Index rows = end_row() + (tail_length() > 0 ? 1 : 0);
    for (Index row = first_row(); row < rows; ++row) {
      for (Offset entry = row_begin(row); entry < row_end(row); ++entry) {
        if (!predicate(row, entry)) return false;
      }
    }
    return true;
  }

 private:
  CsrView<T> a_;
  MergeCoordinate begin_, end_;
};

template <class T>
bool is_exactly_float(T value) {
  if (std::is_same_v<T, float>) return true;
  if (!(std::abs(value) <= static_cast<T>(std::numeric_limits<float>::max()))) return false;
  return static_cast<T>(static_cast<float>(value)) == value;
}

// Walks the rows of a slice together, from one occurring distance to the next.
template <class T>
class SliceWalk {
 public:
  SliceWalk(const Part<T>& part, Index row) : part_(part), row_(row) {
    for (Index lane = 0; lane < slice_rows; ++lane) {
      at_[static_cast<std::size_t>(lane)] = part.row_begin(row + lane);
      end_[static_cast<std::size_t>(lane)] = part.row_end(row + lane);
    }
  }

  // The smallest distance that has not been taken, or `none`.
  static constexpr Index none = std::numeric_limits<Index>::max();
  Index next_distance() const {
    Index smallest = none;
    for (Index lane = 0; lane < slice_rows; ++lane) smallest = std::min(smallest, distance(lane));
    return smallest;
  }

  // Calls take(lane, entry) for each row that has an entry at this distance.
  template <class Take>
  void take(Index wanted, Take take) {
    for (Index lane = 0; lane < slice_rows; ++lane) {
      if (distance(lane) == wanted) take(lane, at_[static_cast<std::size_t>(lane)]++);
    }
  }

 private:
  Index distance(Index lane) const {
    const auto l = static_cast<std::size_t>(lane);
    return at_[l] < end_[l] ? part_.column(at_[l]) - (row_ + lane) : none;
  }

  const Part<T>& part_;
  Index row_;
  std::array<Offset, slice_rows> at_, end_;
};

template <class T, class Value, class Column>
class Packer {
 public:
  explicit Packer(const Part<T>& part) : part_(part) {}

  PackedRows<Value, Column> pack() {
    packed_.first_row = part_.first_row();
    packed_.rows = part_.end_row() - part_.first_row();
    packed_.tail_length = part_.tail_length();
    plan();
    packed_.columns = Buffer<Column>(columns_);
    packed_.values = Buffer<Value>(values_);
    fill();
    return std::move(packed_);
  }

 private:
  // Groups, and how many entries they will hold.
  void plan() {
    Index row = part_.first_row();
    while (row < part_.end_row()) {
      // Slices begin at multiples of their height: there the rows of regular grids begin, too.
      const bool whole = row % slice_rows == 0 && part_.end_row() - row >= slice_rows;
      if (whole && find_distances(row)) {
        plan_slice();
        row += slice_rows;
      } else {
        const Index end = std::min(part_.end_row(), row / slice_rows * slice_rows + slice_rows);
        for (; row < end; ++row) plan_row(row);
      }
    }
    columns_ += static_cast<std::size_t>(part_.tail_length());
    values_ += static_cast<std::size_t>(part_.tail_length());
  }

  // The distances of a slice into slice_distances_; false where storing its rows one by one takes
  // fewer bytes, or where a distance leads out of the matrix for a row that lacks the entry.
  bool find_distances(Index row) {
    slice_distances_.clear();
    std::size_t entries = 0;
    for (Index lane = 0; lane < slice_rows; ++lane) {
      entries += static_cast<std::size_t>(part_.length(row + lane));
    }
    const std::size_t bytes_by_row =
        entries * (sizeof(Value) + sizeof(Column)) + slice_rows * sizeof(Index);
    const std::size_t widest = bytes_by_row / (slice_rows * sizeof(Value) + sizeof(Index));
    SliceWalk<T> walk(part_, row);
    for (Index d = walk.next_distance(); d != walk.none; d = walk.next_distance()) {
      if (slice_distances_.size() == widest) return false;
      if (row + d < 0 || Offset{row} + slice_rows - 1 + d >= part_.matrix_rows()) return false;
      walk.take(d, [](Index, Offset) {});
      slice_distances_.push_back(d);
    }
    return true;
  }

  void plan_slice() {
    const auto width = static_cast<Index>(slice_distances_.size());
    const bool continues = !packed_.groups.empty() && packed_.groups.back().width == width &&
                           std::equal(slice_distances_.begin(), slice_distances_.end(),
                                      packed_.distances.end() - static_cast<std::ptrdiff_t>(width));
    if (!continues) {
      packed_.groups.push_back({0, width});
      packed_.distances.insert(packed_.distances.end(), slice_distances_.begin(),
                               slice_distances_.end());
    }
    packed_.groups.back().rows += slice_rows;
    values_ += slice_distances_.size() * slice_rows;
  }

  void plan_row(Index row) {
    if (packed_.groups.empty() || packed_.groups.back().width != RowGroup::row_by_row) {
      packed_.groups.push_back({});
    }
    ++packed_.groups.back().rows;
    const Index length = part_.length(row);
    packed_.lengths.push_back(length);
    columns_ += static_cast<std::size_t>(length);
    values_ += static_cast<std::size_t>(length);
  }

  void fill() {
    column_ = packed_.columns.data();
    value_ = packed_.values.data();
    const Index* distances = packed_.distances.data();
    Index row = part_.first_row();
    for (const RowGroup& group : packed_.groups) {
      const Index end = row + group.rows;
      if (group.width == RowGroup::row_by_row) {
        for (; row < end; ++row) fill_row(row);
      } else {
        for (; row < end; row += slice_rows) fill_slice(row, {distances, distances + group.width});
        distances += group.width;
      }
    }
    if (part_.tail_length() > 0) fill_row(part_.end_row());
  }

  void fill_slice(Index row, std::span<const Index> distances) {
    SliceWalk<T> walk(part_, row);
    for (const Index d : distances) {
      std::fill_n(value_, slice_rows, Value(0));
      walk.take(d, [&](Index lane, Offset entry) {
        value_[lane] = static_cast<Value>(part_.value(entry));
      });
      value_ += slice_rows;
    }
  }

  void fill_row(Index row) {
    for (Offset entry = part_.row_begin(row); entry < part_.row_end(row); ++entry) {
      *column_++ = static_cast<Column>(part_.column(entry) - row);
      *value_++ = static_cast<Value>(part_.value(entry));
    }
  }

  const Part<T>& part_;
  PackedRows<Value, Column> packed_;
  std::vector<Index> slice_distances_;
  std::size_t columns_ = 0, values_ = 0;
  Column* column_ = nullptr;
  Value* value_ = nullptr;
};

}  // namespace

template <class T>
AnyPackedRows<T> pack_rows(CsrView<T> a, MergeCoordinate begin, MergeCoordinate end) {
  const Part<T> part(a, begin, end);
  const bool short_columns = part.all_entries([&](Index row, Offset entry) {
    const Index distance = part.column(entry) - row;
    return distance == static_cast<std::int16_t>(distance);
  });
  const bool float_values =
      part.all_entries([&](Index, Offset entry) { return is_exactly_float(part.value(entry)); });
  const auto pack = [&]<class Value>() -> AnyPackedRows<T> {
    if (short_columns) return Packer<T, Value, std::int16_t>(part).pack();
    return Packer<T, Value, std::int32_t>(part).pack();
  };
  return float_values ? pack.template operator()<float>() : pack.template operator()<T>();
}

template AnyPackedRows<float> pack_rows(CsrView<float>, MergeCoordinate, MergeCoordinate);
template AnyPackedRows<double> pack_rows(CsrView<double>, MergeCoordinate, MergeCoordinate);

}  // namespace resident::cpu
