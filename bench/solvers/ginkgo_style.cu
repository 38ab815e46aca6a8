// CG in the structure of Ginkgo, written from its description: a load-balanced CSR product, vector
// updates fused into two kernels, two dot products and a norm, and the stopping test on the host.
#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <bit>
#include <string>

#include "solvers/baselines.hpp"
#include "solvers/device_vectors.cuh"

namespace resident::bench {
namespace {

constexpr int kThreads = 256;
constexpr int kItems = 2048;  // nonzeros of a block

void check(cublasStatus_t status) {
  if (status != CUBLAS_STATUS_SUCCESS) {
    throw Error(ErrorCategory::device, std::string("cuBLAS: ") + cublasGetStatusString(status));
  }
}

struct Scalars {
  double rho, previous_rho, beta, norm2;
};

// y = A v with an equal share of nonzeros for every block; y is zero before. Rows that lie in one
// block are stored, rows that cross blocks are added. `lanes` threads, a power of two, sum a row.
__global__ void __launch_bounds__(kThreads)
    multiply(int nonzeros, const int* row_offsets, const int* columns, const double* values,
             const int* first_rows, const double* v, double* y, int lanes) {
  __shared__ double products[kItems];
  const int begin = static_cast<int>(blockIdx.x) * kItems;
  const int end = min(begin + kItems, nonzeros);
  const int thread = static_cast<int>(threadIdx.x);
#pragma unroll
  for (int i = 0; i < kItems / kThreads; ++i) {
    const int k = begin + thread + i * kThreads;
    if (k < end) products[k - begin] = __ldcs(values + k) * __ldg(v + __ldcs(columns + k));
  }
  __syncthreads();
  const int first = first_rows[blockIdx.x], last = first_rows[blockIdx.x + 1];
  const int lane = thread % lanes;
  // All lanes of a warp make the same number of steps, so that the shuffles meet.
  for (int base = first; base <= last; base += kThreads / lanes) {
    const int row = base + thread / lanes;
    double sum = 0;
    int row_begin = 0, row_end = 0;
    if (row <= last) {
      row_begin = row_offsets[row];
      row_end = row_offsets[row + 1];
      for (int k = max(row_begin, begin) + lane; k < min(row_end, end); k += lanes) {
        sum += products[k - begin];
      }
    }
    for (int distance = lanes / 2; distance > 0; distance /= 2) {
      sum += __shfl_xor_sync(0xffffffffu, sum, distance);
    }
    if (lane != 0 || row > last) continue;
    if (row_begin >= begin && row_end <= end) {
      y[row] = sum;
    } else if (sum != 0) {
      atomicAdd(y + row, sum);
    }
  }
}

// p = z + (rho / previous_rho) p; q = 0 for the product that follows.
__global__ void step_1(int rows, const Scalars* scalars, const double* z, double* p, double* q) {
  const double previous = scalars->previous_rho;
  const double beta = previous == 0 ? 0 : scalars->rho / previous;
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= rows) return;
  p[i] = z[i] + beta * p[i];
  q[i] = 0;
}

// x += alpha p; r -= alpha q, and z = M^-1 r where there is a preconditioner.
__global__ void step_2(int rows, const Scalars* scalars, const double* p, const double* q,
                       double* x, double* r, const double* inverse_diagonal, double* z) {
  const double alpha = scalars->beta == 0 ? 0 : scalars->rho / scalars->beta;
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= rows) return;
  x[i] += alpha * p[i];
  const double residual = r[i] - alpha * q[i];
  r[i] = residual;
  if (z != nullptr) z[i] = inverse_diagonal[i] * residual;
}

class GinkgoStyleSolver final : public Solver {
 public:
  explicit GinkgoStyleSolver(int check_interval) : check_interval_(check_interval) {
    check(cublasCreate(&blas_));
    check(cublasSetStream(blas_, stream_.get()));
    check(cublasSetPointerMode(blas_, CUBLAS_POINTER_MODE_DEVICE));
  }
  ~GinkgoStyleSolver() override { cublasDestroy(blas_); }

  void setup(const Problem& problem, const SolverOptions& options) override {
    options_ = options;
    system_.upload(problem, options.jacobi);
    scalars_ = DeviceBuffer<Scalars>(1);
    blocks_ = (system_.nonzeros + kItems - 1) / kItems;
    std::vector<int> first_rows;
    const auto& offsets = problem.a.row_offsets;
    for (int block = 0; block <= blocks_; ++block) {
      // The row of the block's first nonzero; for the end, the last row.
      const Offset k = std::min<Offset>(Offset{block} * kItems, problem.a.nonzeros() - 1);
      const auto after = std::upper_bound(offsets.begin(), offsets.end(), k);
      first_rows.push_back(static_cast<int>(after - offsets.begin()) - 1);
    }
    first_rows_ = DeviceBuffer<int>(first_rows.size());
    RESIDENT_CUDA_CHECK(cudaMemcpy(first_rows_.get(), first_rows.data(), first_rows_.bytes(),
                                   cudaMemcpyHostToDevice));
    const double mean = static_cast<double>(system_.nonzeros) / std::max(1, system_.rows);
    lanes_ =
        static_cast<int>(std::bit_floor(static_cast<unsigned>(std::clamp(mean / 2, 1.0, 32.0))));
    RESIDENT_CUDA_CHECK(cudaStreamSynchronize(stream_.get()));
  }

  double run_fixed(std::int64_t iterations) override {
    start();
    return device_seconds(stream_.get(), [&] {
      for (std::int64_t i = 1; i <= iterations; ++i) {
        iterate();
        if (i % check_interval_ == 0) norm2();
      }
    });
  }

  Solution solve() override {
    const auto begin = std::chrono::steady_clock::now();
    start();
    const double threshold2 = options_.tolerance * options_.tolerance * norm2();
    Solution solution;
    while (solution.iterations < options_.max_iterations) {
      iterate();
      ++solution.iterations;
      if (solution.iterations % check_interval_ == 0 && norm2() <= threshold2) break;
    }
    solution.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    solution.x = system_.solution();
    return solution;
  }

  std::size_t device_bytes() const override { return system_.bytes() + first_rows_.bytes(); }

  std::string notes() const override {
    return "stopping test every " + std::to_string(check_interval_) + " iterations";
  }

  double spmv_seconds() override {
    const auto several = [&] {
      for (int i = 0; i < 10; ++i) product();
    };
    device_seconds(stream_.get(), several);
    return device_seconds(stream_.get(), several) / 10;
  }

 private:
  void dot(const double* u, const double* v, double Scalars::*result) {
    check(cublasDdot(blas_, system_.rows, u, 1, v, 1, &(scalars_.get()->*result)));
  }

  const double* preconditioned() const {
    return options_.jacobi ? system_.z.get() : system_.r.get();
  }

  void product() {
    const DeviceSystem& d = system_;
    multiply<<<static_cast<unsigned>(blocks_), kThreads, 0, stream_.get()>>>(
        d.nonzeros, d.row_offsets.get(), d.columns.get(), d.values.get(), first_rows_.get(),
        d.p.get(), d.s.get(), lanes_);
    RESIDENT_CUDA_CHECK(cudaGetLastError());
  }

  unsigned vector_blocks() const {
    return static_cast<unsigned>((system_.rows + kThreads - 1) / kThreads);
  }

  void start() {
    DeviceSystem& d = system_;
    const cudaStream_t stream = stream_.get();
    RESIDENT_CUDA_CHECK(cudaMemsetAsync(scalars_.get(), 0, sizeof(Scalars), stream));
    RESIDENT_CUDA_CHECK(cudaMemsetAsync(d.x.get(), 0, d.x.bytes(), stream));
    RESIDENT_CUDA_CHECK(cudaMemsetAsync(d.p.get(), 0, d.p.bytes(), stream));
    RESIDENT_CUDA_CHECK(cudaMemsetAsync(d.s.get(), 0, d.s.bytes(), stream));
    RESIDENT_CUDA_CHECK(
        cudaMemcpyAsync(d.r.get(), d.b.get(), d.b.bytes(), cudaMemcpyDeviceToDevice, stream));
    // With alpha = 0 this only forms z = M^-1 r.
    step_2<<<vector_blocks(), kThreads, 0, stream>>>(d.rows, scalars_.get(), d.p.get(), d.s.get(),
                                                     d.x.get(), d.r.get(), d.inverse_diagonal.get(),
                                                     d.z.get());
    RESIDENT_CUDA_CHECK(cudaGetLastError());
    RESIDENT_CUDA_CHECK(cudaStreamSynchronize(stream));
  }

  void iterate() {
    DeviceSystem& d = system_;
    Scalars* scalars = scalars_.get();
    const cudaStream_t stream = stream_.get();
    RESIDENT_CUDA_CHECK(cudaMemcpyAsync(&scalars->previous_rho, &scalars->rho, sizeof(double),
                                        cudaMemcpyDeviceToDevice, stream));
    dot(d.r.get(), preconditioned(), &Scalars::rho);
    step_1<<<vector_blocks(), kThreads, 0, stream>>>(d.rows, scalars, preconditioned(), d.p.get(),
                                                     d.s.get());
    product();
    dot(d.p.get(), d.s.get(), &Scalars::beta);
    step_2<<<vector_blocks(), kThreads, 0, stream>>>(d.rows, scalars, d.p.get(), d.s.get(),
                                                     d.x.get(), d.r.get(), d.inverse_diagonal.get(),
                                                     d.z.get());
    RESIDENT_CUDA_CHECK(cudaGetLastError());
  }

  // ‖r‖² on the host: the stopping test, which waits for the device.
  double norm2() {
    dot(system_.r.get(), system_.r.get(), &Scalars::norm2);
    double host = 0;
    RESIDENT_CUDA_CHECK(cudaMemcpyAsync(&host, &scalars_.get()->norm2, sizeof(host),
                                        cudaMemcpyDeviceToHost, stream_.get()));
    RESIDENT_CUDA_CHECK(cudaStreamSynchronize(stream_.get()));
    return host;
  }

  const int check_interval_;
  SolverOptions options_;
  Stream stream_;
  cublasHandle_t blas_ = nullptr;
  DeviceSystem system_;
  DeviceBuffer<Scalars> scalars_;
  DeviceBuffer<int> first_rows_;
  int blocks_ = 0;
  int lanes_ = 1;
};

}  // namespace

std::unique_ptr<Solver> make_ginkgo_style(int check_interval) {
  return std::make_unique<GinkgoStyleSolver>(check_interval);
}

}  // namespace resident::bench
