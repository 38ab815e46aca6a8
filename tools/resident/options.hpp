// Options that several subcommands share, and how they are spelled.
#pragma once

#include <resident/error.hpp>

#include <CLI/CLI.hpp>

#include <charconv>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <vector>

namespace resident::command {

enum class Precision { float64, float32 };  // "double", "float"

std::string_view name(Precision precision);

// "auto, gpu or cpu"
std::string list_of(const std::vector<std::string>& names);

// The positional argument A.mtx: a file, "-" or a family.
CLI::Option* add_matrix(CLI::App& app, std::string& matrix);

// --precision double|float
CLI::Option* add_precision(CLI::App& app, Precision& precision);

// The families that a matrix argument may name, for the end of a help text.
std::string families_help();

// An option whose value is a file name; "" leaves `file` unset and is refused from a user.
CLI::Option* add_file(CLI::App& app, const std::string& flags, std::string& file,
                      const std::string& help);

// An option whose value is a number from 0 up. Whole numbers are decimal. `value` holds the
// default.
template <class Number>
CLI::Option* add_number(CLI::App& app, const std::string& flag, Number& value,
                        const std::string& help) {
  const auto parse = [&value, flag](const std::string& text) {
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    if (error == std::errc() && stop == end && value >= 0) return;
    throw Error(ErrorCategory::usage,
                flag + " is '" + text + "', expected " +
                    (std::is_integral_v<Number> ? "a whole number" : "a number") +
                    " of at least 0");
  };
  return app.add_option_function<std::string>(flag, parse, help);
}

// An option whose value is one of an enumeration's names; `value` holds the default.
template <class Enum>
CLI::Option* add_choice(CLI::App& app, const std::string& flag, Enum& value,
                        const std::vector<Enum>& choices, const std::string& help) {
  std::vector<std::string> names;
  for (const Enum choice : choices) names.emplace_back(name(choice));
  const auto parse = [&value, choices, names, flag](const std::string& text) {
    for (std::size_t i = 0; i < choices.size(); ++i) {
      if (names[i] != text) continue;
      value = choices[i];
      return;
    }
    throw Error(ErrorCategory::usage, flag + " is '" + text + "', expected " + list_of(names));
  };
  return app.add_option_function<std::string>(flag, parse, help)
      ->option_text(CLI::detail::join(names, "|") + " [" + std::string(name(value)) + "]");
}

}  // namespace resident::command
