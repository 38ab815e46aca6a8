// Decimal numbers from text, correctly rounded, eight digits at a time.
//
// Every function here reads up to eight characters past the number: see text_padding.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

namespace resident::io {

inline bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }
inline bool is_digit(char c) { return static_cast<unsigned char>(c - '0') < 10; }

// The digits at the front of the eight characters at p.
struct DigitRun {
  std::uint64_t value;
  int length;  // 0 to 8
};

inline DigitRun read_digit_run(const char* p) {
  if constexpr (std::endian::native == std::endian::little) {
    std::uint64_t word;
    std::memcpy(&word, p, sizeof word);
    word ^= 0x3030303030303030U;  // digits become 0 to 9
    const std::uint64_t not_digit = ((word + 0x0606060606060606U) | word) & 0xf0f0f0f0f0f0f0f0U;
    const int length = not_digit == 0 ? 8 : std::countr_zero(not_digit) / 8;
    if (length == 0) return {0, 0};
    word <<= 64 - 8 * length;  // zeros in front
    // Neighbours are joined: digits to pairs, pairs to fours, fours to eight.
    word = word * 10 + (word >> 8);
    constexpr std::uint64_t pairs = 0x000000ff000000ffU;
    const std::uint64_t upper = (word & pairs) * (100 + (std::uint64_t{1000000} << 32));
    const std::uint64_t lower = ((word >> 16) & pairs) * (1 + (std::uint64_t{10000} << 32));
    return {(upper + lower) >> 32, length};
  } else {
    DigitRun run = {0, 0};
    for (; run.length < 8 && is_digit(p[run.length]); ++run.length) {
      run.value = 10 * run.value + static_cast<std::uint64_t>(p[run.length] - '0');
    }
    return run;
  }
}

inline constexpr std::array<std::uint64_t, 9> small_powers_of_ten = {
    1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};

// Appends the digits at p to `value`, `digits` counting them; value is meaningless once it has more
// than 19 digits.
inline const char* read_digits(const char* p, std::uint64_t& value, std::int64_t& digits) {
  for (;;) {
    const DigitRun run = read_digit_run(p);
    value = value * small_powers_of_ten[static_cast<std::size_t>(run.length)] + run.value;
    digits += run.length;
    p += run.length;
    if (run.length < 8) return p;
  }
}

// An unsigned integer; `digits` is 0 where none stands at p. Values too large become the maximum.
struct ParsedCount {
  std::uint64_t value;
  std::int64_t digits;
  const char* end;
};

inline ParsedCount parse_count(const char* p) {
  const char* significant = p;
  ParsedCount count = {0, 0, p};
  count.end = read_digits(p, count.value, count.digits);
  if (count.digits > 19) [[unlikely]] {
    while (*significant == '0') ++significant;
    if (count.end - significant > 19) count.value = std::numeric_limits<std::uint64_t>::max();
  }
  return count;
}

enum class NumberStatus {
  ok,
  malformed,
  too_large,   // beyond the largest number of the type
  not_finite,  // spelled inf or nan
};

template <class T>
struct ParsedNumber {
  T value;
  const char* end;  // of the number where status is ok
  NumberStatus status;
  bool integer;  // without point and exponent
};

// What the fast way cannot do: more than 19 digits, large exponents, malformed numbers. Numbers too
// small for the type become zero, its nearest value.
template <class T>
ParsedNumber<T> parse_number_slowly(const char* p);

namespace detail {

inline constexpr int largest_power_of_five = 27;  // the last below 2^64

inline constexpr auto powers_of_five = [] {
  std::array<std::uint64_t, largest_power_of_five + 1> powers = {1};
  for (std::size_t k = 1; k < powers.size(); ++k) powers[k] = 5 * powers[k - 1];
  return powers;
}();

inline constexpr auto powers_of_ten = [] {
  std::array<double, 23> powers = {1};  // 10^22 is the last that a double holds
  for (std::size_t k = 1; k < powers.size(); ++k) powers[k] = 10 * powers[k - 1];
  return powers;
}();

// 2^exponent for normal results.
inline double power_of_two(int exponent) {
  return std::bit_cast<double>(static_cast<std::uint64_t>(1023 + exponent) << 52);
}

// mantissa * 10^exponent for mantissa > 0 and |exponent| <= 27, rounded to the precision of T, as a
// double, whose range holds every such number. The significand is computed in integers to at least
// 61 bits, its last bit standing for all that is cut off, and the conversion to T rounds it once.
template <class T>
double scale_exactly(std::uint64_t mantissa, int exponent) {
  using Wide = unsigned __int128;
  const int shift = std::countl_zero(mantissa);
  const std::uint64_t normal = mantissa << shift;
  std::uint64_t significand;
  int binary_exponent;
  if (exponent < 0) {
    const std::uint64_t five = powers_of_five[static_cast<std::size_t>(-exponent)];
    const int five_shift = std::countl_zero(five);
    const std::uint64_t divisor = five << five_shift;
    const Wide dividend = static_cast<Wide>(normal) << 62;
    const std::uint64_t quotient = static_cast<std::uint64_t>(dividend / divisor);
    const bool inexact = static_cast<Wide>(quotient) * divisor != dividend;
    significand = quotient | static_cast<std::uint64_t>(inexact);
    binary_exponent = exponent - shift - 62 + five_shift;
  } else {
    const Wide product =
        static_cast<Wide>(normal) * powers_of_five[static_cast<std::size_t>(exponent)];
    const std::uint64_t high = static_cast<std::uint64_t>(product >> 64);
    const int cut = high == 0 ? 1 : 65 - std::countl_zero(high);
    const bool inexact = (product & ((Wide{1} << cut) - 1)) != 0;
    significand = static_cast<std::uint64_t>(product >> cut) | static_cast<std::uint64_t>(inexact);
    binary_exponent = exponent - shift + cut;
  }
  const T rounded = static_cast<T>(static_cast<std::int64_t>(significand));
  return static_cast<double>(rounded) * power_of_two(binary_exponent);
}

// The exponent after a mantissa: 'e', or Fortran's 'd', a sign, digits. Returns p where none stands
// there and nullptr where it is malformed.
inline const char* read_exponent(const char* p, std::int64_t& exponent) {
  const char letter = static_cast<char>(*p | 0x20);
  if (letter != 'e' && letter != 'd') return p;
  ++p;
  const bool negative = *p == '-';
  if (*p == '-' || *p == '+') ++p;
  const ParsedCount count = parse_count(p);
  if (count.digits == 0) return nullptr;
  constexpr std::uint64_t most = 100000;  // beyond every range, and far from overflow
  const auto value = static_cast<std::int64_t>(count.value < most ? count.value : most);
  exponent += negative ? -value : value;
  return count.end;
}

}  // namespace detail

// A number such as 12, -0.5, .5e-3 or 1.25D+02 at p.
template <class T>
ParsedNumber<T> parse_number(const char* p) {
  const char* const start = p;
  const bool negative = *p == '-';
  if (*p == '-' || *p == '+') ++p;
  std::uint64_t mantissa = 0;
  std::int64_t digits = 0;
  p = read_digits(p, mantissa, digits);
  bool any_digit = digits > 0;
  std::int64_t exponent = 0;
  const bool point = *p == '.';
  if (point) {
    const char* const fraction = ++p;
    if (mantissa == 0 && digits <= 19) {  // zeros in front are not significant
      digits = 0;
      while (*p == '0') ++p;
    }
    p = read_digits(p, mantissa, digits);
    any_digit |= p != fraction;
    exponent = fraction - p;
  }
  const char* const end = detail::read_exponent(p, exponent);
  if (!any_digit || digits > 19 || end == nullptr) [[unlikely]]
    return parse_number_slowly<T>(start);

  const bool integer = !point && end == p;
  double magnitude;
  if (mantissa == 0) {
    magnitude = 0;
  } else if (std::is_same_v<T, double> && mantissa <= (std::uint64_t{1} << 53) && exponent <= 0 &&
             exponent >= -22) {
    // Both operands are exact, so the quotient is rounded once (Clinger, PLDI 1990).
    magnitude = static_cast<double>(static_cast<std::int64_t>(mantissa)) /
                detail::powers_of_ten[static_cast<std::size_t>(-exponent)];
  } else if (exponent >= -detail::largest_power_of_five &&
             exponent <= detail::largest_power_of_five) {
    magnitude = detail::scale_exactly<T>(mantissa, static_cast<int>(exponent));
    if (magnitude > static_cast<double>(std::numeric_limits<T>::max())) [[unlikely]] {
      return {0, end, NumberStatus::too_large, integer};
    }
  } else {
    return parse_number_slowly<T>(start);
  }
  return {static_cast<T>(negative ? -magnitude : magnitude), end, NumberStatus::ok, integer};
}

}  // namespace resident::io
