#include "environment.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <resident/devices.hpp>
#include <resident/version.hpp>

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>

namespace resident::bench {
namespace {

// First line that a command prints, or empty.
std::string first_line(const char* command) {
  std::FILE* pipe = popen(command, "r");
  if (pipe == nullptr) return {};
  char line[512] = {};
  const char* read = std::fgets(line, sizeof(line), pipe);
  pclose(pipe);
  std::string text = read != nullptr ? read : "";
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  return text;
}

}  // namespace

nlohmann::ordered_json environment() {
  const DeviceList devices = list_devices();
  nlohmann::ordered_json record = {{"kind", "environment"}};
  record["version"] = fmt::format("{}.{}.{}", version().major, version().minor, version().patch);
  const char* commit = std::getenv("RESIDENT_COMMIT");
  record["commit"] = commit != nullptr ? commit : RESIDENT_COMMIT;
  record["date"] = fmt::format("{:%Y-%m-%d}", fmt::gmtime(std::time(nullptr)));
  record["cpu_threads"] = devices.cpu_threads;
  if (!devices.gpus.empty()) {
    record["gpu"] = devices.gpus[0].name;
    record["multiprocessors"] = devices.gpus[0].multiprocessors;
    record["driver, SM MHz, memory MHz, °C"] = first_line(
        "nvidia-smi --query-gpu=driver_version,clocks.sm,clocks.mem,temperature.gpu "
        "--format=csv,noheader,nounits -i 0 2>/dev/null");
  }
  return record;
}

}  // namespace resident::bench
