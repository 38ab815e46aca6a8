// Where and when a result was measured.
#pragma once

#include <nlohmann/json.hpp>

namespace resident::bench {

// Device, driver, clocks, temperature, CPU threads, commit and date.
nlohmann::ordered_json environment();

}  // namespace resident::bench
