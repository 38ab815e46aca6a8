// Matrices and vectors to Matrix Market files.
#include <resident/error.hpp>
#include <resident/matrix_market.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

#include "io/output_file.hpp"

namespace resident {
namespace {

// Collects lines into blocks. Numbers are written with the fewest digits from which the same bits
// are read back: at most 17 for double, 9 for float.
class LineWriter {
 public:
  explicit LineWriter(const std::filesystem::path& file) : file_(file) {}

  template <class Number>
  LineWriter& operator<<(Number number) {
    make_room(longest_number);
    next_ = std::to_chars(next_, block_.data() + block_.size(), number).ptr;
    return *this;
  }

  LineWriter& operator<<(char c) {
    make_room(1);
    *next_++ = c;
    return *this;
  }

  LineWriter& operator<<(std::string_view text) {
    make_room(text.size());
    next_ = std::ranges::copy(text, next_).out;
    return *this;
  }

  void commit() {
    flush();
    file_.commit();
  }

 private:
  static constexpr std::size_t longest_number = 32;

  void make_room(std::size_t bytes) {
    const auto used = static_cast<std::size_t>(next_ - block_.data());
    if (block_.size() - used < bytes) flush();
  }

  void flush() {
    file_.write({block_.data(), static_cast<std::size_t>(next_ - block_.data())});
    next_ = block_.data();
  }

  io::OutputFile file_;
  std::array<char, 1 << 16> block_;
  char* next_ = block_.data();
};

template <class T, class Visit>
void for_each_written_entry(CsrView<T> a, MatrixMarketSymmetry symmetry, Visit visit) {
  for (Index row = 0; row < a.rows; ++row) {
    const auto begin = static_cast<std::size_t>(a.row_offsets[static_cast<std::size_t>(row)]);
    const auto end = static_cast<std::size_t>(a.row_offsets[static_cast<std::size_t>(row) + 1]);
    for (std::size_t k = begin; k < end; ++k) {
      if (symmetry == MatrixMarketSymmetry::general || a.columns[k] <= row) visit(row, k);
    }
  }
}

}  // namespace

template <class T>
void write_matrix_market(const std::filesystem::path& file, CsrView<T> a,
                         MatrixMarketSymmetry symmetry) {
  const bool symmetric = symmetry == MatrixMarketSymmetry::symmetric;
  if (symmetric && a.rows != a.cols) {
    throw Error(ErrorCategory::usage,
                file.string() + ": only a square matrix can be written as a symmetric one");
  }
  Offset entries = 0;
  for_each_written_entry(a, symmetry, [&](Index, std::size_t) { ++entries; });

  LineWriter out(file);
  out << std::string_view("%%MatrixMarket matrix coordinate real ")
      << std::string_view(symmetric ? "symmetric\n" : "general\n");
  out << a.rows << ' ' << a.cols << ' ' << entries << '\n';
  for_each_written_entry(a, symmetry, [&](Index row, std::size_t k) {
    out << std::int64_t{row} + 1 << ' ' << std::int64_t{a.columns[k]} + 1 << ' ' << a.values[k]
        << '\n';
  });
  out.commit();
}

template <class T>
void write_matrix_market(const std::filesystem::path& file, std::span<const T> x) {
  LineWriter out(file);
  out << std::string_view("%%MatrixMarket matrix array real general\n");
  out << x.size() << std::string_view(" 1\n");
  for (const T value : x) out << value << '\n';
  out.commit();
}

template void write_matrix_market(const std::filesystem::path&, CsrView<float>,
                                  MatrixMarketSymmetry);
template void write_matrix_market(const std::filesystem::path&, CsrView<double>,
                                  MatrixMarketSymmetry);
template void write_matrix_market(const std::filesystem::path&, std::span<const float>);
template void write_matrix_market(const std::filesystem::path&, std::span<const double>);

}  // namespace resident
