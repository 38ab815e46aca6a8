// Generated families of symmetric positive definite matrices, named like "poisson3d:64:64:64".
#pragma once

#include <resident/csr.hpp>

#include <span>
#include <string>
#include <string_view>

namespace resident {

struct Family {
  std::string_view name;         // "poisson3d"
  std::string_view parameters;   // "NX:NY:NZ"
  std::string_view description;  // one line
};

// All families that generate() knows.
std::span<const Family> families();

// True if `specification` starts with the name of a family and a colon (its parameters may still be
// wrong); false for anything that can only be a file name.
bool is_family(std::string_view specification);

// The matrix, sorted columns, both triangles. Throws Error(usage) for an unknown family, a wrong
// number of parameters, a parameter out of range, or a size that overflows 32-bit rows.
template <class T>
CsrMatrix<T> generate(std::string_view specification);

}  // namespace resident
