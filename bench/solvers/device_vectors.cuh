// What the host-driven baselines share: the matrix and vectors on the device, the small kernels
// between library calls, and timing by device events.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/cuda_check.hpp"
#include "solvers/solver.hpp"

namespace resident::bench {

// A in CSR with 32-bit offsets, as the baselines take it, and the vectors of CG.
struct DeviceSystem {
  int rows = 0;
  int nonzeros = 0;
  DeviceBuffer<int> row_offsets, columns;
  DeviceBuffer<double> values, b, x, r, z, p, s, inverse_diagonal;

  void upload(const Problem& problem, bool jacobi) {
    const CsrView<double> a = problem.a;
    if (a.nonzeros() > std::numeric_limits<int>::max()) {
      throw Error(ErrorCategory::memory, "this baseline holds at most 2^31 - 1 nonzeros");
    }
    rows = a.rows;
    nonzeros = static_cast<int>(a.nonzeros());
    const std::vector<int> offsets(a.row_offsets.begin(), a.row_offsets.end());
    row_offsets = copy<int>(offsets);
    columns = copy<int>(a.columns);
    values = copy<double>(a.values);
    b = copy<double>(problem.b);
    const auto n = static_cast<std::size_t>(rows);
    for (DeviceBuffer<double>* vector : {&x, &r, &p, &s}) *vector = DeviceBuffer<double>(n);
    if (jacobi) {
      z = DeviceBuffer<double>(n);
      inverse_diagonal = copy<double>(inverted_diagonal(a));
    }
    RESIDENT_CUDA_CHECK(cudaDeviceSynchronize());  // copies from pageable memory may lag behind
  }

  std::size_t bytes() const {
    return row_offsets.bytes() + columns.bytes() + values.bytes() + b.bytes() + x.bytes() +
           r.bytes() + z.bytes() + p.bytes() + s.bytes() + inverse_diagonal.bytes();
  }

  std::vector<double> solution() const {
    std::vector<double> host(static_cast<std::size_t>(rows));
    RESIDENT_CUDA_CHECK(cudaMemcpy(host.data(), x.get(), x.bytes(), cudaMemcpyDeviceToHost));
    return host;
  }

 private:
  template <class T>
  static DeviceBuffer<T> copy(std::span<const T> host) {
    DeviceBuffer<T> buffer(host.size());
    RESIDENT_CUDA_CHECK(
        cudaMemcpy(buffer.get(), host.data(), buffer.bytes(), cudaMemcpyHostToDevice));
    return buffer;
  }

  static std::vector<double> inverted_diagonal(CsrView<double> a) {
    std::vector<double> inverse(static_cast<std::size_t>(a.rows), 1.0);
    for (std::size_t row = 0; row < inverse.size(); ++row) {
      for (auto k = static_cast<std::size_t>(a.row_offsets[row]);
           k < static_cast<std::size_t>(a.row_offsets[row + 1]); ++k) {
        if (a.columns[k] == static_cast<Index>(row)) inverse[row] = 1.0 / a.values[k];
      }
    }
    return inverse;
  }
};

// Device time of what `enqueue` puts on the stream, in seconds.
template <class Enqueue>
double device_seconds(cudaStream_t stream, Enqueue&& enqueue) {
  const Event before, after;
  RESIDENT_CUDA_CHECK(cudaEventRecord(before.get(), stream));
  enqueue();
  RESIDENT_CUDA_CHECK(cudaEventRecord(after.get(), stream));
  RESIDENT_CUDA_CHECK(cudaEventSynchronize(after.get()));
  float milliseconds = 0;
  RESIDENT_CUDA_CHECK(cudaEventElapsedTime(&milliseconds, before.get(), after.get()));
  return 1e-3 * static_cast<double>(milliseconds);
}

}  // namespace resident::bench
