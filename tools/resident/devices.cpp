// `resident devices`: what a solve can run on here.
#include <resident/devices.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <memory>

#include "commands.hpp"
#include "json.hpp"
#include "output.hpp"

namespace resident::command {
namespace {

double mebibytes(std::size_t bytes) { return static_cast<double>(bytes) / (1 << 20); }

std::string to_text(const GpuInfo& gpu) {
  std::string text = fmt::format(
      "GPU {:<3} {}, compute capability {}.{}, {} multiprocessors with {} KiB of shared memory "
      "each, {:.1f} MiB L2, {:.1f} GiB memory\n",
      gpu.index, gpu.name, gpu.compute_major, gpu.compute_minor, gpu.multiprocessors,
      gpu.shared_bytes_per_multiprocessor / 1024, mebibytes(gpu.l2_bytes),
      mebibytes(gpu.memory_bytes) / 1024);
  if (!gpu.usable) text += fmt::format("        not usable: {}\n", gpu.why_not);
  return text;
}

std::string to_text(const DeviceList& list) {
  std::string text;
  for (const GpuInfo& gpu : list.gpus) text += to_text(gpu);
  if (list.gpus.empty()) text += fmt::format("GPU     none: {}\n", list.why_no_gpu);
  return text +
         fmt::format("CPU     {} thread{}\n", list.cpu_threads, list.cpu_threads == 1 ? "" : "s");
}

std::string to_json(const DeviceList& list) {
  nlohmann::ordered_json json;
  json["gpus"] = nlohmann::ordered_json::array();
  for (const GpuInfo& gpu : list.gpus) {
    nlohmann::ordered_json entry;
    entry["index"] = gpu.index;
    entry["name"] = gpu.name;
    entry["compute_capability"] = fmt::format("{}.{}", gpu.compute_major, gpu.compute_minor);
    entry["multiprocessors"] = gpu.multiprocessors;
    entry["memory_bytes"] = gpu.memory_bytes;
    entry["l2_bytes"] = gpu.l2_bytes;
    entry["shared_bytes_per_multiprocessor"] = gpu.shared_bytes_per_multiprocessor;
    entry["usable"] = gpu.usable;
    entry["why_not"] = gpu.why_not;
    json["gpus"].push_back(entry);
  }
  json["why_no_gpu"] = list.why_no_gpu;
  json["cpu_threads"] = list.cpu_threads;
  json["version"] = version_string();
  return one_line(json);
}

}  // namespace

Command add_devices(CLI::App& parent) {
  CLI::App* app = parent.add_subcommand("devices", "List what a solve can run on here");
  const auto json = std::make_shared<bool>(false);
  app->add_flag("--json", *json, "Print one JSON object");
  return {app, [json] {
            const DeviceList list = list_devices();
            write_text("-", *json ? to_json(list) : to_text(list));
            return exit_success;
          }};
}

}  // namespace resident::command
