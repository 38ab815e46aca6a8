// One generator for each family of matrices, and the parameters that it reads.
#pragma once

#include <resident/csr.hpp>
#include <resident/families.hpp>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace resident::generators {

// The parameters behind the family's name. Each read throws Error(usage) that names the parameter,
// what it is, and what was expected.
class Arguments {
 public:
  Arguments(std::string_view specification, const Family& family);

  // An integer from `least` to `most`.
  Index count(std::size_t position, Index least = 1,
              Index most = std::numeric_limits<Index>::max()) const;
  // A number from 1e-8 to 1e8, a range in which the families stay definite in double precision.
  double coefficient(std::size_t position) const;
  std::uint64_t seed(std::size_t position) const;

  // The product of the counts; throws where it exceeds 32 bits.
  Index rows(std::initializer_list<Index> counts) const;

 private:
  [[noreturn]] void reject(std::size_t position, const std::string& expected) const;

  std::string_view specification_;
  std::vector<std::string_view> names_, values_;
};

// A diagonal entry that is no smaller than the sum of its row: rounded up, so that a weakly
// dominant row stays so in T.
template <class T>
T round_up(double value) {
  const T rounded = static_cast<T>(value);
  return static_cast<double>(rounded) < value
             ? std::nextafter(rounded, std::numeric_limits<T>::infinity())
             : rounded;
}

template <class T>
CsrMatrix<T> poisson2d(const Arguments& arguments);
template <class T>
CsrMatrix<T> poisson3d(const Arguments& arguments);
template <class T>
CsrMatrix<T> box9(const Arguments& arguments);
template <class T>
CsrMatrix<T> box27(const Arguments& arguments);
template <class T>
CsrMatrix<T> anisotropic2d(const Arguments& arguments);
template <class T>
CsrMatrix<T> jump3d(const Arguments& arguments);
template <class T>
CsrMatrix<T> mass3d(const Arguments& arguments);
template <class T>
CsrMatrix<T> elasticity3d(const Arguments& arguments);
template <class T>
CsrMatrix<T> trefethen(const Arguments& arguments);
template <class T>
CsrMatrix<T> graph(const Arguments& arguments);
template <class T>
CsrMatrix<T> arrow(const Arguments& arguments);

}  // namespace resident::generators
