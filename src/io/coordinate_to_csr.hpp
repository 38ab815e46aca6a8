// Entries in any order to CSR: grouped by bucket of rows while they are parsed, then every bucket
// sorted on its own, in cache.
//
// All steps keep the order of the file among equal keys, so that duplicates are summed in that
// order and the result depends neither on the number of threads nor on where chunks end.
#pragma once

#include <resident/csr.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

namespace resident::io {

template <class T>
struct Entry {
  Index row;  // from 0
  Index column;
  T value;
};

// What an entry below the diagonal says about its mirror image.
enum class Mirror { none, same, negated };

// Bucket b holds the rows [b << shift, (b + 1) << shift).
struct RowBuckets {
  int shift = 0;
  std::size_t count = 1;

  std::size_t of(Index row) const { return static_cast<std::size_t>(row) >> shift; }
};

// Few enough for `chunks` tables of offsets, and enough that a bucket of average size fits a core's
// cache.
RowBuckets choose_buckets(Index rows, std::int64_t entries);

// Memory for the entries of all chunks, from few large blocks: these are cheap to touch for the
// first time, which otherwise costs as much as parsing. Any thread may take from it.
template <class T>
class EntryArena {
 public:
  // Blocks are no larger than what `expected` entries need.
  explicit EntryArena(std::int64_t expected);

  // Uninitialised; lives as long as the arena.
  Entry<T>* take(std::size_t count);

 private:
  struct Free {
    void operator()(Entry<T>* block) const;
  };

  std::mutex mutex_;
  std::size_t block_entries_;
  std::size_t left_ = 0;  // entries at the end of the last block that are free
  Entry<T>* next_ = nullptr;
  std::vector<std::unique_ptr<Entry<T>, Free>> blocks_;
};

// One chunk's entries grouped by bucket: those of b are [offsets[b], offsets[b + 1]), as in the
// file.
template <class T>
struct BucketedEntries {
  const Entry<T>* entries = nullptr;
  std::vector<std::uint32_t> offsets;
};

// Mirror images follow Mirror; entries on the diagonal have none.
template <class T>
BucketedEntries<T> group_by_bucket(std::span<const Entry<T>> entries, Mirror mirror,
                                   const RowBuckets& buckets, EntryArena<T>& arena);

// Chunks in the order of the file. Throws TextError without a position where duplicates sum to a
// value beyond the range of T.
template <class T>
CsrMatrix<T> to_csr(Index rows, Index cols, std::span<const BucketedEntries<T>> chunks,
                    const RowBuckets& buckets, int threads);

}  // namespace resident::io
