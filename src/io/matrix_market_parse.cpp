// The body of a Matrix Market file: cut at line ends into chunks, which are parsed independently.
#include "io/matrix_market_parse.hpp"

#include <fmt/format.h>
#include <resident/error.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <new>
#include <numeric>
#include <span>
#include <stdexcept>

#include "core/cpu_threads.hpp"
#include "io/coordinate_to_csr.hpp"
#include "io/matrix_market_header.hpp"
#include "io/parallel_for.hpp"
#include "io/parse_number.hpp"

namespace resident::io {
namespace {

std::vector<std::string_view> cut_at_lines(std::string_view body, std::size_t chunk_bytes) {
  constexpr std::size_t usual_bytes = 1 << 20, most_chunks = 1 << 12;
  if (chunk_bytes == 0) chunk_bytes = std::max(usual_bytes, body.size() / most_chunks);
  std::vector<std::string_view> chunks;
  while (!body.empty()) {
    const std::size_t newline = body.find('\n', std::min(chunk_bytes, body.size()) - 1);
    const std::size_t bytes = newline == std::string_view::npos ? body.size() : newline + 1;
    chunks.push_back(body.substr(0, bytes));
    body.remove_prefix(bytes);
  }
  return chunks;
}

// Reads the lines of one chunk. Lines are found by their words alone: every chunk ends with a line
// end or with the text, whose padding is neither digit nor blank.
template <class T>
class LineParser {
 public:
  LineParser(const MatrixMarketHeader& header, std::string_view chunk, const char* text_end)
      : header_(header),
        next_(chunk.data()),
        end_(chunk.data() + chunk.size()),
        text_end_(text_end) {}

  // Goes to the next line that is neither blank nor a comment; false where none is left.
  bool seek() {
    while (next_ != end_) {
      skip_blanks();
      if (next_ == end_) return false;
      if (*next_ == '%') {
        const void* newline = std::memchr(next_, '\n', static_cast<std::size_t>(end_ - next_));
        if (newline == nullptr) return false;
        next_ = static_cast<const char*>(newline);
      }
      if (*next_ != '\n') return true;
      ++next_;
    }
    return false;
  }

  const char* position() const { return next_; }

  Entry<T> take_entry() {
    const char* const start = next_;
    Entry<T> entry;
    entry.row = take_index("row", header_.rows);
    entry.column = take_index("column", header_.cols);
    entry.value = header_.field == Field::pattern ? T{1} : take_number();
    take_line_end();
    if (header_.symmetry != Symmetry::general && entry.column >= entry.row) [[unlikely]] {
      check_triangle(start, entry);
    }
    return entry;
  }

  T take_value() {
    const T value = take_number();
    take_line_end();
    return value;
  }

 private:
  void skip_blanks() {
    while (is_blank(*next_)) ++next_;
  }

  Index take_index(const char* what, Index most) {
    const ParsedCount count = parse_count(next_);
    const bool whole_word = ends_word(count.end);
    if (count.digits == 0 || !whole_word || count.value - 1 >= static_cast<std::uint64_t>(most))
        [[unlikely]] {
      fail(fmt::format("a {} index from 1 to {}", what, most));
    }
    next_ = count.end;
    skip_blanks();
    return static_cast<Index>(count.value - 1);
  }

  T take_number() {
    const ParsedNumber<T> number = parse_number<T>(next_);
    const bool readable = number.status == NumberStatus::ok && ends_word(number.end);
    if (!readable || (header_.field == Field::integer && !number.integer)) [[unlikely]] {
      refuse_number(number);
    }
    next_ = number.end;
    skip_blanks();
    return number.value;
  }

  void take_line_end() {
    if (*next_ == '\n') [[likely]] {
      ++next_;
    } else if (next_ != text_end_) {
      fail("the end of the line");
    }
  }

  bool ends_word(const char* p) const { return is_blank(*p) || *p == '\n' || p == text_end_; }

  [[noreturn]] void refuse_number(const ParsedNumber<T>& number) const {
    const bool whole_word = ends_word(number.end);
    if (number.status == NumberStatus::not_finite && whole_word) fail("a finite number");
    if (number.status == NumberStatus::too_large && whole_word) {
      fail(fmt::format("a number no larger than {:.9g}", std::numeric_limits<T>::max()));
    }
    fail(header_.field == Field::integer ? "an integer value" : "a real value");
  }

  void check_triangle(const char* start, const Entry<T>& entry) const {
    const auto row = std::int64_t{entry.row} + 1, column = std::int64_t{entry.column} + 1;
    if (row != column) {
      throw TextError{start, fmt::format("found entry ({}, {}) above the diagonal, expected only "
                                         "the lower triangle of a {} matrix",
                                         row, column, symmetry_name())};
    }
    if (header_.symmetry == Symmetry::skew_symmetric) {
      throw TextError{start, fmt::format("found diagonal entry ({}, {}), expected none in a "
                                         "skew-symmetric matrix",
                                         row, column)};
    }
  }

  const char* symmetry_name() const {
    return header_.symmetry == Symmetry::symmetric ? "symmetric" : "skew-symmetric";
  }

  [[noreturn]] void fail(const std::string& expected) const {
    throw TextError{next_,
                    fmt::format("found {}, expected {}", found_at(next_, text_end_), expected)};
  }

  const MatrixMarketHeader& header_;
  const char* next_;
  const char* end_;
  const char* text_end_;
};

template <class T>
class BodyParser {
 public:
  BodyParser(std::string_view text, const ParseOptions& options)
      : text_(text),
        header_(parse_header(text)),
        chunks_(cut_at_lines(text.substr(header_.body_start), options.chunk_bytes)),
        threads_(options.threads > 0 ? options.threads : available_cpu_threads()) {}

  CsrMatrix<T> matrix() {
    const std::int64_t copies = header_.symmetry == Symmetry::general ? 1 : 2;
    const auto held = static_cast<std::int64_t>(text_.size() / bytes_per_line());
    const std::int64_t expected = copies * std::min(header_.entries, held);
    const RowBuckets buckets = choose_buckets(header_.rows, expected);
    EntryArena<T> arena(expected);
    const std::vector<BucketedEntries<T>> grouped = header_.format == Format::coordinate
                                                        ? group_coordinates(buckets, arena)
                                                        : group_array(buckets, arena);
    return to_csr<T>(header_.rows, header_.cols, grouped, buckets, threads_);
  }

  std::vector<T> vector() {
    if (header_.cols != 1) {
      throw TextError{
          size_line_position(),
          fmt::format("found {} columns, expected a vector: a matrix of one column", header_.cols)};
    }
    if (header_.format == Format::coordinate) return vector_of_entries();
    std::vector<T> x;
    x.reserve(static_cast<std::size_t>(header_.rows));
    for (const std::vector<T>& chunk : parse_values())
      x.insert(x.end(), chunk.begin(), chunk.end());
    x.resize(static_cast<std::size_t>(header_.rows));  // skew-symmetric: the diagonal is zero
    return x;
  }

 private:
  // The shortest line that holds an entry: "1 1", "1 1 1" or "1", and its end.
  std::size_t bytes_per_line() const {
    if (header_.format == Format::array) return 2;
    return header_.field == Field::pattern ? 4 : 6;
  }

  const char* size_line_position() const {
    const char* const body = text_.data() + header_.body_start;
    return body[-1] == '\n' ? body - 1 : body;
  }

  LineParser<T> parser(std::size_t chunk) const {
    return {header_, chunks_[chunk], text_.data() + text_.size()};
  }

  Mirror mirror() const {
    switch (header_.symmetry) {
      case Symmetry::symmetric:
        return Mirror::same;
      case Symmetry::skew_symmetric:
        return Mirror::negated;
      case Symmetry::general:
        break;
    }
    return Mirror::none;
  }

  // Calls use(chunk, entries) for every chunk on the thread that parsed it. The scratch memory of
  // a thread is reused: it holds as many entries as fit the longest chunk.
  template <class Use>
  void parse_entries(Use use) {
    std::size_t longest = 0;
    for (const std::string_view chunk : chunks_) longest = std::max(longest, chunk.size());
    const std::size_t capacity = longest / bytes_per_line() + 1;
    std::vector<std::unique_ptr<Entry<T>[]>> scratch(static_cast<std::size_t>(threads_));
    std::vector<std::int64_t> counts(chunks_.size());
    parallel_for(chunks_.size(), threads_, [&](int worker, std::size_t chunk) {
      std::unique_ptr<Entry<T>[]>& entries = scratch[static_cast<std::size_t>(worker)];
      if (!entries) entries = std::make_unique_for_overwrite<Entry<T>[]>(capacity);
      LineParser<T> lines = parser(chunk);
      std::size_t count = 0;
      while (lines.seek()) entries[count++] = lines.take_entry();
      counts[chunk] = static_cast<std::int64_t>(count);
      use(chunk, std::span<const Entry<T>>(entries.get(), count));
    });
    check_counts(counts);
  }

  std::vector<BucketedEntries<T>> group_coordinates(const RowBuckets& buckets,
                                                    EntryArena<T>& arena) {
    std::vector<BucketedEntries<T>> grouped(chunks_.size());
    parse_entries([&](std::size_t chunk, std::span<const Entry<T>> entries) {
      grouped[chunk] = group_by_bucket(entries, mirror(), buckets, arena);
    });
    return grouped;
  }

  std::vector<T> vector_of_entries() {
    std::vector<std::vector<Entry<T>>> entries(chunks_.size());
    parse_entries([&](std::size_t chunk, std::span<const Entry<T>> parsed) {
      entries[chunk].assign(parsed.begin(), parsed.end());
    });
    std::vector<T> x(static_cast<std::size_t>(header_.rows));
    for (const std::vector<Entry<T>>& chunk : entries) {
      for (const Entry<T>& entry : chunk) x[static_cast<std::size_t>(entry.row)] += entry.value;
    }
    const auto infinite = std::ranges::find_if_not(x, [](T value) { return std::isfinite(value); });
    if (infinite == x.end()) return x;
    throw TextError{nullptr, fmt::format("found entries ({}, 1) whose sum is beyond the largest "
                                         "number, expected a finite sum",
                                         infinite - x.begin() + 1)};
  }

  std::vector<std::vector<T>> parse_values() {
    std::vector<std::vector<T>> values(chunks_.size());
    std::vector<std::int64_t> counts(chunks_.size());
    parallel_for(chunks_.size(), threads_, [&](int, std::size_t chunk) {
      LineParser<T> lines = parser(chunk);
      while (lines.seek()) values[chunk].push_back(lines.take_value());
      counts[chunk] = static_cast<std::int64_t>(values[chunk].size());
    });
    check_counts(counts);
    return values;
  }

  // A dense listing says nothing about structure: its zeros are not stored.
  std::vector<BucketedEntries<T>> group_array(const RowBuckets& buckets, EntryArena<T>& arena) {
    const std::vector<std::vector<T>> values = parse_values();
    std::vector<std::int64_t> starts(values.size() + 1, 0);
    for (std::size_t c = 0; c < values.size(); ++c) {
      starts[c + 1] = starts[c] + static_cast<std::int64_t>(values[c].size());
    }
    std::vector<BucketedEntries<T>> grouped(values.size());
    parallel_for(values.size(), threads_, [&](int, std::size_t c) {
      std::vector<Entry<T>> entries;
      entries.reserve(values[c].size());
      Entry<T> place = array_place(starts[c]);
      for (const T value : values[c]) {
        if (value != 0) entries.push_back({place.row, place.column, value});
        advance(place);
      }
      grouped[c] = group_by_bucket(std::span<const Entry<T>>(entries), mirror(), buckets, arena);
    });
    return grouped;
  }

  // The first row that an array file lists of a column.
  Index first_listed_row(Index column) const {
    switch (header_.symmetry) {
      case Symmetry::symmetric:
        return column;
      case Symmetry::skew_symmetric:
        return column + 1;
      case Symmetry::general:
        break;
    }
    return 0;
  }

  void advance(Entry<T>& place) const {
    if (++place.row < header_.rows) return;
    ++place.column;
    place.row = first_listed_row(place.column);
  }

  // Where the k-th value of an array file belongs.
  Entry<T> array_place(std::int64_t k) const {
    Entry<T> place = {0, 0, 0};
    const auto length = [&] { return std::int64_t{header_.rows} - first_listed_row(place.column); };
    while (place.column < header_.cols && k >= length()) {
      k -= length();
      ++place.column;
    }
    place.row = static_cast<Index>(first_listed_row(place.column) + k);
    return place;
  }

  void check_counts(std::span<const std::int64_t> counts) const {
    std::int64_t left = header_.entries;
    for (std::size_t chunk = 0; chunk < counts.size(); ++chunk) {
      if (counts[chunk] > left) fail_at_excess(chunk, left);
      left -= counts[chunk];
    }
    if (left == 0) return;
    const char* last = text_.data() + text_.size();
    if (last[-1] == '\n') --last;
    throw TextError{last, fmt::format("found the end of the file after {} entries, expected {} as "
                                      "line {} says",
                                      header_.entries - left, header_.entries, header_.size_line)};
  }

  [[noreturn]] void fail_at_excess(std::size_t chunk, std::int64_t skip) const {
    LineParser<T> lines = parser(chunk);
    lines.seek();
    for (; skip > 0; --skip) {
      header_.format == Format::array ? static_cast<void>(lines.take_value())
                                      : static_cast<void>(lines.take_entry());
      lines.seek();
    }
    throw TextError{lines.position(), fmt::format("found an entry after the last, expected {} "
                                                  "entries as line {} says",
                                                  header_.entries, header_.size_line)};
  }

  std::string_view text_;
  MatrixMarketHeader header_;
  std::vector<std::string_view> chunks_;
  int threads_;
};

// Runs `parse` and turns what it throws into an Error.
template <class Parse>
auto with_errors(std::string_view text, const std::string& name, Parse parse) {
  try {
    return parse();
  } catch (const TextError& error) {
    throw_input_error(text, name, error);
  } catch (const std::bad_alloc&) {
    throw Error(ErrorCategory::memory, name + ": not enough memory to hold it");
  } catch (const std::length_error&) {
    throw Error(ErrorCategory::memory, name + ": not enough memory to hold it");
  }
}

}  // namespace

template <class T>
CsrMatrix<T> parse_matrix_market(std::string_view text, const std::string& name,
                                 const ParseOptions& options) {
  return with_errors(text, name, [&] { return BodyParser<T>(text, options).matrix(); });
}

template <class T>
std::vector<T> parse_matrix_market_vector(std::string_view text, const std::string& name,
                                          const ParseOptions& options) {
  return with_errors(text, name, [&] { return BodyParser<T>(text, options).vector(); });
}

template CsrMatrix<float> parse_matrix_market(std::string_view, const std::string&,
                                              const ParseOptions&);
template CsrMatrix<double> parse_matrix_market(std::string_view, const std::string&,
                                               const ParseOptions&);
template std::vector<float> parse_matrix_market_vector(std::string_view, const std::string&,
                                                       const ParseOptions&);
template std::vector<double> parse_matrix_market_vector(std::string_view, const std::string&,
                                                        const ParseOptions&);

}  // namespace resident::io
