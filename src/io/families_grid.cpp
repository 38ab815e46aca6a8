// Families with one unknown a grid point: Laplacians, anisotropy, jumping coefficients, mass.
#include "io/family_generators.hpp"
#include "io/grid.hpp"

namespace resident::generators {
namespace {

Grid grid2d(const Arguments& arguments) {
  const Grid grid{arguments.count(0), arguments.count(1), 1};
  arguments.rows({grid.nx, grid.ny});
  return grid;
}

Grid grid3d(const Arguments& arguments, Index least = 1) {
  const Grid grid{arguments.count(0, least), arguments.count(1, least), arguments.count(2, least)};
  arguments.rows({grid.nx, grid.ny, grid.nz});
  return grid;
}

// -1 for every neighbour of the pattern.
template <class T, class Pattern>
CsrMatrix<T> laplacian(const Grid& grid, T diagonal) {
  return assemble<T, Pattern>(grid, [&](const Point&, int dx, int dy, int dz) {
    return dx == 0 && dy == 0 && dz == 0 ? diagonal : T(-1);
  });
}

// The coefficient field of jump3d: 1 or `contrast` in alternating blocks of 4 x 4 x 4 cells.
struct Checkerboard {
  Grid grid;
  double contrast;

  double at(Point p) const { return (p.x / 4 + p.y / 4 + p.z / 4) % 2 == 0 ? 1 : contrast; }

  // Of the face between p and its neighbour: the harmonic mean. Outside the grid, the cell's own.
  double face(Point p, int dx, int dy, int dz) const {
    const Point q{p.x + dx, p.y + dy, p.z + dz};
    const bool inside =
        q.x >= 0 && q.x < grid.nx && q.y >= 0 && q.y < grid.ny && q.z >= 0 && q.z < grid.nz;
    const double here = at(p), there = inside ? at(q) : here;
    return here == there ? here : 2 * here * there / (here + there);
  }
};

}  // namespace

template <class T>
CsrMatrix<T> poisson2d(const Arguments& arguments) {
  return laplacian<T, Star>(grid2d(arguments), 4);
}

template <class T>
CsrMatrix<T> poisson3d(const Arguments& arguments) {
  return laplacian<T, Star>(grid3d(arguments), 6);
}

template <class T>
CsrMatrix<T> box9(const Arguments& arguments) {
  return laplacian<T, Box>(grid2d(arguments), 8);
}

template <class T>
CsrMatrix<T> box27(const Arguments& arguments) {
  return laplacian<T, Box>(grid3d(arguments), 26);
}

template <class T>
CsrMatrix<T> anisotropic2d(const Arguments& arguments) {
  const T epsilon = static_cast<T>(arguments.coefficient(2));
  const T diagonal = round_up<T>(2 + 2 * static_cast<double>(epsilon));
  return assemble<T, Star>(grid2d(arguments), [&](const Point&, int dx, int dy, int) {
    if (dx != 0) return T(-1);
    return dy != 0 ? -epsilon : diagonal;
  });
}

template <class T>
CsrMatrix<T> jump3d(const Arguments& arguments) {
  const Checkerboard field{grid3d(arguments), arguments.coefficient(3)};
  // Faces are rounded to T before they are summed, so that the sum is that of the stored entries.
  const auto face = [&](const Point& p, int dx, int dy, int dz) {
    return static_cast<T>(field.face(p, dx, dy, dz));
  };
  return assemble<T, Star>(field.grid, [&](const Point& p, int dx, int dy, int dz) {
    if (dx != 0 || dy != 0 || dz != 0) return -face(p, dx, dy, dz);
    double sum = 0;
    for (const int side : {-1, 1}) {
      sum += static_cast<double>(face(p, side, 0, 0)) + static_cast<double>(face(p, 0, side, 0)) +
             static_cast<double>(face(p, 0, 0, side));
    }
    return round_up<T>(sum);
  });
}

// The tensor product of three mass matrices of linear elements: 1/6 for a neighbour, 1/3 for each
// element at the node.
template <class T>
CsrMatrix<T> mass3d(const Arguments& arguments) {
  const Grid grid = grid3d(arguments, 2);
  const auto sixths = [](Index at, Index size, int d) {
    if (d != 0) return 1;
    return at == 0 || at + 1 == size ? 2 : 4;
  };
  return assemble<T, Box>(grid, [&](const Point& p, int dx, int dy, int dz) {
    const int product =
        sixths(p.x, grid.nx, dx) * sixths(p.y, grid.ny, dy) * sixths(p.z, grid.nz, dz);
    return static_cast<T>(product / 216.0);
  });
}

template CsrMatrix<float> poisson2d(const Arguments&);
template CsrMatrix<double> poisson2d(const Arguments&);
template CsrMatrix<float> poisson3d(const Arguments&);
template CsrMatrix<double> poisson3d(const Arguments&);
template CsrMatrix<float> box9(const Arguments&);
template CsrMatrix<double> box9(const Arguments&);
template CsrMatrix<float> box27(const Arguments&);
template CsrMatrix<double> box27(const Arguments&);
template CsrMatrix<float> anisotropic2d(const Arguments&);
template CsrMatrix<double> anisotropic2d(const Arguments&);
template CsrMatrix<float> jump3d(const Arguments&);
template CsrMatrix<double> jump3d(const Arguments&);
template CsrMatrix<float> mass3d(const Arguments&);
template CsrMatrix<double> mass3d(const Arguments&);

}  // namespace resident::generators
