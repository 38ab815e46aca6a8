// Matrices of graphs: the shifted Laplacian of a random graph with power-law degrees, and the
// arrow.
#include <algorithm>

#include "io/family_generators.hpp"
#include "io/grid.hpp"

namespace resident::generators {
namespace {

// SplitMix64 (Steele, Lea and Flood 2014), as a function of the position in the sequence: any
// number can be drawn without those before it, and the draws are the same on every machine.
std::uint64_t random_bits(std::uint64_t seed, std::uint64_t position) {
  std::uint64_t z = seed + (position + 1) * 0x9e3779b97f4a7c15U;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31);
}

// `fraction` / 2^32 of `n`, rounded down.
Index scaled(std::uint64_t fraction, Index n) {
  return static_cast<Index>((fraction * static_cast<std::uint64_t>(n)) >> 32);
}

// The model of Chung and Lu (2002): both ends of each edge are drawn with probabilities
// proportional to weights, here 1/sqrt(k) for the k-th vertex, which gives degrees a power law with
// exponent 3. That distribution is n u^2 for uniform u, so that integers suffice to draw from it.
class RandomGraph {
 public:
  RandomGraph(Index vertices, Index mean_degree, std::uint64_t seed)
      : edges_(Offset{vertices} * mean_degree / 2), seed_(random_bits(seed, 0)) {
    shuffle_labels(vertices, random_bits(seed, 1));
  }

  // Calls visit(u, v) for every edge: some come twice, but none joins a vertex to itself.
  template <class Visit>
  void for_each_edge(const Visit& visit) const {
    for (Offset edge = 0; edge < edges_; ++edge) {
      const std::uint64_t bits = random_bits(seed_, static_cast<std::uint64_t>(edge));
      const Index u = vertex(bits >> 32), v = vertex(bits & 0xffffffffU);
      if (u != v) visit(u, v);
    }
  }

 private:
  // A random order of the vertices: the heavy ones would else be the first rows.
  void shuffle_labels(Index vertices, std::uint64_t seed) {
    labels_.resize(static_cast<std::size_t>(vertices));
    for (Index k = 0; k < vertices; ++k) labels_[static_cast<std::size_t>(k)] = k;
    for (Index k = vertices - 1; k > 0; --k) {
      const Index other = scaled(random_bits(seed, static_cast<std::uint64_t>(k)) >> 32, k + 1);
      std::swap(labels_[static_cast<std::size_t>(k)], labels_[static_cast<std::size_t>(other)]);
    }
  }
  Index vertex(std::uint64_t u) const {
    return labels_[static_cast<std::size_t>(
        scaled((u * u) >> 32, static_cast<Index>(labels_.size())))];
  }

  Offset edges_;
  std::uint64_t seed_;
  std::vector<Index> labels_;
};

// Neighbours of each vertex, ascending and each once: those of v are the first degrees[v] of
// neighbours[starts[v]...].
struct Adjacency {
  std::vector<Offset> starts;
  std::vector<Index> neighbours, degrees;

  std::span<const Index> of(Index vertex) const {
    const auto v = static_cast<std::size_t>(vertex);
    return std::span(neighbours)
        .subspan(static_cast<std::size_t>(starts[v]), static_cast<std::size_t>(degrees[v]));
  }
};

// Sorts the neighbours of each vertex and drops those that come twice.
void normalise(Adjacency& graph) {
  const auto vertices = static_cast<Index>(graph.degrees.size());
  const int parts = io::threads_for(std::ssize(graph.neighbours));
  io::for_even_rows(vertices, parts, [&](int, io::RowRange range) {
    for (Index vertex = range.begin; vertex < range.end; ++vertex) {
      const auto v = static_cast<std::size_t>(vertex);
      const auto begin = graph.neighbours.begin() + graph.starts[v];
      const auto end = begin + graph.degrees[v];
      std::sort(begin, end);
      graph.degrees[v] = static_cast<Index>(std::unique(begin, end) - begin);
    }
  });
}

Adjacency adjacency(Index vertices, const RandomGraph& graph) {
  Adjacency result;
  result.starts.assign(static_cast<std::size_t>(vertices) + 1, 0);
  graph.for_each_edge([&](Index u, Index v) {
    ++result.starts[static_cast<std::size_t>(u) + 1];
    ++result.starts[static_cast<std::size_t>(v) + 1];
  });
  std::partial_sum(result.starts.begin(), result.starts.end(), result.starts.begin());
  result.neighbours.resize(static_cast<std::size_t>(result.starts.back()));
  result.degrees.assign(static_cast<std::size_t>(vertices), 0);
  const auto add = [&](Index u, Index v) {
    const auto at = static_cast<std::size_t>(u);
    result.neighbours[static_cast<std::size_t>(result.starts[at] + result.degrees[at]++)] = v;
  };
  graph.for_each_edge([&](Index u, Index v) {
    add(u, v);
    add(v, u);
  });
  normalise(result);
  return result;
}

}  // namespace

template <class T>
CsrMatrix<T> graph(const Arguments& arguments) {
  constexpr double shift = 0.01;
  const Index n = arguments.count(0, 4);
  const Index mean_degree = arguments.count(1, 1, n / 4);
  const Adjacency graph = adjacency(n, RandomGraph(n, mean_degree, arguments.seed(2)));
  CsrMatrix<T> a = matrix_with_row_lengths<T>(
      n, [&](Index row) { return graph.degrees[static_cast<std::size_t>(row)] + 1; });
  io::for_even_rows(n, io::threads_for(a.nonzeros()), [&](int, io::RowRange range) {
    for (Index row = range.begin; row < range.end; ++row) {
      const std::span<const Index> neighbours = graph.of(row);
      const Offset begin = a.row_offsets[static_cast<std::size_t>(row)];
      const auto split = std::lower_bound(neighbours.begin(), neighbours.end(), row);
      const auto columns = std::copy(neighbours.begin(), split, a.columns.begin() + begin);
      *columns = row;
      std::copy(split, neighbours.end(), columns + 1);
      const auto values = a.values.begin() + begin;
      std::fill(values, values + std::ssize(neighbours) + 1, T(-1));
      values[split - neighbours.begin()] =
          round_up<T>(static_cast<double>(neighbours.size()) + shift);
    }
  });
  return a;
}

// Positive definite, since x'Ax = n x_0^2 - 2 x_0 (x_1 + ...) + 2 (x_1^2 + ...)
// = x_0^2 + sum over i > 0 of (x_0 - x_i)^2 + x_i^2.
template <class T>
CsrMatrix<T> arrow(const Arguments& arguments) {
  const Index n = arguments.count(0);
  CsrMatrix<T> a = matrix_with_row_lengths<T>(n, [&](Index row) { return row == 0 ? n : 2; });
  for (Index column = 0; column < n; ++column) {
    a.columns[static_cast<std::size_t>(column)] = column;
    a.values[static_cast<std::size_t>(column)] = T(-1);
  }
  a.values[0] = round_up<T>(n);
  for (Index row = 1; row < n; ++row) {
    const auto at = static_cast<std::size_t>(a.row_offsets[static_cast<std::size_t>(row)]);
    a.columns[at] = 0;
    a.values[at] = T(-1);
    a.columns[at + 1] = row;
    a.values[at + 1] = T(2);
  }
  return a;
}

template CsrMatrix<float> graph(const Arguments&);
template CsrMatrix<double> graph(const Arguments&);
template CsrMatrix<float> arrow(const Arguments&);
template CsrMatrix<double> arrow(const Arguments&);

}  // namespace resident::generators
