// Points of a regular grid, x fastest, and the assembly of matrices that couple near points.
#pragma once

#include <resident/csr.hpp>

#include <algorithm>
#include <numeric>

#include "io/row_ranges.hpp"

namespace resident::generators {

struct Point {
  Index x = 0, y = 0, z = 0;
};

struct Grid {
  Index nx = 1, ny = 1, nz = 1;

  Index points() const { return nx * ny * nz; }
  Index number(Point p) const { return (p.z * ny + p.y) * nx + p.x; }
  Point point(Index number) const { return {number % nx, number / nx % ny, number / nx / ny}; }
  // The point with the next number.
  void advance(Point& p) const {
    if (++p.x < nx) return;
    p.x = 0;
    if (++p.y < ny) return;
    p.y = 0;
    ++p.z;
  }
};

// A pattern counts the points of the grid that a point is coupled with, itself included, and visits
// them as visit(dx, dy, dz) in the order of their numbers.

// The neighbours along the axes.
struct Star {
  static Index count(const Grid& g, Point p) {
    return 1 + (p.x > 0) + (p.x + 1 < g.nx) + (p.y > 0) + (p.y + 1 < g.ny) + (p.z > 0) +
           (p.z + 1 < g.nz);
  }
  template <class Visit>
  static void visit(const Grid& g, Point p, const Visit& visit) {
    if (p.z > 0) visit(0, 0, -1);
    if (p.y > 0) visit(0, -1, 0);
    if (p.x > 0) visit(-1, 0, 0);
    visit(0, 0, 0);
    if (p.x + 1 < g.nx) visit(1, 0, 0);
    if (p.y + 1 < g.ny) visit(0, 1, 0);
    if (p.z + 1 < g.nz) visit(0, 0, 1);
  }
};

// The neighbours along axes and diagonals.
struct Box {
  static Index reach(Index at, Index size) { return 1 + (at > 0) + (at + 1 < size); }
  static Index count(const Grid& g, Point p) {
    return reach(p.x, g.nx) * reach(p.y, g.ny) * reach(p.z, g.nz);
  }
  template <class Visit>
  static void visit(const Grid& g, Point p, const Visit& visit) {
    for (int dz = p.z > 0 ? -1 : 0; dz <= (p.z + 1 < g.nz ? 1 : 0); ++dz) {
      for (int dy = p.y > 0 ? -1 : 0; dy <= (p.y + 1 < g.ny ? 1 : 0); ++dy) {
        for (int dx = p.x > 0 ? -1 : 0; dx <= (p.x + 1 < g.nx ? 1 : 0); ++dx) visit(dx, dy, dz);
      }
    }
  }
};

// A square matrix whose rows hold what lengths(row) says; columns and values are still zero.
template <class T, class Lengths>
CsrMatrix<T> matrix_with_row_lengths(Index rows, const Lengths& lengths) {
  CsrMatrix<T> a;
  a.rows = a.cols = rows;
  a.row_offsets.assign(static_cast<std::size_t>(rows) + 1, 0);
  io::for_even_rows(rows, io::threads_for(rows), [&](int, io::RowRange range) {
    for (Index row = range.begin; row < range.end; ++row) {
      a.row_offsets[static_cast<std::size_t>(row) + 1] = lengths(row);
    }
  });
  std::partial_sum(a.row_offsets.begin(), a.row_offsets.end(), a.row_offsets.begin());
  a.columns.resize(static_cast<std::size_t>(a.row_offsets.back()));
  a.values.resize(static_cast<std::size_t>(a.row_offsets.back()));
  return a;
}

// One row a point; entry(p, dx, dy, dz) is the coefficient between p and p + (dx, dy, dz).
template <class T, class Pattern, class Entry>
CsrMatrix<T> assemble(const Grid& grid, const Entry& entry) {
  const Index rows = grid.points();
  CsrMatrix<T> a = matrix_with_row_lengths<T>(
      rows, [&](Index row) { return Pattern::count(grid, grid.point(row)); });
  const int parts = io::threads_for(a.nonzeros());
  io::for_even_rows(rows, parts, [&](int, io::RowRange range) {
    Point p = grid.point(range.begin);
    auto at = static_cast<std::size_t>(a.row_offsets[static_cast<std::size_t>(range.begin)]);
    for (Index row = range.begin; row < range.end; ++row, grid.advance(p)) {
      Pattern::visit(grid, p, [&](int dx, int dy, int dz) {
        a.columns[at] = row + (dz * grid.ny + dy) * grid.nx + dx;
        a.values[at] = entry(p, dx, dy, dz);
        ++at;
      });
    }
  });
  return a;
}

}  // namespace resident::generators
