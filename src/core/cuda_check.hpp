// CUDA return codes become exceptions; device memory, streams and events own themselves.
#pragma once

#include <cuda_runtime.h>
#include <resident/error.hpp>

#include <cstddef>
#include <string>
#include <utility>

namespace resident {

[[noreturn]] inline void throw_cuda_error(cudaError_t status, const char* call) {
  cudaGetLastError();  // clears an error that is not sticky
  const bool memory = status == cudaErrorMemoryAllocation;
  throw Error(memory ? ErrorCategory::memory : ErrorCategory::device,
              std::string("CUDA: ") + cudaGetErrorString(status) + " (" + cudaGetErrorName(status) +
                  ", in " + call + ")");
}

#define RESIDENT_CUDA_CHECK(call)                                             \
  do {                                                                        \
    const cudaError_t status_ = (call);                                       \
    if (status_ != cudaSuccess) ::resident::throw_cuda_error(status_, #call); \
  } while (0)

// Makes a device current for a scope and gives the caller's device back.
class DeviceGuard {
 public:
  explicit DeviceGuard(int device) {
    RESIDENT_CUDA_CHECK(cudaGetDevice(&previous_));
    RESIDENT_CUDA_CHECK(cudaSetDevice(device));
  }
  ~DeviceGuard() { cudaSetDevice(previous_); }
  DeviceGuard(const DeviceGuard&) = delete;
  DeviceGuard& operator=(const DeviceGuard&) = delete;

 private:
  int previous_ = 0;
};

template <class T>
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  explicit DeviceBuffer(std::size_t size) : size_(size) {
    if (size > 0) RESIDENT_CUDA_CHECK(cudaMalloc(&data_, size * sizeof(T)));
  }
  DeviceBuffer(DeviceBuffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~DeviceBuffer() { cudaFree(data_); }

  T* get() const { return data_; }
  std::size_t size() const { return size_; }
  std::size_t bytes() const { return size_ * sizeof(T); }

 private:
  T* data_ = nullptr;
  std::size_t size_ = 0;
};

class Stream {
 public:
  Stream() { RESIDENT_CUDA_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
  ~Stream() { cudaStreamDestroy(stream_); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  cudaStream_t get() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

class Event {
 public:
  Event() { RESIDENT_CUDA_CHECK(cudaEventCreate(&event_)); }
  ~Event() { cudaEventDestroy(event_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  cudaEvent_t get() const { return event_; }

 private:
  cudaEvent_t event_ = nullptr;
};

}  // namespace resident
