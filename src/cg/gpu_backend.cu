// The GPU backend: uploads the matrix once, then launches one cooperative kernel per solve.
#include <cuda_runtime.h>
#include <resident/devices.hpp>
#include <resident/error.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <string>
#include <thread>

#include "cg/backend.hpp"
#include "cg/cg_kernel.cuh"
#include "cg/merge_plan.hpp"
#include "core/cuda_check.hpp"

namespace resident::cg {
namespace {

// Chosen by measurement: see bench/results.
using Tuning = MergeTuning<256, 8>;
constexpr int kBlocksPerMultiprocessor = 3;

// A history longer than this is cut: 32 MB of device memory.
constexpr std::int64_t kHistoryCapacity = std::int64_t{1} << 22;

GpuInfo usable_gpu(int index) {
  const DeviceList list = list_devices();
  if (list.gpus.empty()) {
    throw Error(ErrorCategory::device,
                "a GPU was asked for, but there is none: " + list.why_no_gpu);
  }
  if (index >= static_cast<int>(list.gpus.size())) {
    throw Error(ErrorCategory::device, "GPU " + std::to_string(index) +
                                           " was asked for, but this machine has " +
                                           std::to_string(list.gpus.size()));
  }
  const GpuInfo& gpu = list.gpus[static_cast<std::size_t>(index)];
  if (!gpu.usable) {
    throw Error(ErrorCategory::device, "GPU " + std::to_string(index) + " (" + gpu.name +
                                           ") cannot be used: " + gpu.why_not);
  }
  return gpu;
}

// The buffer is 16 bytes longer than the data, as DeviceCsr asks for. Ordered on the stream: a copy
// from pageable memory may still be under way when the call returns.
template <class T>
DeviceBuffer<T> upload(std::span<const T> host, cudaStream_t stream) {
  DeviceBuffer<T> buffer(host.size() + (15 + sizeof(T)) / sizeof(T));
  if (!host.empty()) {
    RESIDENT_CUDA_CHECK(cudaMemcpyAsync(buffer.get(), host.data(), host.size_bytes(),
                                        cudaMemcpyHostToDevice, stream));
  }
  return buffer;
}

// What the grid can use: all multiprocessors, as many blocks on each as registers allow, and an
// equal share of the shared memory for each.
template <class Kernel>
GridCapacity grid_capacity(Kernel kernel, int gpu) {
  const auto attribute = [gpu](cudaDeviceAttr which) {
    int value = 0;
    RESIDENT_CUDA_CHECK(cudaDeviceGetAttribute(&value, which, gpu));
    return value;
  };
  cudaFuncAttributes function;
  RESIDENT_CUDA_CHECK(cudaFuncGetAttributes(&function, kernel));
  const int per_multiprocessor = attribute(cudaDevAttrMaxSharedMemoryPerMultiprocessor);
  const int reserved = attribute(cudaDevAttrReservedSharedMemoryPerBlock);
  const int largest_block = attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin);
  const int fixed = static_cast<int>(function.sharedSizeBytes) + reserved;
  // The hardware hands shared memory out in units of 1 KiB.
  const int share =
      std::min(per_multiprocessor / kBlocksPerMultiprocessor, largest_block + reserved);
  const int usable = share / 1024 * 1024 - fixed;
  if (usable <= 0) throw Error(ErrorCategory::device, "the GPU has too little shared memory");
  RESIDENT_CUDA_CHECK(
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, usable));
  int blocks = 0;
  RESIDENT_CUDA_CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
      &blocks, kernel, Tuning::threads, static_cast<std::size_t>(usable)));
  if (blocks == 0) throw Error(ErrorCategory::device, "the kernel does not fit on the GPU");
  return {attribute(cudaDevAttrMultiProcessorCount), blocks, static_cast<std::size_t>(usable)};
}

template <class T, class Recurrence>
class GpuBackend final : public CgBackend<T> {
 public:
  // `gpu` is the current device.
  GpuBackend(const GpuInfo& gpu, CsrView<T> a, std::span<const T> preconditioner,
             const CgOptions& options)
      : gpu_(gpu) {
    this->options = options;
    const auto rows = static_cast<std::size_t>(a.rows);
    row_offsets_ = upload(a.row_offsets, stream_.get());
    columns_ = upload(a.columns, stream_.get());
    values_ = upload(a.values, stream_.get());
    if (!preconditioner.empty()) preconditioner_ = upload(preconditioner, stream_.get());
    plan_ =
        plan_merge(a.row_offsets, grid_capacity(kernel(), gpu_.index), Tuning::tile(),
                   vectors_per_row<Recurrence>(!preconditioner.empty()), sizeof(T), options.cache);
    const int blocks = static_cast<int>(plan_.blocks.size());
    ranges_ = upload(std::span<const BlockRange>(plan_.blocks), stream_.get());
    if (plan_.residency.table_tiles == 0) {
      tile_starts_ = DeviceBuffer<LocalCoordinate>(
          plan_.blocks.size() * (static_cast<std::size_t>(plan_.tiles_per_block) + 1));
    }
    for (DeviceBuffer<T>* vector : {&b_, &x_, &r_, &p_, &s_}) {
      *vector = DeviceBuffer<T>(rows);
    }
    if constexpr (Recurrence::residual_is_multiplied) {
      w_ = DeviceBuffer<T>(rows);
      u_ = DeviceBuffer<T>(rows);
    }
    carries_ = DeviceBuffer<T>(plan_.blocks.size());
    slots_ = DeviceBuffer<double>(team_slots(blocks));
    requests_ = DeviceBuffer<int>(2);
    control_ = DeviceBuffer<TeamControl>(1);
    outcome_ = DeviceBuffer<Outcome>(1);
    if (options.history) {
      history_ = DeviceBuffer<double>(
          static_cast<std::size_t>(std::min(kHistoryCapacity, options.max_iterations + 1)));
    }
    RESIDENT_CUDA_CHECK(cudaStreamSynchronize(stream_.get()));  // everything is on the device
  }

  DeviceKind device() const override { return DeviceKind::gpu; }

  SolveReport solve(std::span<const T> b, std::span<T> x) override {
    const auto start = std::chrono::steady_clock::now();
    const DeviceGuard guard(gpu_.index);
    RESIDENT_CUDA_CHECK(
        cudaMemcpyAsync(b_.get(), b.data(), b.size_bytes(), cudaMemcpyHostToDevice, stream_.get()));
    RESIDENT_CUDA_CHECK(
        cudaMemcpyAsync(x_.get(), x.data(), x.size_bytes(), cudaMemcpyHostToDevice, stream_.get()));
    SolveReport report = run(b_.get(), x_.get(), stream_.get());
    RESIDENT_CUDA_CHECK(
        cudaMemcpyAsync(x.data(), x_.get(), x.size_bytes(), cudaMemcpyDeviceToHost, stream_.get()));
    RESIDENT_CUDA_CHECK(cudaStreamSynchronize(stream_.get()));
    report.solve_seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return report;
  }

  SolveReport solve(DeviceSpan<const T> b, DeviceSpan<T> x, CUstream_st* stream) override {
    const auto start = std::chrono::steady_clock::now();
    const DeviceGuard guard(gpu_.index);
    SolveReport report = run(b.data, x.data, stream);
    report.solve_seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return report;
  }

 private:
  static auto kernel() { return &cg_kernel<T, Recurrence, Tuning, kBlocksPerMultiprocessor>; }

  SolveReport run(const T* b, T* x, cudaStream_t stream) {
    const CgOptions& options = this->options;
    TeamControl control = {};
    control.time_out_request = static_cast<int>(Request::time_out);
    control.progress_iteration = -1;
    constexpr double kNoLimit = 9e9;  // seconds; more do not fit 64-bit nanoseconds
    if (options.time_limit < kNoLimit) {
      control.time_limit = static_cast<std::uint64_t>(std::max(1.0, options.time_limit * 1e9));
    }
    RESIDENT_CUDA_CHECK(
        cudaMemcpyAsync(control_.get(), &control, sizeof(control), cudaMemcpyHostToDevice, stream));
    KernelArguments<T> arguments = {};
    arguments.spmv = {{row_offsets_.get(), columns_.get(), values_.get()},
                      plan_.residency,
                      plan_.layout,
                      tile_starts_.get(),
                      plan_.tiles_per_block + 1};
    arguments.preconditioner = preconditioner_.get();
    arguments.b = b;
    arguments.x = x;
    arguments.r = r_.get();
    arguments.p = p_.get();
    arguments.s = s_.get();
    arguments.w = w_.get();
    arguments.u = u_.get();
    arguments.carries = carries_.get();
    arguments.ranges = ranges_.get();
    arguments.limits = {options.tolerance, options.absolute_tolerance, options.max_iterations};
    arguments.slots = slots_.get();
    arguments.requests = requests_.get();
    arguments.control = control_.get();
    arguments.history = history_.get();
    arguments.history_capacity = static_cast<std::int64_t>(history_.size());
    arguments.outcome = outcome_.get();
    void* parameters[] = {&arguments};
    RESIDENT_CUDA_CHECK(cudaEventRecord(before_.get(), stream));
    RESIDENT_CUDA_CHECK(cudaLaunchCooperativeKernel(
        reinterpret_cast<const void*>(kernel()), static_cast<unsigned>(plan_.blocks.size()),
        Tuning::threads, parameters, plan_.layout.bytes, stream));
    RESIDENT_CUDA_CHECK(cudaEventRecord(after_.get(), stream));
    wait();
    return report();
  }

  // Until the kernel has ended: passes on the cancellation flag, calls back with the progress.
  void wait() {
    const CgOptions& options = this->options;
    if (options.cancel == nullptr && !options.progress) {
      RESIDENT_CUDA_CHECK(cudaEventSynchronize(after_.get()));
      return;
    }
    using Clock = std::chrono::steady_clock;
    const auto start = Clock::now();
    const auto interval = std::chrono::duration<double>(options.progress_interval);
    auto reported = start;
    bool asked = false;
    for (;;) {
      const cudaError_t status = cudaEventQuery(after_.get());
      if (status == cudaSuccess) return;
      if (status != cudaErrorNotReady) RESIDENT_CUDA_CHECK(status);
      if (!asked && options.cancel != nullptr && options.cancel->load()) {
        asked = true;
        const int request = static_cast<int>(Request::cancel);
        RESIDENT_CUDA_CHECK(cudaMemcpyAsync(&control_.get()->request, &request, sizeof(request),
                                            cudaMemcpyHostToDevice, side_stream_.get()));
        RESIDENT_CUDA_CHECK(cudaStreamSynchronize(side_stream_.get()));
      }
      const auto now = Clock::now();
      if (options.progress && now - reported >= interval) {
        reported = now;
        report_progress(std::chrono::duration<double>(now - start).count());
      }
      // Short solves are waited for without a pause.
      if (now - start > std::chrono::milliseconds(5)) {
        std::this_thread::sleep_for(std::chrono::microseconds(200));
      }
    }
  }

  void report_progress(double seconds) {
    TeamControl control;
    RESIDENT_CUDA_CHECK(cudaMemcpyAsync(&control, control_.get(), sizeof(control),
                                        cudaMemcpyDeviceToHost, side_stream_.get()));
    RESIDENT_CUDA_CHECK(cudaStreamSynchronize(side_stream_.get()));
    if (control.progress_iteration < 0) return;
    this->options.progress({control.progress_iteration, std::sqrt(control.progress_value),
                            std::sqrt(control.progress_reference), seconds});
  }

  SolveReport report() {
    Outcome outcome;
    RESIDENT_CUDA_CHECK(
        cudaMemcpy(&outcome, outcome_.get(), sizeof(outcome), cudaMemcpyDeviceToHost));
    float milliseconds = 0;
    RESIDENT_CUDA_CHECK(cudaEventElapsedTime(&milliseconds, before_.get(), after_.get()));
    SolveReport report;
    report.reason = outcome.reason;
    report.iterations = outcome.iterations;
    report.restarts = outcome.restarts;
    report.residual_norm = std::sqrt(outcome.norm2);
    report.rhs_norm = std::sqrt(outcome.rhs_norm2);
    report.iteration_seconds = 1e-3 * static_cast<double>(milliseconds);
    report.device = gpu_.name;
    report.plan = plan_.description + ", " + std::string(name(this->options.recurrence));
    if (history_.size() > 0) {
      const auto recorded = std::min<std::int64_t>(outcome.iterations + 1,
                                                   static_cast<std::int64_t>(history_.size()));
      report.history.resize(static_cast<std::size_t>(recorded));
      RESIDENT_CUDA_CHECK(cudaMemcpy(report.history.data(), history_.get(),
                                     report.history.size() * sizeof(double),
                                     cudaMemcpyDeviceToHost));
      for (double& norm : report.history) norm = std::sqrt(norm);
    }
    return report;
  }

  GpuInfo gpu_;
  Stream stream_, side_stream_;
  Event before_, after_;
  MergePlan plan_;
  DeviceBuffer<Offset> row_offsets_;
  DeviceBuffer<Index> columns_;
  DeviceBuffer<T> values_, preconditioner_;
  DeviceBuffer<T> b_, x_, r_, p_, s_, w_, u_, carries_;
  DeviceBuffer<BlockRange> ranges_;
  DeviceBuffer<LocalCoordinate> tile_starts_;
  DeviceBuffer<double> slots_, history_;
  DeviceBuffer<int> requests_;
  DeviceBuffer<TeamControl> control_;
  DeviceBuffer<Outcome> outcome_;
};

}  // namespace

template <class T>
std::unique_ptr<CgBackend<T>> make_gpu_backend(CsrView<T> a, std::span<const T> preconditioner,
                                               const CgOptions& options) {
  CgOptions resolved = options;
  // single_reduction is faster on small systems, but on some matrices it needs more iterations.
  if (resolved.recurrence == Recurrence::automatic) resolved.recurrence = Recurrence::classic;
  const GpuInfo gpu = usable_gpu(options.gpu);
  const DeviceGuard guard(gpu.index);
  if (resolved.recurrence == Recurrence::classic) {
    return std::make_unique<GpuBackend<T, Classic>>(gpu, a, preconditioner, resolved);
  }
  return std::make_unique<GpuBackend<T, SingleReduction>>(gpu, a, preconditioner, resolved);
}

template std::unique_ptr<CgBackend<float>> make_gpu_backend(CsrView<float>, std::span<const float>,
                                                            const CgOptions&);
template std::unique_ptr<CgBackend<double>> make_gpu_backend(CsrView<double>,
                                                             std::span<const double>,
                                                             const CgOptions&);

}  // namespace resident::cg
