// What a solve can run on.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace resident {

struct GpuInfo {
  int index = 0;
  std::string name;
  int compute_major = 0, compute_minor = 0;
  int multiprocessors = 0;
  std::size_t memory_bytes = 0;
  std::size_t l2_bytes = 0;
  std::size_t shared_bytes_per_multiprocessor = 0;
  bool usable = false;  // this build holds code for it, and it can run cooperative kernels
  std::string why_not;  // one sentence when it is not usable
};

struct DeviceList {
  std::vector<GpuInfo> gpus;
  std::string why_no_gpu;  // one sentence when gpus is empty: built without CUDA, no driver, ...
  int cpu_threads = 1;     // hardware threads that this process may use
};

// Never throws for a missing driver or device: that is an answer.
DeviceList list_devices();

}  // namespace resident
