// Numbers that the fast way refuses.
#include "io/parse_number.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string>
#include <string_view>
#include <system_error>

namespace resident::io {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; }

// The characters that can belong to a number, in lower case, Fortran's 'd' as 'e'.
std::string normalised(const char* p) {
  std::string token;
  for (char c = lower(*p); is_digit(c) || (c >= 'a' && c <= 'z') ||
                           std::string_view("+-.").find(c) != std::string_view::npos;
       c = lower(*++p)) {
    token.push_back(c);
  }
  return token;
}

// Of a number that from_chars calls out of range: whether its decimal exponent is positive.
bool is_large(std::string_view unsigned_token) {
  const std::size_t exponent_at = std::min(unsigned_token.find('e'), unsigned_token.size());
  const std::string_view mantissa = unsigned_token.substr(0, exponent_at);
  const std::size_t point = std::min(mantissa.find('.'), mantissa.size());
  const std::size_t first = mantissa.find_first_of("123456789");
  double magnitude = static_cast<double>(point) - static_cast<double>(first);
  if (exponent_at < unsigned_token.size()) {
    std::string_view digits = unsigned_token.substr(exponent_at + 1);
    const bool negative = digits.starts_with('-');
    if (negative || digits.starts_with('+')) digits.remove_prefix(1);
    double exponent = 0;
    for (const char c : digits) exponent = 10 * exponent + (c - '0');
    magnitude += negative ? -exponent : exponent;
  }
  return magnitude > 0;
}

}  // namespace

template <class T>
ParsedNumber<T> parse_number_slowly(const char* p) {
  std::string token = normalised(p);
  const char* const token_end = p + token.size();
  const bool negative = token.starts_with('-');
  std::string_view magnitude = token;
  if (negative || token.starts_with('+')) magnitude.remove_prefix(1);
  if (magnitude == "nan" || magnitude == "inf" || magnitude == "infinity") {
    return {0, token_end, NumberStatus::not_finite, false};
  }

  const ParsedNumber<T> malformed = {0, p, NumberStatus::malformed, false};
  const std::size_t other = magnitude.find_first_not_of("0123456789.de+-");
  const bool starts_like_number =
      !magnitude.empty() && (is_digit(magnitude[0]) || magnitude[0] == '.');
  if (other != std::string_view::npos || !starts_like_number) return malformed;
  std::ranges::replace(token, 'd', 'e');
  T value = 0;
  const char* const last = magnitude.data() + magnitude.size();
  const auto [end, error] = std::from_chars(magnitude.data(), last, value);
  if (end != last) return malformed;
  const bool integer = magnitude.find_first_of(".e") == std::string_view::npos;
  if (error == std::errc::result_out_of_range) {
    if (is_large(magnitude)) return {0, token_end, NumberStatus::too_large, integer};
    value = 0;
  } else if (error != std::errc()) {
    return malformed;
  } else if (!std::isfinite(value)) {
    return {0, token_end, NumberStatus::too_large, integer};
  }
  return {negative ? -value : value, token_end, NumberStatus::ok, integer};
}

template ParsedNumber<float> parse_number_slowly(const char*);
template ParsedNumber<double> parse_number_slowly(const char*);

}  // namespace resident::io
