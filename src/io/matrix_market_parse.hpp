// Matrix Market text to matrices and vectors, on several threads.
#pragma once

#include <resident/csr.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace resident::io {

struct ParseOptions {
  int threads = 0;              // 0: all that the process may use
  std::size_t chunk_bytes = 0;  // of text per piece of work; 0: chosen by the size of the text
};

// text_padding zero bytes must follow the text. `name` stands for it in messages. The result, and
// the message of an Error(input), do not depend on the options.
template <class T>
CsrMatrix<T> parse_matrix_market(std::string_view text, const std::string& name,
                                 const ParseOptions& options = {});

// The same for a matrix of one column.
template <class T>
std::vector<T> parse_matrix_market_vector(std::string_view text, const std::string& name,
                                          const ParseOptions& options = {});

}  // namespace resident::io
