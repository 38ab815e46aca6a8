// Reads banner and size line.
#include "io/matrix_market_header.hpp"

#include <fmt/format.h>
#include <resident/error.hpp>

#include <algorithm>
#include <initializer_list>
#include <limits>

#include "io/parse_number.hpp"

namespace resident::io {
namespace {

constexpr std::string_view banner_form =
    "%%MatrixMarket matrix coordinate|array real|integer|pattern general|symmetric|skew-symmetric";

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  return std::ranges::equal(a, b, {}, lower, lower);
}

// The words of one line.
class Words {
 public:
  Words(const char* begin, const char* end, const char* text_end)
      : next_(begin), end_(end), text_end_(text_end) {
    skip_blanks();
  }

  const char* position() const { return next_; }
  bool at_end() const { return next_ == end_; }

  std::string_view peek() const {
    return {next_, static_cast<std::size_t>(std::find_if(next_, end_, is_blank) - next_)};
  }

  void skip() {
    next_ += peek().size();
    skip_blanks();
  }

  // The index of the next word among `choices`.
  int take_choice(std::string_view what, std::initializer_list<std::string_view> choices) {
    int index = 0;
    std::string expected = fmt::format("the {}", what);
    for (const std::string_view choice : choices) {
      if (equal_ignoring_case(peek(), choice)) {
        skip();
        return index;
      }
      expected += fmt::format("{} {}", index++ == 0 ? "" : " or", choice);
    }
    fail(expected);
  }

  std::int64_t take_count(std::string_view what, std::int64_t most) {
    const ParsedCount count = parse_count(next_);
    const bool whole_word = count.digits > 0 && count.end == next_ + peek().size();
    if (!whole_word || count.value > static_cast<std::uint64_t>(most)) {
      fail(fmt::format("the {}, from 0 to {}", what, most));
    }
    skip();
    return static_cast<std::int64_t>(count.value);
  }

  void take_end() const {
    if (!at_end()) fail("the end of the line");
  }

  [[noreturn]] void fail(std::string_view expected) const {
    throw TextError{next_,
                    fmt::format("found {}, expected {}", found_at(next_, text_end_), expected)};
  }

 private:
  void skip_blanks() { next_ = std::find_if_not(next_, end_, is_blank); }

  const char* next_;
  const char* end_;
  const char* text_end_;
};

// Takes the text apart into lines.
class Lines {
 public:
  explicit Lines(std::string_view text) : next_(text.data()), end_(next_ + text.size()) {}

  Words take() {
    const char* const begin = next_;
    const char* const line_end = std::find(begin, end_, '\n');
    next_ = line_end == end_ ? end_ : line_end + 1;
    ++taken_;
    return {begin, line_end, end_};
  }

  bool at_end() const { return next_ == end_; }
  const char* position() const { return next_; }
  std::size_t taken() const { return taken_; }

 private:
  const char* next_;
  const char* end_;
  std::size_t taken_ = 0;
};

void parse_banner(Words words, bool starts_text, MatrixMarketHeader& header) {
  if (!starts_text || !equal_ignoring_case(words.peek(), "%%MatrixMarket")) {
    words.fail(fmt::format("the banner '{}'", banner_form));
  }
  words.skip();
  words.take_choice("object", {"matrix"});
  header.format = static_cast<Format>(words.take_choice("format", {"coordinate", "array"}));
  if (equal_ignoring_case(words.peek(), "complex")) {
    words.fail("the field real, integer or pattern: complex matrices are not supported");
  }
  header.field =
      header.format == Format::array
          ? static_cast<Field>(words.take_choice("field", {"real", "integer"}))
          : static_cast<Field>(words.take_choice("field", {"real", "integer", "pattern"}));
  if (equal_ignoring_case(words.peek(), "hermitian")) {
    words.fail(
        "the symmetry general, symmetric or skew-symmetric: Hermitian matrices are complex, and "
        "complex matrices are not supported");
  }
  header.symmetry = static_cast<Symmetry>(
      words.take_choice("symmetry", {"general", "symmetric", "skew-symmetric"}));
  words.take_end();
}

std::int64_t array_entries(const MatrixMarketHeader& header) {
  const std::int64_t rows = header.rows;
  switch (header.symmetry) {
    case Symmetry::general:
      return rows * header.cols;
    case Symmetry::symmetric:
      return rows * (rows + 1) / 2;
    case Symmetry::skew_symmetric:
      return rows * (rows - 1) / 2;
  }
  return 0;
}

void parse_size_line(Words words, std::size_t text_bytes, MatrixMarketHeader& header) {
  const Words start = words;
  constexpr std::int64_t index_max = std::numeric_limits<Index>::max();
  header.rows = static_cast<Index>(words.take_count("number of rows", index_max));
  header.cols = static_cast<Index>(words.take_count("number of columns", index_max));
  if (header.symmetry != Symmetry::general && header.rows != header.cols) {
    throw TextError{start.position(),
                    fmt::format("found {} rows and {} columns, expected as many rows as columns in "
                                "a symmetric or skew-symmetric matrix",
                                header.rows, header.cols)};
  }
  header.entries =
      header.format == Format::array
          ? array_entries(header)
          : words.take_count("number of entries", std::numeric_limits<std::int64_t>::max());
  words.take_end();

  const std::int64_t most_rows = 1'000'000 + 4 * static_cast<std::int64_t>(text_bytes);
  if (header.rows > most_rows) {
    throw TextError{start.position(),
                    fmt::format("found {} rows, expected at most {} in a file of {} bytes of text "
                                "(almost all rows would be empty)",
                                header.rows, most_rows, text_bytes)};
  }
}

}  // namespace

void throw_input_error(std::string_view text, const std::string& name, const TextError& error) {
  if (error.position == nullptr) {
    throw Error(ErrorCategory::input, fmt::format("{}: {}", name, error.message));
  }
  const auto line = 1 + std::count(text.data(), error.position, '\n');
  throw Error(ErrorCategory::input, fmt::format("{}:{}: {}", name, line, error.message));
}

std::string found_at(const char* p, const char* text_end) {
  constexpr std::ptrdiff_t longest = 40;
  const char* const limit = text_end - p > longest ? p + longest : text_end;
  const char* const end = std::find_if(p, limit, [](char c) { return is_blank(c) || c == '\n'; });
  if (p == text_end) return "the end of the file";
  if (p == end) return "the end of the line";
  std::string word = "'";
  for (; p != end; ++p) {
    const auto byte = static_cast<unsigned char>(*p);
    if (byte >= 0x20 && byte < 0x7f) {
      word += *p;
    } else {
      word += fmt::format("\\x{:02x}", byte);
    }
  }
  return word + (end == limit && end != text_end ? "...'" : "'");
}

MatrixMarketHeader parse_header(std::string_view text) {
  MatrixMarketHeader header;
  Lines lines(text);
  const bool starts_text = text.starts_with("%%");
  parse_banner(lines.take(), starts_text, header);
  while (!lines.at_end()) {
    const Words words = lines.take();
    if (words.at_end() || *words.position() == '%') continue;
    parse_size_line(words, text.size(), header);
    header.size_line = lines.taken();
    header.body_start = static_cast<std::size_t>(lines.position() - text.data());
    return header;
  }
  throw TextError{lines.position(),
                  fmt::format("found the end of the file, expected the size line: {}",
                              header.format == Format::array ? "rows and columns"
                                                             : "rows, columns and entries")};
}

}  // namespace resident::io
