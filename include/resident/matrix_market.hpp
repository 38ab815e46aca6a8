// Matrix Market files: https://math.nist.gov/MatrixMarket/formats.html
//
//   auto a = resident::read_matrix_market<double>("matrices/bcsstk14.mtx.gz");
#pragma once

#include <resident/csr.hpp>

#include <filesystem>
#include <iosfwd>
#include <span>
#include <vector>

namespace resident {

// Reads a coordinate or array file, plain or gzip-compressed; "-" reads standard input. Fields
// real, integer and pattern (every entry is 1); symmetries general, symmetric and skew-symmetric
// (expanded to both triangles). Entries given more than once are summed in the order of the file;
// zeros of an array file are not stored. The result has sorted columns and does not depend on the
// number of threads. Values are correctly rounded; those too small for T become zero. Throws
// Error(input) with file, line, what was found and what was expected. Nothing is allocated because
// a header asks for it: a file may have at most 1,000,000 rows and four more per byte of text.
template <class T>
CsrMatrix<T> read_matrix_market(const std::filesystem::path& file);

// Reads a dense vector: an array file of one column, or a coordinate file with one column.
template <class T>
std::vector<T> read_matrix_market_vector(const std::filesystem::path& file);

enum class MatrixMarketSymmetry { general, symmetric };

// Writes with as many digits as it takes to read the same bits back, at most 17 significant ones (9
// for float), to a temporary file beside `file`, then renames: a failed write leaves no partial
// file. "-" writes standard output; a name that ends in .gz is compressed. `symmetric` stores the
// lower triangle of a symmetric matrix. Throws Error(output).
template <class T>
void write_matrix_market(const std::filesystem::path& file, CsrView<T> a,
                         MatrixMarketSymmetry symmetry = MatrixMarketSymmetry::general);

// Writes a dense vector as an array of one column.
template <class T>
void write_matrix_market(const std::filesystem::path& file, std::span<const T> x);

}  // namespace resident
