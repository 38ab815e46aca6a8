// Trefethen's matrix: primes on the diagonal, ones at distances that are powers of two (problem 7
// of the SIAM 100-digit challenge, 2002).
#include <bit>
#include <cmath>

#include "io/family_generators.hpp"
#include "io/grid.hpp"

namespace resident::generators {
namespace {

// The first `count` primes, by the sieve of Eratosthenes over odd numbers.
std::vector<std::int64_t> first_primes(Index count) {
  // Rosser and Schoenfeld 1962: the n-th prime is below n (ln n + ln ln n) for n >= 6.
  const double n = std::max<double>(count, 6);
  const auto bound = static_cast<std::size_t>(n * (std::log(n) + std::log(std::log(n)))) + 2;
  std::vector<bool> composite(bound / 2);  // [i] tells of 2 i + 1
  std::vector<std::int64_t> primes = {2};
  primes.reserve(static_cast<std::size_t>(count));
  for (std::size_t i = 1; primes.size() < static_cast<std::size_t>(count); ++i) {
    if (composite[i]) continue;
    const std::size_t prime = 2 * i + 1;
    primes.push_back(static_cast<std::int64_t>(prime));
    for (std::size_t k = prime * prime / 2; k < composite.size(); k += prime) composite[k] = true;
  }
  return primes;
}

// How many powers of two are at most `distance`.
int powers_within(Index distance) { return std::bit_width(static_cast<std::uint32_t>(distance)); }

}  // namespace

template <class T>
CsrMatrix<T> trefethen(const Arguments& arguments) {
  const Index n = arguments.count(0);
  const std::vector<std::int64_t> primes = first_primes(n);
  CsrMatrix<T> a = matrix_with_row_lengths<T>(
      n, [&](Index row) { return powers_within(row) + 1 + powers_within(n - 1 - row); });
  const int parts = io::threads_for(a.nonzeros());
  io::for_even_rows(n, parts, [&](int, io::RowRange range) {
    auto at = static_cast<std::size_t>(a.row_offsets[static_cast<std::size_t>(range.begin)]);
    const auto put = [&](Index column, T value) {
      a.columns[at] = column;
      a.values[at] = value;
      ++at;
    };
    for (Index row = range.begin; row < range.end; ++row) {
      for (int k = powers_within(row) - 1; k >= 0; --k) put(row - (Index{1} << k), T(1));
      put(row, static_cast<T>(primes[static_cast<std::size_t>(row)]));
      for (int k = 0; k < powers_within(n - 1 - row); ++k) put(row + (Index{1} << k), T(1));
    }
  });
  return a;
}

template CsrMatrix<float> trefethen(const Arguments&);
template CsrMatrix<double> trefethen(const Arguments&);

}  // namespace resident::generators
