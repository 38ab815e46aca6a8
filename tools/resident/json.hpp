// How all subcommands print JSON.
#pragma once

#include <resident/version.hpp>

#include <nlohmann/json.hpp>

#include <string>

namespace resident::command {

// One line. File names need not be UTF-8, JSON must be: foreign bytes become U+FFFD. Numbers that
// are not finite become null.
inline std::string one_line(const nlohmann::ordered_json& json) {
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

// "0.1.0", of the library that runs.
inline std::string version_string() {
  const Version v = version();
  return std::to_string(v.major) + "." + std::to_string(v.minor) + "." + std::to_string(v.patch);
}

}  // namespace resident::command
