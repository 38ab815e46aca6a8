// The banner and the size line of a Matrix Market file, and errors that name a line.
#pragma once

#include <resident/csr.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace resident::io {

enum class Format { coordinate, array };
enum class Field { real, integer, pattern };
enum class Symmetry { general, symmetric, skew_symmetric };

struct MatrixMarketHeader {
  Format format = Format::coordinate;
  Field field = Field::real;
  Symmetry symmetry = Symmetry::general;
  Index rows = 0;
  Index cols = 0;
  std::int64_t entries = 0;    // that the body must hold, one per line
  std::size_t size_line = 0;   // its number, counted from 1
  std::size_t body_start = 0;  // bytes before the first line of the body
};

// Something wrong at a place in the text. The line number is computed where the error leaves the
// parser: only there is the whole text known.
struct TextError {
  const char* position;
  std::string message;
};

// Turns a TextError into the Error that users see: "NAME:LINE: MESSAGE".
[[noreturn]] void throw_input_error(std::string_view text, const std::string& name,
                                    const TextError& error);

// The word at p, quoted for a message: shortened, unprintable characters as \x00. "the end of the
// line" or "the end of the file" where no word is left.
std::string found_at(const char* p, const char* text_end);

// Throws TextError. Rows without any entry cost memory that the file does not pay for, so a header
// may promise at most 1,000,000 rows and four more for each byte of text.
MatrixMarketHeader parse_header(std::string_view text);

}  // namespace resident::io
