// Merge-path search: cuts a CSR matrix into pieces of equal work, rows plus nonzeros.
//
// Merrill and Garland, "Merge-based parallel sparse matrix-vector multiplication", SC 2016,
// section 3: the row ends are merged with the nonzeros 0, 1, 2, ...; a step of the merge either
// takes one nonzero or ends one row. A piece between two points of the path may begin and end
// inside a row, so no row length can unbalance it.
#pragma once

#include <resident/csr.hpp>

#include "core/function.hpp"

namespace resident {

// A point of the path: `row` rows have ended and `nonzero` nonzeros have been taken before it.
struct MergeCoordinate {
  Offset row = 0;
  Offset nonzero = 0;
};

// The point of the path after `diagonal` steps, 0 <= diagonal <= rows + nonzeros. `row_end_offsets`
// is a random access iterator to the `rows` row ends (row_offsets + 1). A row ends as soon as its
// nonzeros are taken, empty rows included: row_end_offsets[row - 1] <= nonzero, and
// nonzero <= row_end_offsets[row]. Takes log2(min(rows, nonzeros)) probes.
template <class RowEnds>
RESIDENT_HOST_DEVICE MergeCoordinate merge_path_search(Offset diagonal, RowEnds row_end_offsets,
                                                       Offset rows, Offset nonzeros) {
  Offset low = diagonal > nonzeros ? diagonal - nonzeros : 0;
  Offset high = diagonal < rows ? diagonal : rows;
  while (low < high) {
    const Offset middle = low + (high - low) / 2;
    if (static_cast<Offset>(row_end_offsets[middle]) < diagonal - middle) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return {low, diagonal - low};
}

}  // namespace resident
