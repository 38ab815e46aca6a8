// The matrix and the vectors that a command line names.
#pragma once

#include <resident/csr.hpp>

#include <string>
#include <vector>

namespace resident::command {

// A file, "-" or a family.
template <class T>
CsrMatrix<T> load_matrix(const std::string& argument);

// A vector file that must have as many entries as the matrix has rows; `what` names it in errors.
template <class T>
std::vector<T> load_vector(const std::string& file, Index rows, const std::string& what);

// The right-hand side: "" is A·1, "ones" is all ones, "random:SEED" is uniform in [-1, 1) and the
// same everywhere for the same seed, anything else is a file.
template <class T>
std::vector<T> load_rhs(const std::string& argument, CsrView<T> a);

// Throws Error(usage) if `argument` begins like a random right-hand side and is none.
void check_rhs(const std::string& argument);

}  // namespace resident::command
