// Matrix Market files: every spelling that is read, every error that is named, and how files are
// written.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <resident/error.hpp>
#include <resident/matrix_market.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <limits>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "../matrix_path.hpp"
#include "io/matrix_market_parse.hpp"
#include "io/parse_number.hpp"
#include "io/text_source.hpp"

namespace {

using resident::CsrMatrix;
using resident::Error;
using resident::ErrorCategory;
using resident::Index;
using resident::MatrixMarketSymmetry;
using resident::Offset;
using resident::read_matrix_market;
using resident::read_matrix_market_vector;
using resident::write_matrix_market;

class MatrixMarket : public testing::Test {
 protected:
  MatrixMarket() {
    std::string pattern = (std::filesystem::temp_directory_path() / "resident-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary folder");
    folder_ = pattern;
  }
  ~MatrixMarket() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path path(const std::string& name) const { return folder_ / name; }

  std::filesystem::path store(const std::string& bytes, const std::string& name = "a.mtx") const {
    std::ofstream(path(name), std::ios::binary) << bytes;
    return path(name);
  }

  template <class T = double>
  CsrMatrix<T> matrix(const std::string& text) const {
    return read_matrix_market<T>(store(text));
  }

  template <class T = double>
  std::vector<T> vector(const std::string& text) const {
    return read_matrix_market_vector<T>(store(text));
  }

  std::size_t files() const {
    return static_cast<std::size_t>(
        std::distance(std::filesystem::directory_iterator(folder_), {}));
  }

  std::filesystem::path folder_;
};

std::string contents(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

std::string gzip(const std::string& text) {
  z_stream stream = {};
  if (deflateInit2(&stream, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY) != Z_OK) abort();
  std::string out(deflateBound(&stream, text.size()), '\0');
  std::string in = text;
  stream.next_in = reinterpret_cast<Bytef*>(in.data());
  stream.avail_in = static_cast<uInt>(in.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

// The message of the Error of the category that `call` must throw.
std::string message_of(ErrorCategory category, const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.category(), category) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "no error was thrown";
  return {};
}

template <class T>
std::vector<T> dense(const CsrMatrix<T>& a) {
  std::vector<T> entries(static_cast<std::size_t>(a.rows) * static_cast<std::size_t>(a.cols));
  for (Index i = 0; i < a.rows; ++i) {
    const auto row = static_cast<std::size_t>(i);
    for (Offset k = a.row_offsets[row]; k < a.row_offsets[row + 1]; ++k) {
      const auto column = static_cast<std::size_t>(a.columns[static_cast<std::size_t>(k)]);
      entries[row * static_cast<std::size_t>(a.cols) + column] =
          a.values[static_cast<std::size_t>(k)];
    }
  }
  return entries;
}

template <class T>
void expect_same(const CsrMatrix<T>& a, const CsrMatrix<T>& b) {
  EXPECT_EQ(a.rows, b.rows);
  EXPECT_EQ(a.cols, b.cols);
  EXPECT_EQ(a.row_offsets, b.row_offsets);
  EXPECT_EQ(a.columns, b.columns);
  EXPECT_EQ(a.values, b.values);
}

using Values = std::vector<double>;

const std::string general = "%%MatrixMarket matrix coordinate real general\n";
const std::string symmetric = "%%MatrixMarket matrix coordinate real symmetric\n";
const std::string skew = "%%MatrixMarket matrix coordinate real skew-symmetric\n";
const std::string pattern = "%%MatrixMarket matrix coordinate pattern general\n";
const std::string integer = "%%MatrixMarket matrix coordinate integer general\n";
const std::string array = "%%MatrixMarket matrix array real general\n";

TEST_F(MatrixMarket, ReadsGeneralCoordinates) {
  const auto a = matrix(general + "2 3 3\n1 1 1.5\n2 3 -2\n1 2 4e2\n");
  EXPECT_EQ(a.rows, 2);
  EXPECT_EQ(a.cols, 3);
  EXPECT_EQ(a.row_offsets, (std::vector<Offset>{0, 2, 3}));
  EXPECT_EQ(a.columns, (std::vector<Index>{0, 1, 2}));
  EXPECT_EQ(a.values, (Values{1.5, 400, -2}));
}

TEST_F(MatrixMarket, SortsColumns) {
  const auto a = matrix(general + "1 4 4\n1 3 3\n1 1 1\n1 4 4\n1 2 2\n");
  EXPECT_EQ(a.columns, (std::vector<Index>{0, 1, 2, 3}));
  EXPECT_EQ(a.values, (Values{1, 2, 3, 4}));
}

TEST_F(MatrixMarket, ReadsIntegers) {
  EXPECT_EQ(dense(matrix(integer + "2 2 2\n1 1 -7\n2 2 +12\n")), (Values{-7, 0, 0, 12}));
}

TEST_F(MatrixMarket, ReadsPatternsAsOnes) {
  EXPECT_EQ(dense(matrix(pattern + "2 2 2\n1 2\n2 1\n")), (Values{0, 1, 1, 0}));
}

TEST_F(MatrixMarket, ExpandsSymmetric) {
  const auto a = matrix(symmetric + "3 3 4\n1 1 1\n2 1 2\n3 2 5\n3 3 9\n");
  EXPECT_EQ(dense(a), (Values{1, 2, 0, 2, 0, 5, 0, 5, 9}));
  EXPECT_EQ(a.nonzeros(), 6);
}

TEST_F(MatrixMarket, ExpandsSkewSymmetricWithTheOppositeSign) {
  EXPECT_EQ(dense(matrix(skew + "3 3 2\n2 1 2\n3 2 -5\n")), (Values{0, -2, 0, 2, 0, 5, 0, -5, 0}));
}

TEST_F(MatrixMarket, ExpandsSymmetricPatterns) {
  EXPECT_EQ(dense(matrix("%%MatrixMarket matrix coordinate pattern symmetric\n2 2 1\n2 1\n")),
            (Values{0, 1, 1, 0}));
}

TEST_F(MatrixMarket, ReadsArraysByColumnsAndDropsZeros) {
  const auto a = matrix(array + "2 3\n1\n2\n0\n4\n-0.0\n6\n");
  EXPECT_EQ(dense(a), (Values{1, 0, 0, 2, 4, 6}));
  EXPECT_EQ(a.nonzeros(), 4);
}

TEST_F(MatrixMarket, ReadsTheLowerTriangleOfSymmetricArrays) {
  EXPECT_EQ(dense(matrix("%%MatrixMarket matrix array integer symmetric\n3 3\n1\n2\n3\n4\n5\n6\n")),
            (Values{1, 2, 3, 2, 4, 5, 3, 5, 6}));
  EXPECT_EQ(dense(matrix("%%MatrixMarket matrix array real skew-symmetric\n3 3\n1\n2\n3\n")),
            (Values{0, -1, -2, 1, 0, -3, 2, 3, 0}));
}

TEST_F(MatrixMarket, SumsDuplicatesInTheOrderOfTheFile) {
  // In any other order the small terms would change the sum, or survive.
  const auto a = matrix(general + "2 2 6\n1 1 1e16\n2 2 1\n1 1 1\n1 2 3\n1 1 -1e16\n2 2 1\n");
  EXPECT_EQ(a.columns, (std::vector<Index>{0, 1, 1}));
  EXPECT_EQ(a.row_offsets, (std::vector<Offset>{0, 2, 3}));
  EXPECT_EQ(a.values, (Values{0, 3, 2}));
  EXPECT_EQ(dense(matrix(symmetric + "2 2 3\n2 1 1\n2 1 2\n1 1 7\n")), (Values{7, 3, 3, 0}));
}

TEST_F(MatrixMarket, IgnoresTheCaseOfTheBanner) {
  EXPECT_EQ(dense(matrix("%%matrixmarket MATRIX Coordinate REAL Symmetric\n1 1 1\n1 1 2\n")),
            (Values{2}));
}

TEST_F(MatrixMarket, AcceptsWindowsLineEnds) {
  EXPECT_EQ(dense(matrix("%%MatrixMarket matrix coordinate real general\r\n% note\r\n\r\n"
                         "2 2 2\r\n1 1 1\r\n\r\n2 2 2.5\r\n")),
            (Values{1, 0, 0, 2.5}));
  EXPECT_EQ(vector("%%MatrixMarket matrix array real general\r\n2 1\r\n1\r\n2"), (Values{1, 2}));
}

TEST_F(MatrixMarket, AcceptsCommentsAndBlankLinesAnywhere) {
  EXPECT_EQ(dense(matrix(general + "% 1 1 1\n\n  % indented\n \t\n2 2 2\n%\n1 1 1\n\n% between\n"
                                   "2 2 2\n\n% last, without an end")),
            (Values{1, 0, 0, 2}));
}

TEST_F(MatrixMarket, AcceptsBlanksAroundWords) {
  EXPECT_EQ(dense(matrix("%%MatrixMarket \t matrix coordinate  real general  \n  2\t2  1 \n"
                         " \t2   1 \t 3.5  \n")),
            (Values{0, 0, 3.5, 0}));
}

TEST_F(MatrixMarket, AcceptsAMissingLastLineEnd) {
  EXPECT_EQ(dense(matrix(general + "1 1 1\n1 1 2.25")), (Values{2.25}));
  EXPECT_EQ(dense(matrix(pattern + "1 1 1\n1 1")), (Values{1}));
}

TEST_F(MatrixMarket, ReadsEmptyMatrices) {
  EXPECT_EQ(matrix(general + "0 0 0\n").row_offsets, (std::vector<Offset>{0}));
  EXPECT_EQ(matrix(general + "3 2 0").row_offsets, (std::vector<Offset>{0, 0, 0, 0}));
  EXPECT_EQ(matrix(array + "3 0\n").cols, 0);
}

TEST_F(MatrixMarket, ReadsFilesThatFillTheirLastPage) {
  for (const std::size_t bytes : {4096U, 8192U, 65536U}) {
    const std::string head = general + "1 1 1\n", tail = "\n1 1 12345678";
    const std::string text =
        head + '%' + std::string(bytes - head.size() - tail.size() - 1, 'x') + tail;
    ASSERT_EQ(text.size(), bytes);
    EXPECT_EQ(matrix(text).values, (Values{12345678}));
  }
}

TEST_F(MatrixMarket, ReadsVectors) {
  EXPECT_EQ(vector(array + "3 1\n1\n-2.5\n1d3\n"), (Values{1, -2.5, 1000}));
  EXPECT_EQ(vector<float>("%%MatrixMarket matrix array integer general\n2 1\n3\n4\n"),
            (std::vector<float>{3, 4}));
  EXPECT_EQ(vector(general + "4 1 3\n4 1 2\n2 1 1\n4 1 0.5\n"), (Values{0, 1, 0, 2.5}));
  EXPECT_EQ(vector(pattern + "3 1 1\n2 1\n"), (Values{0, 1, 0}));
  EXPECT_EQ(vector("%%MatrixMarket matrix array real skew-symmetric\n1 1\n"), (Values{0}));
  EXPECT_TRUE(vector(array + "0 1\n").empty());
}

TEST_F(MatrixMarket, ReadsRealMatrices) {
  const auto nos4 = read_matrix_market<double>(matrix_path("nos4.mtx.gz"));
  EXPECT_EQ(nos4.rows, 100);
  EXPECT_EQ(nos4.nonzeros(), 594);
  EXPECT_EQ(nos4.values[0], 0.17155418);
  EXPECT_NO_THROW(resident::validate<double>(nos4));
  const auto bcsstk14 = read_matrix_market<float>(matrix_path("bcsstk14.mtx.gz"));
  EXPECT_EQ(bcsstk14.rows, 1806);
  EXPECT_EQ(bcsstk14.nonzeros(), 2 * 32630 - 1806);
  EXPECT_EQ(bcsstk14.values[0], 1931606.408315F);
}

template <class T>
resident::io::ParsedNumber<T> parse(const std::string& token) {
  const std::string padded = token + '\n' + std::string(resident::io::text_padding, '\0');
  auto number = resident::io::parse_number<T>(padded.c_str());
  if (number.status == resident::io::NumberStatus::ok) {
    EXPECT_EQ(number.end, padded.c_str() + token.size()) << token;
  }
  return number;
}

template <class T>
T from_c_library(const std::string& token) {
  if constexpr (sizeof(T) == sizeof(float)) return std::strtof(token.c_str(), nullptr);
  return static_cast<T>(std::strtod(token.c_str(), nullptr));
}

template <class T>
void expect_correctly_rounded(const std::string& token) {
  const auto number = parse<T>(token);
  const T expected = from_c_library<T>(token);
  if (std::isinf(expected)) {
    EXPECT_EQ(number.status, resident::io::NumberStatus::too_large) << token;
    return;
  }
  ASSERT_EQ(number.status, resident::io::NumberStatus::ok) << token;
  EXPECT_EQ(number.value, expected) << token;
  EXPECT_EQ(std::signbit(number.value), std::signbit(expected)) << token;
}

TEST(MatrixMarketNumber, IsCorrectlyRounded) {
  for (const std::string token : {"0",
                                  "-0",
                                  "1",
                                  "+1",
                                  "-1",
                                  "12345678",
                                  "123456789",
                                  "1234567890123456789",
                                  "12345678901234567890",
                                  "18446744073709551615",
                                  "18446744073709551616",
                                  "18446744073709551616.5",
                                  "36893488147419103232.25",
                                  "0.1",
                                  ".5",
                                  "5.",
                                  "-.5e1",
                                  "1e22",
                                  "1e23",
                                  "1e27",
                                  "1e28",
                                  "1e-22",
                                  "1e-23",
                                  "1e-27",
                                  "1e-28",
                                  "9007199254740993",
                                  "9007199254740992.999",
                                  "9007199254740993.00000000000000000000000001",
                                  "0.00000000000000000000000000001",
                                  "000000000000000000000001.5",
                                  "0e99999999999999999999",
                                  "1e-99999999999999999999",
                                  "2.2250738585072011e-308",
                                  "4.9406564584124654e-324",
                                  "2.4703282292062327e-324",
                                  "2.4703282292062329e-324",
                                  "1.7976931348623157e308",
                                  "1.7976931348623159e308",
                                  "1e309",
                                  "3.4028235e38",
                                  "3.4028236e38",
                                  "1.17549435e-38",
                                  "7.0064923e-46",
                                  "7.0064924e-46",
                                  "16777217",
                                  "16777216.99999999999",
                                  "16777217.0000001",
                                  "8388608.5",
                                  "8388609.5",
                                  "1E5",
                                  "1e+05",
                                  "0.30000000000000004",
                                  "3.0000000298023224e-8"}) {
    expect_correctly_rounded<double>(token);
    expect_correctly_rounded<float>(token);
  }
}

TEST(MatrixMarketNumber, IsCorrectlyRoundedForRandomDigits) {
  std::mt19937_64 random(20240607);
  for (int k = 0; k < 200000; ++k) {
    std::string token = random() % 2 == 0 ? "-" : "";
    const auto digits = 1 + random() % 22;
    const auto point = random() % (digits + 1);
    for (std::uint64_t d = 0; d < digits; ++d) {
      if (d == point) token += '.';
      token += static_cast<char>('0' + random() % 10);
    }
    if (random() % 2 == 0) token += "e" + std::to_string(static_cast<int>(random() % 80) - 40);
    expect_correctly_rounded<double>(token);
    expect_correctly_rounded<float>(token);
  }
}

TEST(MatrixMarketNumber, IsCorrectlyRoundedNearHalfwayPoints) {
  // Midpoints of neighbouring floats are short enough to be written exactly as doubles.
  std::mt19937_64 random(7);
  for (int k = 0; k < 20000; ++k) {
    const float below = std::ldexp(static_cast<float>(1 + random() % 16777215),
                                   static_cast<int>(random() % 60) - 40);
    const double midpoint = (static_cast<double>(below) + std::nextafter(below, INFINITY)) / 2;
    for (const double value :
         {midpoint, std::nextafter(midpoint, 0), std::nextafter(midpoint, 1e99)}) {
      char token[64];
      std::snprintf(token, sizeof token, "%.17g", value);
      expect_correctly_rounded<float>(token);
      expect_correctly_rounded<double>(token);
    }
  }
}

TEST(MatrixMarketNumber, AcceptsFortranExponents) {
  EXPECT_EQ(parse<double>("1.25D+02").value, 125);
  EXPECT_EQ(parse<double>("-3d-1").value, -0.3);
  EXPECT_EQ(parse<double>("123456789012345678901234567890D-10").value, 12345678901234567890.0);
}

TEST(MatrixMarketNumber, RefusesWhatIsNoNumber) {
  using resident::io::NumberStatus;
  for (const std::string token :
       {"", "-", "+", ".", "-.", "e5", "1e", "1e+", "1ee5", "--1", "+-1", "-+1", "abc", ".e1"}) {
    EXPECT_EQ(parse<double>(token).status, NumberStatus::malformed) << token;
  }
  for (const std::string token : {"nan", "NaN", "inf", "-Inf", "+infinity"}) {
    EXPECT_EQ(parse<double>(token).status, NumberStatus::not_finite) << token;
  }
}

struct BadText {
  std::string text;
  std::string message;  // what follows the file name
};

TEST_F(MatrixMarket, NamesLineFoundAndExpected) {
  const std::vector<BadText> cases = {
      {"", ":1: found the end of the file, expected the banner '%%MatrixMarket matrix "},
      {"\n", ":1: found the end of the line, expected the banner"},
      {"1 1 1\n", ":1: found '1', expected the banner"},
      {"%MatrixMarket matrix coordinate real general\n", ":1: found '%MatrixMarket', expected"},
      {std::string("\x7f"
                   "ELF\x02\x01\0\0\xff",
                   9),
       ":1: found '\\x7fELF\\x02\\x01\\x00\\x00\\xff'"},
      {"%%MatrixMarket\n", ":1: found the end of the line, expected the object matrix"},
      {"%%MatrixMarket vector coordinate real general\n",
       ":1: found 'vector', expected the object matrix"},
      {"%%MatrixMarket matrix dense real general\n",
       ":1: found 'dense', expected the format coordinate or array"},
      {"%%MatrixMarket matrix coordinate quaternion general\n",
       ":1: found 'quaternion', expected the field real or integer or pattern"},
      {"%%MatrixMarket matrix array pattern general\n",
       ":1: found 'pattern', expected the field real or integer"},
      {"%%MatrixMarket matrix coordinate Complex general\n1 1 1\n1 1 1 0\n",
       ":1: found 'Complex', expected the field real, integer or pattern: complex matrices are not "
       "supported"},
      {"%%MatrixMarket matrix coordinate real Hermitian\n",
       ":1: found 'Hermitian', expected the symmetry general, symmetric or skew-symmetric: "
       "Hermitian matrices are complex"},
      {"%%MatrixMarket matrix coordinate real lopsided\n",
       ":1: found 'lopsided', expected the symmetry general or symmetric or skew-symmetric"},
      {"%%MatrixMarket matrix coordinate real general more\n",
       ":1: found 'more', expected the end of the line"},
      {general, ":2: found the end of the file, expected the size line: rows, columns and entries"},
      {array + "% x\n", ":3: found the end of the file, expected the size line: rows and columns"},
      {general + "a 1 1\n", ":2: found 'a', expected the number of rows, from 0 to 2147483647"},
      {general + "-1 1 1\n", ":2: found '-1', expected the number of rows"},
      {general + "1.5 1 1\n", ":2: found '1.5', expected the number of rows"},
      {general + "1 x 1\n", ":2: found 'x', expected the number of columns, from 0 to 2147483647"},
      {general + "1 1\n", ":2: found the end of the line, expected the number of entries"},
      {general + "1 1 1 1\n", ":2: found '1', expected the end of the line"},
      {array + "1 1 1\n", ":2: found '1', expected the end of the line"},
      {general + "2147483648 1 1\n", ":2: found '2147483648', expected the number of rows"},
      {general + "1 99999999999999999999999 1\n", ":2: found '99999999999999999999999', expected"},
      {general + "1 1 9223372036854775808\n", ":2: found '9223372036854775808', expected"},
      {symmetric + "2 3 1\n", ":2: found 2 rows and 3 columns, expected as many rows as columns"},
      {general + "1 1 1\n0 1 1\n", ":3: found '0', expected a row index from 1 to 1"},
      {general + "1 1 1\n2 1 1\n", ":3: found '2', expected a row index from 1 to 1"},
      {general + "1 2 1\n1 3 1\n", ":3: found '3', expected a column index from 1 to 2"},
      {general + "1 2 1\n1 -1 1\n", ":3: found '-1', expected a column index from 1 to 2"},
      {general + "1 2 1\n1 99999999999999999999 1\n", ":3: found '99999999999999999999', expected"},
      {general + "1 1 1\n18446744073709551617 1 1\n", ":3: found '18446744073709551617', expected"},
      {general + "1 1 1\n1.0 1 1\n", ":3: found '1.0', expected a row index"},
      {general + "1 1 1\n1\n", ":3: found the end of the line, expected a column index"},
      {general + "1 1 1\n1 1\n", ":3: found the end of the line, expected a real value"},
      {general + "1 1 1\n1 1", ":3: found the end of the file, expected a real value"},
      {general + "1 1 1\n\n% c\n1 1 abc\n", ":5: found 'abc', expected a real value"},
      {general + "1 1 1\r\n1 1 1x\r\n", ":3: found '1x', expected a real value"},
      {general + "1 1 1\n1 1 1 2\n", ":3: found '2', expected the end of the line"},
      {general + "1 1 1\n1 1 1 % note\n", ":3: found '%', expected the end of the line"},
      {general + "1 1 1\n1 1 nan\n", ":3: found 'nan', expected a finite number"},
      {general + "1 1 1\n1 1 -Infinity\n", ":3: found '-Infinity', expected a finite number"},
      {general + "1 1 1\n1 1 1e309\n", ":3: found '1e309', expected a number no larger than"},
      {integer + "1 1 1\n1 1 1.5\n", ":3: found '1.5', expected an integer value"},
      {integer + "1 1 1\n1 1 1e3\n", ":3: found '1e3', expected an integer value"},
      {pattern + "1 1 1\n1 1 1\n", ":3: found '1', expected the end of the line"},
      {general + std::string("1 1 1\n1 1 \0\n", 12), ":3: found '\\x00', expected a real value"},
      {general + std::string("1 1 1\n\0\n", 8), ":3: found '\\x00', expected a row index"},
      {general + "1 1 1\n" + std::string(100, 'z') + "\n",
       ":3: found '" + std::string(40, 'z') + "...', expected a row index"},
      {symmetric + "3 3 1\n1 3 2\n",
       ":3: found entry (1, 3) above the diagonal, expected only the lower triangle of a symmetric "
       "matrix"},
      {skew + "3 3 1\n1 3 2\n", ":3: found entry (1, 3) above the diagonal"},
      {skew + "3 3 1\n2 2 0\n",
       ":3: found diagonal entry (2, 2), expected none in a skew-symmetric matrix"},
      {general + "2 2 3\n1 1 1\n2 2 2\n",
       ":4: found the end of the file after 2 entries, expected 3 as line 2 says"},
      {general + "2 2 3\n1 1 1\n2 2 2",
       ":4: found the end of the file after 2 entries, expected 3 as line 2 says"},
      {general + "2 2 1\n", ":2: found the end of the file after 0 entries, expected 1"},
      {general + "2 2 1\n1 1 1\n\n2 2 2\n1 2 3\n",
       ":5: found an entry after the last, expected 1 entries as line 2 says"},
      {general + "2 2 0\n1 1 1\n", ":3: found an entry after the last, expected 0 entries"},
      {array + "2 1\n1\n", ":3: found the end of the file after 1 entries, expected 2"},
      {array + "2 1\n1\n2\n3\n", ":5: found an entry after the last, expected 2 entries"},
      {array + "2 1\n1 2\n", ":3: found '2', expected the end of the line"},
      {general + "1 1 2\n1 1 1e308\n1 1 1e308\n",
       ": found entries (1, 1) whose sum is beyond the largest number"},
  };
  for (const BadText& bad : cases) {
    const auto file = store(bad.text);
    const std::string message =
        message_of(ErrorCategory::input, [&] { read_matrix_market<double>(file); });
    EXPECT_TRUE(message.starts_with(file.string() + bad.message))
        << "message: " << message << "\nexpected: " << bad.message << "\ntext:\n"
        << bad.text;
  }
}

TEST_F(MatrixMarket, NamesTheRangeOfFloat) {
  const std::string text = general + "1 1 1\n1 1 1e39\n";
  EXPECT_NO_THROW(matrix<double>(text));
  const std::string message = message_of(ErrorCategory::input, [&] { matrix<float>(text); });
  EXPECT_NE(message.find("expected a number no larger than 3.40282347e+38"), std::string::npos)
      << message;
}

TEST_F(MatrixMarket, RefusesMatricesAsVectors) {
  const std::string message =
      message_of(ErrorCategory::input, [&] { vector(general + "2 2 1\n1 1 1\n"); });
  EXPECT_NE(message.find("a.mtx:2: found 2 columns, expected a vector"), std::string::npos)
      << message;
  EXPECT_NE(
      message_of(ErrorCategory::input, [&] { vector(general + "1 1 2\n1 1 1e308\n1 1 1e308\n"); })
          .find("found entries (1, 1) whose sum"),
      std::string::npos);
}

// The limit stops any allocation of the size that these headers promise. Sanitizers need address
// space of their own.
TEST_F(MatrixMarket, AllocatesNothingThatTheHeaderAloneJustifies) {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  rlimit before = {};
  ASSERT_EQ(::getrlimit(RLIMIT_AS, &before), 0);
  const rlimit limited = {rlim_t{4} << 30, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_AS, &limited), 0);
#endif
  const std::vector<BadText> cases = {
      {general + "2147483647 2147483647 1\n1 1 1\n", "expected at most 1000"},
      {array + "2147483647 0\n", "expected at most 1000"},
      {general + "5 5 9223372036854775807\n1 1 1\n", "expected 9223372036854775807 as line 2 says"},
      {array + "1000000 2147483647\n1\n", "expected 2147483647000000 as line 2 says"},
      {general + "1000001 2147483647 1000000000000\n1 1 1\n", "expected 1000000000000 as line 2"},
  };
  for (const BadText& bad : cases) {
    const auto file = store(bad.text);
    const std::string message =
        message_of(ErrorCategory::input, [&] { read_matrix_market<double>(file); });
    EXPECT_NE(message.find(bad.message), std::string::npos) << message;
  }
  EXPECT_NE(message_of(ErrorCategory::input, [&] { vector(array + "2147483647 1\n1\n"); })
                .find("expected at most 1000"),
            std::string::npos);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  ::setrlimit(RLIMIT_AS, &before);
#endif
}

TEST_F(MatrixMarket, NamesFilesThatCannotBeRead) {
  const std::string missing =
      message_of(ErrorCategory::input, [&] { read_matrix_market<double>(path("missing.mtx")); });
  EXPECT_EQ(missing,
            path("missing.mtx").string() + ": cannot be opened: No such file or directory");
  const std::string directory =
      message_of(ErrorCategory::input, [&] { read_matrix_market<double>(folder_); });
  EXPECT_EQ(directory, folder_.string() + ": cannot be read: Is a directory");
}

std::string large_text(int entries) {
  std::mt19937_64 random(3);
  std::string text = general + "% note\n900 800 " + std::to_string(entries) + "\n";
  for (int k = 0; k < entries; ++k) {
    text += std::to_string(1 + random() % 900) + ' ' + std::to_string(1 + random() % 800) + ' ' +
            std::to_string(static_cast<double>(random() % 1000000) / 1000 - 500) + '\n';
    if (k % 1000 == 0) text += "\n% note\n";
  }
  return text;
}

template <class T>
CsrMatrix<T> parse_text(const std::string& text, const resident::io::ParseOptions& options) {
  const std::string padded = text + std::string(resident::io::text_padding, '\0');
  return resident::io::parse_matrix_market<T>(std::string_view(padded).substr(0, text.size()),
                                              "text", options);
}

TEST(MatrixMarketThreads, ResultDependsNeitherOnThreadsNorOnChunks) {
  const std::string text = large_text(200000);  // entries repeat, several chunks of usual size
  ASSERT_GT(text.size(), std::size_t{3} << 20);
  const auto expected = parse_text<double>(text, {.threads = 1, .chunk_bytes = text.size()});
  EXPECT_LT(expected.nonzeros(), 200000);
  EXPECT_NO_THROW(resident::validate<double>(
      expected,
      {.structural_symmetry = false, .numerical_symmetry = false, .positive_diagonal = false}));
  for (const int threads : {0, 1, 2, 5}) {
    for (const std::size_t chunk_bytes : {std::size_t{0}, std::size_t{100}, std::size_t{65537}}) {
      expect_same(parse_text<double>(text, {threads, chunk_bytes}), expected);
    }
  }
}

TEST(MatrixMarketThreads, ErrorIsTheFirstOfTheFileWithItsLine) {
  const std::string good = large_text(20000);
  const auto line_start = [&](int line) {
    std::size_t position = 0;
    while (--line > 0) position = good.find('\n', position) + 1;
    return position;
  };
  for (const int line : {4, 1234, 15000, 20000}) {
    std::string text = good;
    text.insert(line_start(line), "901 1 1\n");
    text.insert(text.size() - 1, " garbage");
    for (const int threads : {1, 2, 5}) {
      for (const std::size_t chunk_bytes : {std::size_t{0}, std::size_t{1}, std::size_t{5000}}) {
        const std::string message = message_of(ErrorCategory::input, [&] {
          parse_text<double>(text, {threads, chunk_bytes});
        });
        EXPECT_EQ(message, "text:" + std::to_string(line) +
                               ": found '901', expected a row index from 1 to 900");
      }
    }
  }
}

TEST(MatrixMarketThreads, ExcessEntryIsNamedInAnyChunk) {
  std::string text = large_text(5000);
  const auto lines = std::count(text.begin(), text.end(), '\n');
  text += "% note\n1 1 1\n1 1 1\n";
  for (const std::size_t chunk_bytes : {std::size_t{0}, std::size_t{1}, std::size_t{777}}) {
    const std::string message = message_of(ErrorCategory::input, [&] {
      parse_text<double>(text, {2, chunk_bytes});
    });
    EXPECT_EQ(message, "text:" + std::to_string(lines + 2) +
                           ": found an entry after the last, expected 5000 entries as line 3 says");
  }
}

TEST(MatrixMarketThreads, ChunksMayStartWithBlanks) {
  const std::string text = general + "2 2 3\n  1 1 1\n  \n \t2 2 2\n  % note\n  2 1 3\n  ";
  for (const std::size_t chunk_bytes : {1U, 10U, 1000U}) {
    EXPECT_EQ(dense(parse_text<double>(text, {1, chunk_bytes})), (Values{1, 0, 3, 2}));
  }
}

TEST(MatrixMarketThreads, ArraysAreCutAnywhere) {
  for (const std::string symmetry : {"general", "symmetric", "skew-symmetric"}) {
    std::string text = "%%MatrixMarket matrix array real " + symmetry + "\n30 30\n";
    const int values = symmetry == "general" ? 900 : symmetry == "symmetric" ? 465 : 435;
    for (int k = 0; k < values; ++k) text += std::to_string(k % 7) + "\n";
    const auto expected = parse_text<float>(text, {1, text.size()});
    for (const std::size_t chunk_bytes : {1U, 7U, 100U}) {
      expect_same(parse_text<float>(text, {3, chunk_bytes}), expected);
    }
    EXPECT_EQ(dense(expected)[1 * 30 + 0], 1 - (symmetry == "skew-symmetric" ? 1.0F : 0.0F));
  }
}

TEST_F(MatrixMarket, ReadsGzipByItsFirstBytes) {
  const std::string text = large_text(3000);
  const auto expected = matrix(text);
  expect_same(read_matrix_market<double>(store(gzip(text), "b.mtx.gz")), expected);
  expect_same(read_matrix_market<double>(store(gzip(text), "b.mtx")), expected);
  expect_same(read_matrix_market<double>(store(text, "plain.gz")), expected);
}

TEST_F(MatrixMarket, ReadsGzipInSeveralMembersAndPadding) {
  const std::string text = large_text(3000);
  const std::string members = gzip(text.substr(0, 1001)) + gzip("") + gzip(text.substr(1001));
  expect_same(matrix(members), matrix(text));
  expect_same(matrix(members + std::string(512, '\0')), matrix(text));
}

TEST_F(MatrixMarket, RefusesDamagedGzip) {
  const std::string text = large_text(3000), whole = gzip(text);
  for (const std::size_t bytes :
       {std::size_t{2}, std::size_t{9}, whole.size() / 2, whole.size() - 1}) {
    const std::string message =
        message_of(ErrorCategory::input, [&] { matrix(whole.substr(0, bytes)); });
    EXPECT_NE(message.find("found the end of the file inside the compressed data (at byte " +
                           std::to_string(bytes)),
              std::string::npos)
        << message;
  }
  std::string checksum_wrong = whole;
  checksum_wrong[whole.size() - 6] ^= 1;
  EXPECT_NE(message_of(ErrorCategory::input, [&] { matrix(checksum_wrong); })
                .find("found damaged compressed data"),
            std::string::npos);
  EXPECT_NE(message_of(ErrorCategory::input, [&] { matrix(whole + "garbage"); })
                .find("found bytes after the end of the compressed data"),
            std::string::npos);
}

// Puts a file in the place of a standard stream.
class Redirection {
 public:
  Redirection(int stream, int replacement) : stream_(stream), saved_(::dup(stream)) {
    std::fflush(stdout);  // what the test runner printed goes where it belongs
    ::dup2(replacement, stream);
    ::close(replacement);
  }
  Redirection(const Redirection&) = delete;
  Redirection& operator=(const Redirection&) = delete;
  ~Redirection() {
    ::dup2(saved_, stream_);
    ::close(saved_);
  }

 private:
  int stream_;
  int saved_;
};

TEST_F(MatrixMarket, ReadsStandardInputFromFilesAndPipes) {
  const std::string text = large_text(20000);
  const auto expected = matrix(text);
  for (const std::string& bytes : {text, gzip(text)}) {
    {
      const Redirection input(STDIN_FILENO, ::open(store(bytes).c_str(), O_RDONLY));
      expect_same(read_matrix_market<double>("-"), expected);
    }
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    const std::jthread writer([&, end = ends[1]] {
      for (std::size_t sent = 0; sent < bytes.size();) {
        const ssize_t count = ::write(end, bytes.data() + sent, bytes.size() - sent);
        if (count < 0) break;
        sent += static_cast<std::size_t>(count);
      }
      ::close(end);
    });
    const Redirection input(STDIN_FILENO, ends[0]);
    expect_same(read_matrix_market<double>("-"), expected);
  }
}

TEST_F(MatrixMarket, NamesStandardInputInErrors) {
  const Redirection input(STDIN_FILENO, ::open("/dev/null", O_RDONLY));
  EXPECT_TRUE(message_of(ErrorCategory::input, [] {
                read_matrix_market_vector<double>("-");
              }).starts_with("standard input:1: found the end of the file"));
}

template <class T>
CsrMatrix<T> random_matrix(Index rows, Index cols) {
  using Bits = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
  std::mt19937_64 random(11);
  CsrMatrix<T> a = {rows, cols, {0}, {}, {}};
  for (Index row = 0; row < rows; ++row) {
    for (Index column = static_cast<Index>(random() % 7); column < cols;
         column += 1 + static_cast<Index>(random() % 40)) {
      T value = std::bit_cast<T>(static_cast<Bits>(random()));
      if (!std::isfinite(value)) value = std::numeric_limits<T>::denorm_min();
      a.columns.push_back(column);
      a.values.push_back(value);
    }
    a.row_offsets.push_back(a.nonzeros());
  }
  return a;
}

template <class T>
class MatrixMarketRoundTrip : public MatrixMarket {};
using Precisions = testing::Types<float, double>;
TYPED_TEST_SUITE(MatrixMarketRoundTrip, Precisions);

TYPED_TEST(MatrixMarketRoundTrip, KeepsEveryBit) {
  const auto a = random_matrix<TypeParam>(500, 300);
  for (const std::string name : {"a.mtx", "a.mtx.gz"}) {
    write_matrix_market<TypeParam>(this->path(name), a);
    expect_same(read_matrix_market<TypeParam>(this->path(name)), a);
    write_matrix_market<TypeParam>(this->path(name), std::span<const TypeParam>(a.values));
    EXPECT_EQ(read_matrix_market_vector<TypeParam>(this->path(name)), a.values);
  }
  EXPECT_EQ(this->files(), 2U);
}

TEST_F(MatrixMarket, WritesWhatTheFormatSays) {
  const CsrMatrix<double> a = {2, 2, {0, 2, 4}, {0, 1, 0, 1}, {4, -0.1, -0.1, 1.0 / 3}};
  write_matrix_market<double>(path("a.mtx"), a);
  EXPECT_EQ(contents(path("a.mtx")),
            "%%MatrixMarket matrix coordinate real general\n2 2 4\n1 1 4\n1 2 -0.1\n2 1 -0.1\n"
            "2 2 0.3333333333333333\n");
  write_matrix_market<double>(path("a.mtx"), a, MatrixMarketSymmetry::symmetric);
  EXPECT_EQ(contents(path("a.mtx")),
            "%%MatrixMarket matrix coordinate real symmetric\n2 2 3\n1 1 4\n2 1 -0.1\n"
            "2 2 0.3333333333333333\n");
  expect_same(read_matrix_market<double>(path("a.mtx")), a);
  const std::vector<float> x = {1, 0.1F};
  write_matrix_market<float>(path("x.mtx"), std::span<const float>(x));
  EXPECT_EQ(contents(path("x.mtx")), "%%MatrixMarket matrix array real general\n2 1\n1\n0.1\n");
}

TEST_F(MatrixMarket, CompressesByName) {
  write_matrix_market<double>(path("a.mtx.gz"), random_matrix<double>(50, 50));
  EXPECT_TRUE(contents(path("a.mtx.gz")).starts_with("\x1f\x8b"));
}

TEST_F(MatrixMarket, WritesStandardOutput) {
  const auto a = random_matrix<double>(300, 300);
  {
    const Redirection output(STDOUT_FILENO, ::open(path("out").c_str(), O_WRONLY | O_CREAT, 0600));
    write_matrix_market<double>("-", a);
  }
  expect_same(read_matrix_market<double>(path("out")), a);
}

TEST_F(MatrixMarket, RefusesToWriteARectangleAsSymmetric) {
  message_of(ErrorCategory::usage, [&] {
    write_matrix_market<double>(path("a.mtx"), random_matrix<double>(2, 3),
                                MatrixMarketSymmetry::symmetric);
  });
  EXPECT_EQ(files(), 0U);
}

// Lets no file of the process grow past some bytes: what a full disk does, without one.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : handler_(::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit = {bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    ::signal(SIGXFSZ, handler_);
  }

 private:
  void (*handler_)(int);
  rlimit before_ = {};
};

TEST_F(MatrixMarket, FailedWriteLeavesTheOldFileAndNoOther) {
  for (const std::string name : {"a.mtx", "a.mtx.gz"}) {
    const auto file = store("old", name);
    const auto a = random_matrix<double>(2000, 2000);
    const std::string message = message_of(ErrorCategory::output, [&] {
      const FileSizeLimit limit(100000);
      write_matrix_market<double>(file, a);
    });
    EXPECT_EQ(message, file.string() + ": cannot be written: File too large");
    EXPECT_EQ(contents(file), "old");
    std::filesystem::remove(file);
    EXPECT_EQ(files(), 0U);
  }
}

TEST_F(MatrixMarket, FullDiskAndDevicesAreWrittenInPlace) {
  const std::vector<double> x(100000, 0.1);
  const std::span<const double> view(x);
  EXPECT_EQ(
      message_of(ErrorCategory::output, [&] { write_matrix_market<double>("/dev/full", view); }),
      "/dev/full: cannot be written: No space left on device");
  write_matrix_market<double>("/dev/null", view);
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
}

TEST_F(MatrixMarket, ClosedPipeIsAnErrorAndNoSignal) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  ::close(ends[0]);
  const std::vector<double> x(100000, 0.1);
  const std::string message = message_of(ErrorCategory::output, [&] {
    const Redirection output(STDOUT_FILENO, ends[1]);
    write_matrix_market<double>("-", std::span<const double>(x));
  });
  EXPECT_EQ(message, "standard output: cannot be written: Broken pipe");
  sigset_t pending;
  ::sigpending(&pending);
  EXPECT_EQ(::sigismember(&pending, SIGPIPE), 0);
}

TEST_F(MatrixMarket, NamesTargetsThatCannotBeWritten) {
  const std::vector<double> x = {1};
  const std::span<const double> view(x);
  const auto in_nothing = path("missing") / "x.mtx";
  EXPECT_EQ(
      message_of(ErrorCategory::output, [&] { write_matrix_market<double>(in_nothing, view); }),
      in_nothing.string() + ": cannot be created: No such file or directory");
  EXPECT_EQ(message_of(ErrorCategory::output, [&] { write_matrix_market<double>(folder_, view); }),
            folder_.string() + ": cannot be written: Is a directory");
  if (::geteuid() == 0) return;  // root may write everything
  const auto file = store("old");
  std::filesystem::permissions(file, std::filesystem::perms::owner_read);
  EXPECT_EQ(message_of(ErrorCategory::output, [&] { write_matrix_market<double>(file, view); }),
            file.string() + ": cannot be written: Permission denied");
}

TEST_F(MatrixMarket, ReplacedFileKeepsPermissionsAndLinks) {
  const std::vector<double> x = {1, 2};
  const auto file = store("old");
  std::filesystem::permissions(file, std::filesystem::perms(0640));
  std::filesystem::create_symlink(file, path("link.mtx"));
  write_matrix_market<double>(path("link.mtx"), std::span<const double>(x));
  EXPECT_TRUE(std::filesystem::is_symlink(path("link.mtx")));
  EXPECT_EQ(read_matrix_market_vector<double>(file), x);
  EXPECT_EQ(std::filesystem::status(file).permissions(), std::filesystem::perms(0640));
  EXPECT_EQ(files(), 2U);
}

}  // namespace
