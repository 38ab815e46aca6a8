// Rows cut into contiguous ranges, one thread each, for the host passes over a matrix.
#pragma once

#include <resident/csr.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "core/cpu_threads.hpp"
#include "io/parallel_for.hpp"

namespace resident::io {

struct RowRange {
  Index begin = 0, end = 0;
};

// How many threads pay for their start when a pass visits so many rows and nonzeros.
inline int threads_for(std::int64_t visits) {
  constexpr std::int64_t visits_per_thread = 100'000;
  constexpr std::int64_t most = 16;
  const std::int64_t useful = std::min(visits / visits_per_thread, most);
  return static_cast<int>(std::clamp<std::int64_t>(useful, 1, available_cpu_threads()));
}

// Calls body(part, rows) for `parts` ranges of about as many rows each.
template <class Body>
void for_even_rows(Index rows, int parts, const Body& body) {
  const auto bound = [&](std::int64_t part) { return static_cast<Index>(rows * part / parts); };
  parallel_for(static_cast<std::size_t>(parts), parts, [&](int, std::size_t piece) {
    const int part = static_cast<int>(piece);
    body(part, RowRange{bound(part), bound(part + 1)});
  });
}

// Calls body(part, rows) for `parts` ranges of about as many rows + nonzeros each.
template <class T, class Body>
void for_balanced_rows(CsrView<T> a, int parts, const Body& body) {
  const auto bound = [&](int part) {
    const Offset target = (a.rows + a.nonzeros()) / parts * part;
    Index low = 0, high = a.rows;
    while (low < high) {
      const Index middle = low + (high - low) / 2;
      if (a.row_offsets[static_cast<std::size_t>(middle)] + middle < target) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  };
  parallel_for(static_cast<std::size_t>(parts), parts, [&](int, std::size_t piece) {
    const int part = static_cast<int>(piece);
    body(part, RowRange{bound(part), part + 1 < parts ? bound(part + 1) : a.rows});
  });
}

}  // namespace resident::io
