// Linear elasticity with trilinear elements on unit cubes, one face clamped.
#include <array>

#include "io/family_generators.hpp"
#include "io/grid.hpp"

namespace resident::generators {
namespace {

constexpr int dimensions = 3;
using Block = std::array<double, dimensions * dimensions>;  // of two nodes, row by row
using Offsets = std::array<int, dimensions>;                // from one node to the other

// Where a node lies along one axis: whether there is an element below and above it.
struct Position {
  bool below, above;
};
using Positions = std::array<Position, dimensions>;

// Integrals over one axis of products of the hat functions of a node and of its neighbour d away,
// d in {-1, 0, 1}. The matrix of trilinear elements on cubes is made of their tensor products.
double product(Position at, int d) { return d == 0 ? (at.below + at.above) / 3.0 : 1 / 6.0; }
double product_of_slopes(Position at, int d) { return d == 0 ? at.below + at.above : -1; }
double slope_times_neighbour(Position at, int d) {
  return d == 0 ? (at.below - at.above) / 2.0 : -d / 2.0;
}
double node_times_neighbour_slope(Position at, int d) {
  return d == 0 ? (at.below - at.above) / 2.0 : d / 2.0;
}

// The integral of (d/dx_i of the node's function) times (d/dx_j of the neighbour's).
double gradient_product(const Positions& at, const Offsets& d, int i, int j) {
  double integral = 1;
  for (int axis = 0; axis < dimensions; ++axis) {
    const auto k = static_cast<std::size_t>(axis);
    if (axis == i && axis == j) {
      integral *= product_of_slopes(at[k], d[k]);
    } else if (axis == i) {
      integral *= slope_times_neighbour(at[k], d[k]);
    } else if (axis == j) {
      integral *= node_times_neighbour_slope(at[k], d[k]);
    } else {
      integral *= product(at[k], d[k]);
    }
  }
  return integral;
}

// Stiffness between two nodes of an isotropic body with E = 1 and nu = 0.3: the integral of
// lambda div(u) div(v) + 2 mu eps(u):eps(v) for unit displacements of the nodes.
Block stiffness(const Positions& at, const Offsets& d) {
  constexpr double young = 1, poisson = 0.3;
  constexpr double lambda = young * poisson / ((1 + poisson) * (1 - 2 * poisson));
  constexpr double mu = young / (2 * (1 + poisson));
  double trace = 0;
  for (int k = 0; k < dimensions; ++k) trace += gradient_product(at, d, k, k);
  Block block;
  for (int i = 0; i < dimensions; ++i) {
    for (int j = 0; j < dimensions; ++j) {
      block[static_cast<std::size_t>(i * dimensions + j)] = lambda * gradient_product(at, d, i, j) +
                                                            mu * gradient_product(at, d, j, i) +
                                                            (i == j ? mu * trace : 0);
    }
  }
  return block;
}

// All blocks that occur: 27 neighbours for each of the 4^3 kinds of position.
class BlockTable {
 public:
  BlockTable() {
    for (std::size_t kind = 0; kind < 64; ++kind) {
      const Positions at{bits(kind), bits(kind >> 2), bits(kind >> 4)};
      for (int n = 0; n < 27; ++n) {
        blocks_[kind * 27 + static_cast<std::size_t>(n)] =
            stiffness(at, {n % 3 - 1, n / 3 % 3 - 1, n / 9 - 1});
      }
    }
  }
  const Block& of(const Positions& at, int dx, int dy, int dz) const {
    const std::size_t kind = code(at[0]) + 4 * code(at[1]) + 16 * code(at[2]);
    return blocks_[kind * 27 + static_cast<std::size_t>(dx + 1 + 3 * (dy + 1) + 9 * (dz + 1))];
  }

 private:
  static Position bits(std::size_t code) { return {(code & 1) != 0, (code & 2) != 0}; }
  static std::size_t code(Position at) { return (at.below ? 1U : 0U) + (at.above ? 2U : 0U); }

  std::array<Block, 64 * 27> blocks_;
};

// Fills the three rows of one node.
template <class T>
void fill_node(CsrMatrix<T>& a, const Grid& grid, const BlockTable& table, Index node, Point p) {
  // Below the first free layer in x lies an element whose lower nodes are clamped.
  const Positions at{Position{true, p.x + 1 < grid.nx}, Position{p.y > 0, p.y + 1 < grid.ny},
                     Position{p.z > 0, p.z + 1 < grid.nz}};
  for (Index i = 0; i < dimensions; ++i) {
    const auto row = static_cast<std::size_t>(node * dimensions + i);
    auto k = static_cast<std::size_t>(a.row_offsets[row]);
    Box::visit(grid, p, [&](int dx, int dy, int dz) {
      const Index other = node + (dz * grid.ny + dy) * grid.nx + dx;
      const Block& block = table.of(at, dx, dy, dz);
      for (Index j = 0; j < dimensions; ++j, ++k) {
        a.columns[k] = other * dimensions + j;
        a.values[k] = static_cast<T>(block[static_cast<std::size_t>(i * dimensions + j)]);
      }
    });
  }
}

}  // namespace

template <class T>
CsrMatrix<T> elasticity3d(const Arguments& arguments) {
  const Grid grid{arguments.count(0), arguments.count(1, 2), arguments.count(2, 2)};
  const Index rows = arguments.rows({dimensions, grid.nx, grid.ny, grid.nz});
  CsrMatrix<T> a = matrix_with_row_lengths<T>(
      rows, [&](Index row) { return dimensions * Box::count(grid, grid.point(row / dimensions)); });
  const BlockTable table;
  io::for_even_rows(grid.points(), io::threads_for(a.nonzeros()), [&](int, io::RowRange nodes) {
    Point p = grid.point(nodes.begin);
    for (Index node = nodes.begin; node < nodes.end; ++node, grid.advance(p)) {
      fill_node(a, grid, table, node, p);
    }
  });
  return a;
}

template CsrMatrix<float> elasticity3d(const Arguments&);
template CsrMatrix<double> elasticity3d(const Arguments&);

}  // namespace resident::generators
