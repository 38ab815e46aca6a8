// Small systems as files, for the tests of the command.
#pragma once

#include <sstream>
#include <string>
#include <vector>

// A = [4 1 0; 1 3 0; 0 0 2]
inline const std::string tiny_matrix =
    "%%MatrixMarket matrix coordinate real symmetric\n3 3 4\n1 1 4\n2 1 1\n2 2 3\n3 3 2\n";
// Its solution for this b is (1/11, 7/11, 3).
inline const std::string tiny_rhs = "%%MatrixMarket matrix array real general\n3 1\n1\n2\n6\n";
inline const std::vector<double> tiny_solution = {1.0 / 11, 7.0 / 11, 3.0};

inline const std::string nonsymmetric_matrix =
    "%%MatrixMarket matrix coordinate real general\n2 2 3\n1 1 2\n1 2 1\n2 2 2\n";
inline const std::string rectangular_matrix =
    "%%MatrixMarket matrix coordinate real general\n2 3 2\n1 1 2\n2 3 1\n";
// Eigenvalues 3 and -1; the second belongs to (1, -1).
inline const std::string indefinite_matrix =
    "%%MatrixMarket matrix coordinate real symmetric\n2 2 3\n1 1 1\n2 1 2\n2 2 1\n";
inline const std::string indefinite_direction =
    "%%MatrixMarket matrix array real general\n2 1\n1\n-1\n";
inline const std::string negative_diagonal_matrix =
    "%%MatrixMarket matrix coordinate real symmetric\n2 2 2\n1 1 1\n2 2 -1\n";
// Row sums overflow, and with them b = A*1.
inline const std::string overflowing_matrix =
    "%%MatrixMarket matrix coordinate real symmetric\n"
    "2 2 3\n1 1 1.6e308\n2 1 1.5e308\n2 2 1.6e308\n";
inline const std::string nan_matrix =
    "%%MatrixMarket matrix coordinate real symmetric\n2 2 2\n1 1 1\n2 2 nan\n";

// The entries of an array file with one column, as the command writes it.
inline std::vector<double> parse_vector(const std::string& text) {
  std::istringstream stream(text);
  std::string line;
  do {
    std::getline(stream, line);
  } while (stream && line.starts_with('%'));
  std::istringstream sizes(line);
  std::size_t rows = 0, columns = 0;
  sizes >> rows >> columns;
  std::vector<double> v;
  for (double entry = 0; stream >> entry;) v.push_back(entry);
  if (columns != 1 || v.size() != rows) v.clear();
  return v;
}
