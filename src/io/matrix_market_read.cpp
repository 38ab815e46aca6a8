// Matrix Market files to matrices and vectors.
#include <resident/error.hpp>
#include <resident/matrix_market.hpp>

#include <new>

#include "io/matrix_market_parse.hpp"
#include "io/text_source.hpp"

namespace resident {
namespace {

io::TextSource open(const std::filesystem::path& file) {
  try {
    return io::TextSource(file);
  } catch (const std::bad_alloc&) {
    throw Error(ErrorCategory::memory, file.string() + ": not enough memory to hold it");
  }
}

}  // namespace

template <class T>
CsrMatrix<T> read_matrix_market(const std::filesystem::path& file) {
  const io::TextSource source = open(file);
  return io::parse_matrix_market<T>(source.text(), source.name());
}

template <class T>
std::vector<T> read_matrix_market_vector(const std::filesystem::path& file) {
  const io::TextSource source = open(file);
  return io::parse_matrix_market_vector<T>(source.text(), source.name());
}

template CsrMatrix<float> read_matrix_market(const std::filesystem::path&);
template CsrMatrix<double> read_matrix_market(const std::filesystem::path&);
template std::vector<float> read_matrix_market_vector(const std::filesystem::path&);
template std::vector<double> read_matrix_market_vector(const std::filesystem::path&);

}  // namespace resident
