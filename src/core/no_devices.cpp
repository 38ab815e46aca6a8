// The device list of builds without CUDA.
#include <resident/devices.hpp>

#include "core/cpu_threads.hpp"

namespace resident {

DeviceList list_devices() {
  DeviceList list;
  list.why_no_gpu = "this build has no GPU solver";
  list.cpu_threads = available_cpu_threads();
  return list;
}

}  // namespace resident
