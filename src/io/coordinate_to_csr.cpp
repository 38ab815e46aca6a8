// Bucketed counting sort of matrix entries.
#include "io/coordinate_to_csr.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <new>
#include <numeric>
#include <tuple>
#include <utility>

#include "io/matrix_market_header.hpp"
#include "io/parallel_for.hpp"

namespace resident::io {

RowBuckets choose_buckets(Index rows, std::int64_t entries) {
  constexpr std::int64_t entries_per_bucket = 1 << 15;
  constexpr std::int64_t most_buckets = 1 << 12;
  const std::int64_t wanted =
      std::clamp<std::int64_t>(entries / entries_per_bucket, 1, most_buckets);
  RowBuckets buckets;
  const std::int64_t last_row = std::max<std::int64_t>(rows, 1) - 1;
  while ((last_row >> buckets.shift) >= wanted) ++buckets.shift;
  buckets.count = static_cast<std::size_t>(last_row >> buckets.shift) + 1;
  return buckets;
}

namespace {

constexpr std::size_t huge_page = 2U << 20;

// Large pages make the first touch of large arrays cheap. Advice: the system may ignore it.
void prefer_huge_pages(const void* memory, std::size_t bytes) {
  const std::uintptr_t begin = reinterpret_cast<std::uintptr_t>(memory);
  const std::uintptr_t first = (begin + huge_page - 1) / huge_page * huge_page;
  const std::uintptr_t last = (begin + bytes) / huge_page * huge_page;
  if (first < last) ::madvise(reinterpret_cast<void*>(first), last - first, MADV_HUGEPAGE);
}

// Zeroes, as resize() leaves them.
template <class Value>
void resize_large(std::vector<Value>& array, std::size_t count) {
  array.reserve(count);
  prefer_huge_pages(array.data(), count * sizeof(Value));
  array.resize(count);
}

}  // namespace

template <class T>
EntryArena<T>::EntryArena(std::int64_t expected)
    : block_entries_(
          std::min(static_cast<std::size_t>(expected), 16 * huge_page / sizeof(Entry<T>))) {}

template <class T>
void EntryArena<T>::Free::operator()(Entry<T>* block) const {
  ::operator delete(block, std::align_val_t(huge_page));
}

template <class T>
Entry<T>* EntryArena<T>::take(std::size_t count) {
  const std::lock_guard lock(mutex_);
  if (left_ < count || next_ == nullptr) {
    const std::size_t block = std::max(count, block_entries_);
    const std::size_t bytes = block * sizeof(Entry<T>);
    blocks_.reserve(blocks_.size() + 1);
    next_ = static_cast<Entry<T>*>(::operator new(bytes, std::align_val_t(huge_page)));
    left_ = block;
    blocks_.emplace_back(next_);
    prefer_huge_pages(next_, bytes);
  }
  Entry<T>* const taken = next_;
  next_ += count;
  left_ -= count;
  return taken;
}

template <class T>
BucketedEntries<T> group_by_bucket(std::span<const Entry<T>> entries, Mirror mirror,
                                   const RowBuckets& buckets, EntryArena<T>& arena) {
  BucketedEntries<T> grouped;
  std::vector<std::uint32_t> next(buckets.count + 1, 0);  // counts, shifted by one bucket
  const auto is_mirrored = [mirror](const Entry<T>& entry) {
    return mirror != Mirror::none && entry.row != entry.column;
  };
  for (const Entry<T>& entry : entries) {
    ++next[buckets.of(entry.row) + 1];
    if (is_mirrored(entry)) ++next[buckets.of(entry.column) + 1];
  }
  std::inclusive_scan(next.begin(), next.end(), next.begin());
  grouped.offsets = next;
  Entry<T>* const out = arena.take(next.back());
  grouped.entries = out;
  for (const Entry<T>& entry : entries) {
    out[next[buckets.of(entry.row)]++] = entry;
    if (!is_mirrored(entry)) continue;
    const T image = mirror == Mirror::negated ? -entry.value : entry.value;
    out[next[buckets.of(entry.column)]++] = {entry.column, entry.row, image};
  }
  return grouped;
}

namespace {

// Stable, by column.
template <class T>
void sort_row(std::span<Index> columns, std::span<T> values) {
  std::vector<std::pair<Index, T>> row(columns.size());
  for (std::size_t k = 0; k < row.size(); ++k) row[k] = {columns[k], values[k]};
  std::ranges::stable_sort(row, {}, &std::pair<Index, T>::first);
  for (std::size_t k = 0; k < row.size(); ++k) std::tie(columns[k], values[k]) = row[k];
}

template <class T>
class Assembly {
 public:
  Assembly(Index rows, Index cols, std::span<const BucketedEntries<T>> chunks,
           const RowBuckets& buckets)
      : chunks_(chunks), buckets_(buckets), starts_(buckets.count + 1, 0) {
    for (const BucketedEntries<T>& chunk : chunks) {
      for (std::size_t b = 0; b < buckets.count; ++b) {
        starts_[b + 1] += chunk.offsets[b + 1] - chunk.offsets[b];
      }
    }
    std::inclusive_scan(starts_.begin(), starts_.end(), starts_.begin());
    kept_.resize(buckets.count);
    matrix_.rows = rows;
    matrix_.cols = cols;
  }

  CsrMatrix<T> run(int threads) {
    allocate(threads);
    parallel_for(buckets_.count, threads, [this](int, std::size_t b) { fill_bucket(b); });
    close_gaps();
    return std::move(matrix_);
  }

 private:
  // The first touch of these pages takes as long as filling them, so the threads share it.
  void allocate(int threads) {
    const auto nonzeros = static_cast<std::size_t>(starts_.back());
    parallel_for(3, threads, [&](int, std::size_t array) {
      if (array == 0) resize_large(matrix_.values, nonzeros);
      if (array == 1) resize_large(matrix_.columns, nonzeros);
      if (array == 2) resize_large(matrix_.row_offsets, index(matrix_.rows) + 1);
    });
  }

  template <class Visit>
  void for_each_entry(std::size_t bucket, Visit visit) const {
    for (const BucketedEntries<T>& chunk : chunks_) {
      for (std::size_t k = chunk.offsets[bucket]; k < chunk.offsets[bucket + 1]; ++k) {
        visit(chunk.entries[k]);
      }
    }
  }

  Index first_row(std::size_t bucket) const {
    const std::int64_t row = static_cast<std::int64_t>(bucket) << buckets_.shift;
    return static_cast<Index>(std::min<std::int64_t>(row, matrix_.rows));
  }

  // Rows of the bucket side by side from starts_[bucket] on, sorted, duplicates summed.
  void fill_bucket(std::size_t bucket) {
    const Index first = first_row(bucket), last = first_row(bucket + 1);
    // ends[i]: where the next entry of row first + i goes; at last, the end of that row.
    std::vector<Offset> ends(static_cast<std::size_t>(last - first), 0);
    for_each_entry(bucket, [&](const Entry<T>& entry) { ++ends[index(entry.row - first)]; });
    std::exclusive_scan(ends.begin(), ends.end(), ends.begin(), starts_[bucket]);
    for_each_entry(bucket, [&](const Entry<T>& entry) {
      const auto k = index(ends[index(entry.row - first)]++);
      matrix_.columns[k] = entry.column;
      matrix_.values[k] = entry.value;
    });
    Offset begin = starts_[bucket], out = starts_[bucket];
    for (Index row = first; row < last; ++row) {
      const Offset end = ends[index(row - first)];
      out = finish_row(row, begin, end, out);
      matrix_.row_offsets[index(row) + 1] = out;
      begin = end;
    }
    kept_[bucket] = out - starts_[bucket];
  }

  // Moves the entries [begin, end) of a row to `out`, which is not after begin; returns their end.
  Offset finish_row(Index row, Offset begin, Offset end, Offset out) {
    const auto columns = std::span(matrix_.columns).subspan(index(begin), index(end - begin));
    const auto values = std::span(matrix_.values).subspan(index(begin), index(end - begin));
    const bool strictly_ascending =
        std::ranges::adjacent_find(columns, std::greater_equal<>()) == columns.end();
    if (strictly_ascending && out == begin) return end;
    if (!strictly_ascending) sort_row(columns, values);
    const Offset row_start = out;
    for (std::size_t k = 0; k < columns.size(); ++k) {
      if (out > row_start && matrix_.columns[index(out - 1)] == columns[k]) {
        add_duplicate(row, out - 1, values[k]);
      } else {
        matrix_.columns[index(out)] = columns[k];
        matrix_.values[index(out)] = values[k];
        ++out;
      }
    }
    return out;
  }

  void add_duplicate(Index row, Offset k, T value) {
    T& sum = matrix_.values[index(k)];
    sum += value;
    if (std::isfinite(sum)) return;
    throw TextError{
        nullptr, fmt::format("found entries ({}, {}) whose sum is beyond the largest "
                             "number, expected a finite sum",
                             std::int64_t{row} + 1, std::int64_t{matrix_.columns[index(k)]} + 1)};
  }

  // Where duplicates were summed, buckets end before the next one starts.
  void close_gaps() {
    const Offset nonzeros = std::reduce(kept_.begin(), kept_.end());
    if (nonzeros == starts_.back()) return;
    Offset out = 0;
    for (std::size_t b = 0; b < buckets_.count; ++b) {
      const Offset gap = starts_[b] - out;
      move_down(matrix_.columns, starts_[b], kept_[b], gap);
      move_down(matrix_.values, starts_[b], kept_[b], gap);
      for (Index row = first_row(b); row < first_row(b + 1); ++row) {
        matrix_.row_offsets[index(row) + 1] -= gap;
      }
      out += kept_[b];
    }
    matrix_.columns.resize(index(nonzeros));
    matrix_.values.resize(index(nonzeros));
  }

  template <class Value>
  static void move_down(std::vector<Value>& array, Offset start, Offset count, Offset gap) {
    const auto begin = array.begin() + start;
    std::copy(begin, begin + count, begin - gap);
  }

  static std::size_t index(Offset offset) { return static_cast<std::size_t>(offset); }

  std::span<const BucketedEntries<T>> chunks_;
  RowBuckets buckets_;
  std::vector<Offset> starts_;  // of each bucket, duplicates counted
  std::vector<Offset> kept_;    // entries of each bucket once duplicates are summed
  CsrMatrix<T> matrix_;
};

}  // namespace

template <class T>
CsrMatrix<T> to_csr(Index rows, Index cols, std::span<const BucketedEntries<T>> chunks,
                    const RowBuckets& buckets, int threads) {
  return Assembly<T>(rows, cols, chunks, buckets).run(threads);
}

template class EntryArena<float>;
template class EntryArena<double>;
template BucketedEntries<float> group_by_bucket(std::span<const Entry<float>>, Mirror,
                                                const RowBuckets&, EntryArena<float>&);
template BucketedEntries<double> group_by_bucket(std::span<const Entry<double>>, Mirror,
                                                 const RowBuckets&, EntryArena<double>&);
template CsrMatrix<float> to_csr(Index, Index, std::span<const BucketedEntries<float>>,
                                 const RowBuckets&, int);
template CsrMatrix<double> to_csr(Index, Index, std::span<const BucketedEntries<double>>,
                                  const RowBuckets&, int);

}  // namespace resident::io
