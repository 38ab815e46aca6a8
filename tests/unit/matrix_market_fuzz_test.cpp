// Thousands of damaged Matrix Market files: each is parsed, or refused with resident::Error, and
// the outcome is the same however the text is cut and however many threads parse it.
#include <gtest/gtest.h>
#include <resident/error.hpp>
#include <resident/matrix_market.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "../matrix_path.hpp"
#include "io/matrix_market_parse.hpp"
#include "io/text_source.hpp"

namespace {

using resident::CsrMatrix;
using resident::Index;
using resident::Offset;
using resident::io::ParseOptions;

const std::vector<std::string>& seeds() {
  static const std::vector<std::string> texts = {
      "%%MatrixMarket matrix coordinate real general\n% note\n3 4 5\n1 1 1.5\n2 3 -2e3\n3 4 .5\n"
      "1 1 7\n2 1 1D-3\n",
      "%%MatrixMarket matrix coordinate real symmetric\r\n3 3 4\r\n1 1 4\r\n2 1 -1\r\n3 2 -1\r\n"
      "3 3 4\r\n",
      "%%MatrixMarket matrix coordinate integer skew-symmetric\n4 4 3\n2 1 5\n4 3 -6\n4 1 123456\n",
      "%%MatrixMarket matrix coordinate pattern symmetric\n\n5 5 4\n\n1 1\n2 1\n% note\n5 4\n5 5",
      "%%MatrixMarket matrix coordinate pattern general\n9 9 3\n9 9\n1 9\n9 1\n",
      "%%MatrixMarket matrix array real general\n2 3\n1\n2\n3\n4\n5\n6\n",
      "%%MatrixMarket matrix array integer symmetric\n3 3\n1\n2\n3\n4\n5\n6\n",
      "%%MatrixMarket matrix array real skew-symmetric\n3 3\n0.12345678901234567\n1e-300\n-3.25\n",
      "%%MatrixMarket matrix array real general\n4 1\n0.1\n1e308\n123456789012345678901234567890\n"
      "-4.9e-324\n",
      "%%MatrixMarket matrix coordinate real general\n12 1 3\n12 1 1.25\n3 1 2\n3 1 -2\n",
  };
  return texts;
}

class Mutator {
 public:
  explicit Mutator(std::uint64_t seed) : random_(seed) {}

  std::string damaged(const std::string& seed) {
    std::string text = seed;
    for (std::size_t steps = 1 + below(2) * below(3); steps > 0; --steps) mutate(text);
    return text;
  }

  std::size_t below(std::size_t bound) { return bound == 0 ? 0 : random_() % bound; }

 private:
  void mutate(std::string& text) {
    const std::size_t at = below(text.size() + 1);
    const std::size_t length = std::min(text.size() - at, 1 + below(12));
    switch (below(8)) {
      case 0:
        flip_bit(text, at);
        break;
      case 1:
        text.insert(at, 1, static_cast<char>(below(256)));
        break;
      case 2:
        text.erase(at, length);
        break;
      case 3:
        text.insert(below(text.size() + 1), text.substr(at, length));
        break;
      case 4:
        replace_word(text, at);
        break;
      case 5:
        text.resize(at);
        break;
      case 6:
        swap_lines(text);
        break;
      case 7:
        text.insert(at, words[below(words.size())]);
        break;
    }
  }

  void flip_bit(std::string& text, std::size_t at) {
    if (at < text.size()) text[at] = static_cast<char>(text[at] ^ (1 << below(8)));
  }

  void replace_word(std::string& text, std::size_t at) {
    constexpr std::string_view separators = " \n\r\t";
    const std::size_t begin = std::min(text.find_first_not_of(separators, at), text.size());
    const std::size_t end = std::min(text.find_first_of(separators, begin), text.size());
    text.replace(begin, end - begin, words[below(words.size())]);
  }

  void swap_lines(std::string& text) {
    const std::size_t cut = text.find('\n', below(text.size()));
    if (cut != std::string::npos)
      std::rotate(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(cut) + 1, text.end());
  }

  static constexpr std::array<std::string_view, 34> words = {"0",
                                                             "1",
                                                             "2",
                                                             "3",
                                                             "4",
                                                             "-1",
                                                             "+1",
                                                             "1.0",
                                                             "1e0",
                                                             "2147483647",
                                                             "2147483648",
                                                             "4294967297",
                                                             "9223372036854775807",
                                                             "18446744073709551616",
                                                             "99999999999999999999999999999999",
                                                             "1e309",
                                                             "1e-400",
                                                             "1D5",
                                                             "nan",
                                                             "-inf",
                                                             "0x1p3",
                                                             ".",
                                                             "e",
                                                             "%",
                                                             "\n",
                                                             "\r\n",
                                                             "\n\n",
                                                             " ",
                                                             "complex",
                                                             "symmetric",
                                                             "array",
                                                             "pattern",
                                                             "0000000000000000000000000001",
                                                             "0.000000000000000000000001"};

  std::mt19937_64 random_;
};

// The text in memory of its own size, so that a sanitizer sees every read past the padding.
class PaddedText {
 public:
  explicit PaddedText(std::string_view text)
      : size_(text.size()), memory_(new char[size_ + resident::io::text_padding]()) {
    std::ranges::copy(text, memory_.get());
  }
  std::string_view view() const { return {memory_.get(), size_}; }

 private:
  std::size_t size_;
  std::unique_ptr<char[]> memory_;
};

struct Outcome {
  CsrMatrix<double> matrix;
  std::vector<double> vector;
  std::string matrix_error, vector_error;  // empty where it was parsed
};

template <class Parse>
std::string error_of(Parse parse) {
  try {
    parse();
    return {};
  } catch (const resident::Error& error) {
    EXPECT_EQ(error.category(), resident::ErrorCategory::input) << error.what();
    EXPECT_TRUE(std::string_view(error.what()).starts_with("text:")) << error.what();
    return error.what();
  }
}

Outcome outcome_of(std::string_view text, const ParseOptions& options) {
  const PaddedText padded(text);
  Outcome outcome;
  outcome.matrix_error = error_of([&] {
    outcome.matrix = resident::io::parse_matrix_market<double>(padded.view(), "text", options);
  });
  outcome.vector_error = error_of([&] {
    outcome.vector =
        resident::io::parse_matrix_market_vector<double>(padded.view(), "text", options);
  });
  return outcome;
}

void expect_same(const Outcome& a, const Outcome& b) {
  EXPECT_EQ(a.matrix_error, b.matrix_error);
  EXPECT_EQ(a.vector_error, b.vector_error);
  EXPECT_EQ(a.matrix.rows, b.matrix.rows);
  EXPECT_EQ(a.matrix.cols, b.matrix.cols);
  EXPECT_EQ(a.matrix.row_offsets, b.matrix.row_offsets);
  EXPECT_EQ(a.matrix.columns, b.matrix.columns);
  EXPECT_EQ(a.matrix.values, b.matrix.values);
  EXPECT_EQ(a.vector, b.vector);
}

void expect_well_formed(const CsrMatrix<double>& a) {
  ASSERT_EQ(a.row_offsets.size(), static_cast<std::size_t>(a.rows) + 1);
  ASSERT_EQ(a.row_offsets.front(), 0);
  ASSERT_EQ(a.row_offsets.back(), a.nonzeros());
  ASSERT_EQ(a.values.size(), a.columns.size());
  ASSERT_TRUE(std::ranges::is_sorted(a.row_offsets));
  for (std::size_t row = 0; row + 1 < a.row_offsets.size(); ++row) {
    for (Offset k = a.row_offsets[row]; k < a.row_offsets[row + 1]; ++k) {
      const auto entry = static_cast<std::size_t>(k);
      ASSERT_GE(a.columns[entry], 0);
      ASSERT_LT(a.columns[entry], a.cols);
      ASSERT_TRUE(std::isfinite(a.values[entry]));
      ASSERT_TRUE(k == a.row_offsets[row] || a.columns[entry] > a.columns[entry - 1]);
    }
  }
}

TEST(MatrixMarketFuzz, DamagedTextIsParsedOrRefused) {
  Mutator mutator(20240607);
  int parsed = 0;
  constexpr int cases = 12000;
  for (int k = 0; k < cases; ++k) {
    const std::string text = mutator.damaged(seeds()[mutator.below(seeds().size())]);
    SCOPED_TRACE("case " + std::to_string(k) + ":\n" + text);
    const Outcome whole = outcome_of(text, {.threads = 1, .chunk_bytes = 1 << 20});
    const ParseOptions cut = {.threads = 1 + static_cast<int>(mutator.below(3)),
                              .chunk_bytes = 1 + mutator.below(40)};
    expect_same(outcome_of(text, cut), whole);
    if (whole.matrix_error.empty()) {
      ++parsed;
      expect_well_formed(whole.matrix);
    }
    if (testing::Test::HasFailure()) return;  // one damaged text is enough to look at
  }
  // The mutations are neither all harmless nor all fatal: both ways out were taken often.
  EXPECT_GT(parsed, cases / 20);
  EXPECT_LT(parsed, cases / 2);
}

TEST(MatrixMarketFuzz, DamagedCompressedFileIsReadOrRefused) {
  std::ifstream stream(matrix_path("nos4.mtx.gz"), std::ios::binary);
  const std::string whole{std::istreambuf_iterator<char>(stream), {}};
  ASSERT_FALSE(whole.empty());
  const auto file = std::filesystem::temp_directory_path() /
                    ("resident-fuzz-" + std::to_string(std::random_device()()) + ".mtx.gz");
  Mutator mutator(7);
  int refused = 0;
  constexpr int cases = 1000;
  for (int k = 0; k < cases; ++k) {
    const std::string bytes = mutator.damaged(whole);
    std::ofstream(file, std::ios::binary) << bytes;
    try {
      expect_well_formed(resident::read_matrix_market<double>(file));
    } catch (const resident::Error& error) {
      ++refused;
      EXPECT_EQ(error.category(), resident::ErrorCategory::input) << error.what();
      EXPECT_TRUE(std::string_view(error.what()).starts_with(file.string() + ":")) << error.what();
    }
  }
  std::filesystem::remove(file);
  EXPECT_GT(refused, cases / 2);
}

}  // namespace
