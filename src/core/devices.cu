// The GPUs of this machine, and whether this build can use them.
#include <resident/devices.hpp>

#include <cuda_runtime.h>

#include "core/cpu_threads.hpp"

namespace resident {
namespace {

__global__ void probe() {}

// Whether the binary holds code for the current device.
std::string why_not_usable(const cudaDeviceProp& properties) {
  if (!properties.cooperativeLaunch) return "it cannot launch cooperative kernels";
  cudaFuncAttributes attributes;
  const cudaError_t status = cudaFuncGetAttributes(&attributes, probe);
  if (status == cudaSuccess) return {};
  cudaGetLastError();
  return "this build holds no code for compute capability " + std::to_string(properties.major) +
         "." + std::to_string(properties.minor);
}

GpuInfo describe(int index) {
  GpuInfo gpu;
  gpu.index = index;
  cudaDeviceProp properties;
  if (const cudaError_t status = cudaGetDeviceProperties(&properties, index);
      status != cudaSuccess) {
    cudaGetLastError();
    gpu.name = "unknown";
    gpu.why_not = cudaGetErrorString(status);
    return gpu;
  }
  gpu.name = properties.name;
  gpu.compute_major = properties.major;
  gpu.compute_minor = properties.minor;
  gpu.multiprocessors = properties.multiProcessorCount;
  gpu.memory_bytes = properties.totalGlobalMem;
  gpu.l2_bytes = static_cast<std::size_t>(properties.l2CacheSize);
  gpu.shared_bytes_per_multiprocessor = properties.sharedMemPerMultiprocessor;
  int previous = 0;
  cudaGetDevice(&previous);
  cudaSetDevice(index);
  gpu.why_not = why_not_usable(properties);
  gpu.usable = gpu.why_not.empty();
  cudaSetDevice(previous);
  return gpu;
}

}  // namespace

DeviceList list_devices() {
  DeviceList list;
  list.cpu_threads = available_cpu_threads();
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status != cudaSuccess) {
    cudaGetLastError();
    list.why_no_gpu = cudaGetErrorString(status);
    return list;
  }
  if (count == 0) list.why_no_gpu = "the driver lists no GPU";
  for (int index = 0; index < count; ++index) list.gpus.push_back(describe(index));
  return list;
}

}  // namespace resident
