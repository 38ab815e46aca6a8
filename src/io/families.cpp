// The list of generated families, and how a specification such as "poisson3d:64:64:64" is read.
#include <fmt/format.h>
#include <resident/error.hpp>
#include <resident/families.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <new>

#include "io/family_generators.hpp"

namespace resident {
namespace {

constexpr std::array<Family, 11> all_families{{
    {"poisson2d", "NX:NY", "5-point Laplacian: 4 on the diagonal, -1 for neighbours"},
    {"poisson3d", "NX:NY:NZ", "7-point Laplacian: 6 on the diagonal, -1 for neighbours"},
    {"box9", "NX:NY", "all 8 neighbours: 8 on the diagonal, -1 for neighbours"},
    {"box27", "NX:NY:NZ", "all 26 neighbours: 26 on the diagonal, -1 for neighbours"},
    {"trefethen", "N", "primes on the diagonal, 1 where |i - j| is a power of two"},
    {"elasticity3d", "NX:NY:NZ", "trilinear hexahedra, 3 unknowns a node, one face clamped"},
    {"anisotropic2d", "NX:NY:EPS", "5-point: -1 for neighbours in x, -EPS in y"},
    {"jump3d", "NX:NY:NZ:CONTRAST", "7-point, coefficient 1 or CONTRAST in a checkerboard"},
    {"mass3d", "NX:NY:NZ", "mass matrix of trilinear hexahedra, 27 points"},
    {"graph", "N:DEGREE:SEED", "shifted Laplacian of a random graph with power-law degrees"},
    {"arrow", "N", "one dense row and column, else diagonal"},
}};

template <class T>
using Generator = CsrMatrix<T> (*)(const generators::Arguments&);

// In the order of all_families.
template <class T>
constexpr std::array<Generator<T>, all_families.size()> all_generators{
    generators::poisson2d<T>,     generators::poisson3d<T>, generators::box9<T>,
    generators::box27<T>,         generators::trefethen<T>, generators::elasticity3d<T>,
    generators::anisotropic2d<T>, generators::jump3d<T>,    generators::mass3d<T>,
    generators::graph<T>,         generators::arrow<T>};

std::string_view name_of(std::string_view specification) {
  return specification.substr(0, specification.find(':'));
}

// The position of the family in all_families, or its size.
std::size_t find_family(std::string_view specification) {
  const auto at = std::ranges::find(all_families, name_of(specification), &Family::name);
  return static_cast<std::size_t>(at - all_families.begin());
}

std::vector<std::string_view> split(std::string_view fields) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t colon = fields.find(':');
    parts.push_back(fields.substr(0, colon));
    if (colon == std::string_view::npos) return parts;
    fields.remove_prefix(colon + 1);
  }
}

// True if the whole text is one number.
template <class Number>
bool parse(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

namespace generators {

Arguments::Arguments(std::string_view specification, const Family& family)
    : specification_(specification), names_(split(family.parameters)) {
  const std::size_t colon = specification.find(':');
  if (colon != std::string_view::npos) values_ = split(specification.substr(colon + 1));
  if (values_.size() != names_.size()) {
    throw Error(ErrorCategory::usage,
                fmt::format("{}: found {} parameters, expected {}:{}", specification,
                            values_.size(), family.name, family.parameters));
  }
}

Index Arguments::count(std::size_t position, Index least, Index most) const {
  Index number = 0;
  if (!parse(values_[position], number) || number < least || number > most) {
    reject(position, fmt::format("an integer from {} to {}", least, most));
  }
  return number;
}

double Arguments::coefficient(std::size_t position) const {
  double number = 0;
  if (!parse(values_[position], number) || !(number >= 1e-8 && number <= 1e8)) {
    reject(position, "a number from 1e-8 to 1e8");
  }
  return number;
}

std::uint64_t Arguments::seed(std::size_t position) const {
  std::uint64_t number = 0;
  if (!parse(values_[position], number)) reject(position, "an integer from 0 to 2^64 - 1");
  return number;
}

Index Arguments::rows(std::initializer_list<Index> counts) const {
  constexpr Index most = std::numeric_limits<Index>::max();
  Index product = 1;
  for (const Index count : counts) {
    if (count > most / product) {
      throw Error(ErrorCategory::usage,
                  fmt::format("{}: more than {} rows, the most that 32-bit column numbers allow",
                              specification_, most));
    }
    product *= count;
  }
  return product;
}

void Arguments::reject(std::size_t position, const std::string& expected) const {
  throw Error(ErrorCategory::usage, fmt::format("{}: {} is '{}', expected {}", specification_,
                                                names_[position], values_[position], expected));
}

}  // namespace generators

std::span<const Family> families() { return all_families; }

bool is_family(std::string_view specification) {
  return specification.find(':') != std::string_view::npos &&
         find_family(specification) < all_families.size();
}

template <class T>
CsrMatrix<T> generate(std::string_view specification) {
  const std::size_t at = find_family(specification);
  if (at == all_families.size()) {
    std::string known;
    for (const Family& family : all_families) {
      known += fmt::format("{}{}", known.empty() ? "" : ", ", family.name);
    }
    throw Error(ErrorCategory::usage, fmt::format("{}: no family is named '{}', expected one of {}",
                                                  specification, name_of(specification), known));
  }
  const generators::Arguments arguments(specification, all_families[at]);
  try {
    return all_generators<T>[at](arguments);
  } catch (const std::bad_alloc&) {
    throw Error(ErrorCategory::memory,
                fmt::format("{}: not enough memory for the matrix", specification));
  }
}

template CsrMatrix<float> generate(std::string_view);
template CsrMatrix<double> generate(std::string_view);

}  // namespace resident
