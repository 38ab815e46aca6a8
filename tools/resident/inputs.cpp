#include "inputs.hpp"

#include <resident/error.hpp>
#include <resident/families.hpp>
#include <resident/matrix_market.hpp>

#include <fmt/format.h>

#include <charconv>
#include <cstdint>
#include <random>
#include <string_view>

namespace resident::command {
namespace {

constexpr std::string_view random_prefix = "random:";

bool is_random(std::string_view argument) { return argument.starts_with(random_prefix); }

std::uint64_t parse_seed(const std::string& argument) {
  const char* begin = argument.data() + random_prefix.size();
  const char* end = argument.data() + argument.size();
  std::uint64_t seed = 0;
  const auto [stop, error] = std::from_chars(begin, end, seed);
  if (error != std::errc() || stop != end) {
    throw Error(ErrorCategory::usage,
                fmt::format("--rhs is '{}', expected random:SEED with a seed from 0 to 2^64 - 1",
                            argument));
  }
  return seed;
}

// Not std::uniform_real_distribution: its numbers differ between standard libraries.
template <class T>
std::vector<T> random_vector(std::uint64_t seed, Index rows) {
  std::mt19937_64 engine(seed);
  std::vector<T> v(static_cast<std::size_t>(rows));
  for (T& entry : v) {
    const double unit = static_cast<double>(engine() >> 11) * 0x1p-53;
    entry = static_cast<T>(2 * unit - 1);
  }
  return v;
}

template <class T>
std::vector<T> matrix_times_ones(CsrView<T> a) {
  const std::vector<T> ones(static_cast<std::size_t>(a.cols), T(1));
  std::vector<T> b(static_cast<std::size_t>(a.rows));
  multiply(a, std::span<const T>(ones), std::span<T>(b));
  return b;
}

}  // namespace

template <class T>
CsrMatrix<T> load_matrix(const std::string& argument) {
  return is_family(argument) ? generate<T>(argument) : read_matrix_market<T>(argument);
}

template <class T>
std::vector<T> load_vector(const std::string& file, Index rows, const std::string& what) {
  std::vector<T> v = read_matrix_market_vector<T>(file);
  if (v.size() != static_cast<std::size_t>(rows)) {
    throw Error(ErrorCategory::input,
                fmt::format("{}: {} has {} entries, expected {} as the matrix has rows", file, what,
                            v.size(), rows));
  }
  return v;
}

template <class T>
std::vector<T> load_rhs(const std::string& argument, CsrView<T> a) {
  if (argument.empty()) return matrix_times_ones(a);
  if (argument == "ones") return std::vector<T>(static_cast<std::size_t>(a.rows), T(1));
  if (is_random(argument)) return random_vector<T>(parse_seed(argument), a.rows);
  return load_vector<T>(argument, a.rows, "the right-hand side");
}

void check_rhs(const std::string& argument) {
  if (is_random(argument)) parse_seed(argument);
}

template CsrMatrix<float> load_matrix(const std::string&);
template CsrMatrix<double> load_matrix(const std::string&);
template std::vector<float> load_vector(const std::string&, Index, const std::string&);
template std::vector<double> load_vector(const std::string&, Index, const std::string&);
template std::vector<float> load_rhs(const std::string&, CsrView<float>);
template std::vector<double> load_rhs(const std::string&, CsrView<double>);

}  // namespace resident::command
