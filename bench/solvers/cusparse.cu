// The solver that most users would write: cuSPARSE for the product, cuBLAS for the vectors, scalars
// kept on the device, in a host loop (`cusparse`) or as a replayed CUDA graph (`cusparse-graph`).
#include <cublas_v2.h>
#include <cusparse.h>

#include <string>

#include "solvers/baselines.hpp"
#include "solvers/device_vectors.cuh"

namespace resident::bench {
namespace {

void check(cusparseStatus_t status) {
  if (status != CUSPARSE_STATUS_SUCCESS) {
    throw Error(ErrorCategory::device, std::string("cuSPARSE: ") + cusparseGetErrorString(status));
  }
}

void check(cublasStatus_t status) {
  if (status != CUBLAS_STATUS_SUCCESS) {
    throw Error(ErrorCategory::device, std::string("cuBLAS: ") + cublasGetStatusString(status));
  }
}

// The scalars of the iteration, on the device.
struct Scalars {
  double rz, pap, rz_next, rr, alpha, minus_alpha, beta;
};

__global__ void set_alpha(Scalars* s) {
  s->alpha = s->rz / s->pap;
  s->minus_alpha = -s->alpha;
}

__global__ void set_beta(Scalars* s) {
  s->beta = s->rz_next / s->rz;
  s->rz = s->rz_next;
}

class CusparseSolver final : public Solver {
 public:
  // graph_iterations: 0 for a host loop, else iterations in one replay.
  explicit CusparseSolver(int graph_iterations) : graph_iterations_(graph_iterations) {
    check(cusparseCreate(&sparse_));
    check(cublasCreate(&blas_));
    check(cusparseSetStream(sparse_, stream_.get()));
    check(cublasSetStream(blas_, stream_.get()));
    check(cublasSetPointerMode(blas_, CUBLAS_POINTER_MODE_DEVICE));
    check(cusparseSetPointerMode(sparse_, CUSPARSE_POINTER_MODE_HOST));
  }

  ~CusparseSolver() override {
    if (graph_ != nullptr) cudaGraphExecDestroy(graph_);
    if (p_ != nullptr) cusparseDestroyDnVec(p_);
    if (s_ != nullptr) cusparseDestroyDnVec(s_);
    for (Product& product : products_) {
      if (product.matrix != nullptr) cusparseDestroySpMat(product.matrix);
    }
    cublasDestroy(blas_);
    cusparseDestroy(sparse_);
  }

  void setup(const Problem& problem, const SolverOptions& options) override {
    options_ = options;
    system_.upload(problem, options.jacobi);
    scalars_ = DeviceBuffer<Scalars>(1);
    check(cusparseCreateDnVec(&p_, system_.rows, system_.p.get(), CUDA_R_64F));
    check(cusparseCreateDnVec(&s_, system_.rows, system_.s.get(), CUDA_R_64F));
    prepare(products_[0], CUSPARSE_SPMV_CSR_ALG1);
    prepare(products_[1], CUSPARSE_SPMV_CSR_ALG2);
    start();
    for (Product& product : products_) {
      chosen_ = &product;
      const auto several = [&] {
        for (int i = 0; i < 10; ++i) multiply();
      };
      device_seconds(stream_.get(), several);
      product.seconds = device_seconds(stream_.get(), several) / 10;
    }
    chosen_ = products_[0].seconds <= products_[1].seconds ? &products_[0] : &products_[1];
    if (graph_iterations_ > 0) capture();
  }

  double run_fixed(std::int64_t iterations) override {
    start();
    return device_seconds(stream_.get(), [&] { enqueue(iterations); });
  }

  Solution solve() override {
    const auto begin = std::chrono::steady_clock::now();
    start();
    const double b2 = read(&Scalars::rr);
    const double threshold2 = options_.tolerance * options_.tolerance * b2;
    Solution solution;
    for (double rr = b2; rr > threshold2 && solution.iterations < options_.max_iterations;) {
      enqueue(kCheckInterval);
      solution.iterations += kCheckInterval;
      rr = read(&Scalars::rr);
    }
    solution.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    solution.x = system_.solution();
    return solution;
  }

  std::size_t device_bytes() const override {
    return system_.bytes() + products_[0].buffer.bytes() + products_[1].buffer.bytes();
  }

  std::string notes() const override {
    return chosen_ == &products_[0] ? "SpMV CSR_ALG1" : "SpMV CSR_ALG2";
  }

  double spmv_seconds() override { return chosen_->seconds; }

 private:
  // The residual is looked at by the host after this many iterations.
  static constexpr std::int64_t kCheckInterval = 10;

  struct Product {
    cusparseSpMVAlg_t algorithm = CUSPARSE_SPMV_ALG_DEFAULT;
    cusparseSpMatDescr_t matrix = nullptr;  // one each: preprocessing belongs to the descriptor
    DeviceBuffer<char> buffer;
    double seconds = 0;
  };

  void prepare(Product& product, cusparseSpMVAlg_t algorithm) {
    product.algorithm = algorithm;
    check(cusparseCreateCsr(&product.matrix, system_.rows, system_.rows, system_.nonzeros,
                            system_.row_offsets.get(), system_.columns.get(), system_.values.get(),
                            CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO,
                            CUDA_R_64F));
    const double one = 1, zero = 0;
    std::size_t bytes = 0;
    check(cusparseSpMV_bufferSize(sparse_, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, product.matrix,
                                  p_, &zero, s_, CUDA_R_64F, algorithm, &bytes));
    product.buffer = DeviceBuffer<char>(std::max<std::size_t>(bytes, 1));
    check(cusparseSpMV_preprocess(sparse_, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, product.matrix,
                                  p_, &zero, s_, CUDA_R_64F, algorithm, product.buffer.get()));
  }

  void multiply() {
    const double one = 1, zero = 0;
    check(cusparseSpMV(sparse_, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, chosen_->matrix, p_, &zero,
                       s_, CUDA_R_64F, chosen_->algorithm, chosen_->buffer.get()));
  }

  double* scalar(double Scalars::*member) { return &(scalars_.get()->*member); }

  void dot(const double* u, const double* v, double Scalars::*result) {
    check(cublasDdot(blas_, system_.rows, u, 1, v, 1, scalar(result)));
  }

  // z = M^-1 r, or r itself.
  const double* precondition() {
    if (!options_.jacobi) return system_.r.get();
    check(cublasDdgmm(blas_, CUBLAS_SIDE_LEFT, system_.rows, 1, system_.r.get(), system_.rows,
                      system_.inverse_diagonal.get(), 1, system_.z.get(), system_.rows));
    return system_.z.get();
  }

  // x = 0, r = b, p = M^-1 r.
  void start() {
    DeviceSystem& d = system_;
    const cudaStream_t stream = stream_.get();
    RESIDENT_CUDA_CHECK(cudaMemsetAsync(d.x.get(), 0, d.x.bytes(), stream));
    RESIDENT_CUDA_CHECK(
        cudaMemcpyAsync(d.r.get(), d.b.get(), d.b.bytes(), cudaMemcpyDeviceToDevice, stream));
    const double* z = precondition();
    RESIDENT_CUDA_CHECK(
        cudaMemcpyAsync(d.p.get(), z, d.p.bytes(), cudaMemcpyDeviceToDevice, stream));
    dot(d.r.get(), z, &Scalars::rz);
    dot(d.r.get(), d.r.get(), &Scalars::rr);
    RESIDENT_CUDA_CHECK(cudaStreamSynchronize(stream));
  }

  void iterate() {
    DeviceSystem& d = system_;
    multiply();
    dot(d.p.get(), d.s.get(), &Scalars::pap);
    set_alpha<<<1, 1, 0, stream_.get()>>>(scalars_.get());
    check(cublasDaxpy(blas_, d.rows, scalar(&Scalars::alpha), d.p.get(), 1, d.x.get(), 1));
    check(cublasDaxpy(blas_, d.rows, scalar(&Scalars::minus_alpha), d.s.get(), 1, d.r.get(), 1));
    const double* z = precondition();
    dot(d.r.get(), z, &Scalars::rz_next);
    // Without a preconditioner r·z is the squared residual norm already.
    if (options_.jacobi) dot(d.r.get(), d.r.get(), &Scalars::rr);
    set_beta<<<1, 1, 0, stream_.get()>>>(scalars_.get());
    check(cublasDscal(blas_, d.rows, scalar(&Scalars::beta), d.p.get(), 1));
    check(cublasDaxpy(blas_, d.rows, one(), z, 1, d.p.get(), 1));
  }

  void enqueue(std::int64_t iterations) {
    if (graph_iterations_ == 0) {
      for (std::int64_t i = 0; i < iterations; ++i) iterate();
      return;
    }
    for (std::int64_t i = 0; i < iterations; i += graph_iterations_) {
      RESIDENT_CUDA_CHECK(cudaGraphLaunch(graph_, stream_.get()));
    }
  }

  void capture() {
    RESIDENT_CUDA_CHECK(cudaStreamSynchronize(stream_.get()));
    one();
    cudaGraph_t graph = nullptr;
    RESIDENT_CUDA_CHECK(cudaStreamBeginCapture(stream_.get(), cudaStreamCaptureModeThreadLocal));
    for (int i = 0; i < graph_iterations_; ++i) iterate();
    RESIDENT_CUDA_CHECK(cudaStreamEndCapture(stream_.get(), &graph));
    RESIDENT_CUDA_CHECK(cudaGraphInstantiate(&graph_, graph, 0));
    RESIDENT_CUDA_CHECK(cudaGraphDestroy(graph));
  }

  const double* one() {
    if (one_.size() == 0) {
      const double value = 1;
      one_ = DeviceBuffer<double>(1);
      RESIDENT_CUDA_CHECK(cudaMemcpy(one_.get(), &value, sizeof(value), cudaMemcpyHostToDevice));
    }
    return one_.get();
  }

  double read(double Scalars::*member) {
    Scalars scalars;
    RESIDENT_CUDA_CHECK(cudaMemcpyAsync(&scalars, scalars_.get(), sizeof(scalars),
                                        cudaMemcpyDeviceToHost, stream_.get()));
    RESIDENT_CUDA_CHECK(cudaStreamSynchronize(stream_.get()));
    // See iterate(): without a preconditioner the norm is r·z.
    return options_.jacobi || member != &Scalars::rr ? scalars.*member : scalars.rz;
  }

  const int graph_iterations_;
  SolverOptions options_;
  Stream stream_;
  cusparseHandle_t sparse_ = nullptr;
  cublasHandle_t blas_ = nullptr;
  DeviceSystem system_;
  DeviceBuffer<Scalars> scalars_;
  DeviceBuffer<double> one_;
  cusparseDnVecDescr_t p_ = nullptr, s_ = nullptr;
  Product products_[2];
  Product* chosen_ = nullptr;
  cudaGraphExec_t graph_ = nullptr;
};

}  // namespace

std::unique_ptr<Solver> make_cusparse() { return std::make_unique<CusparseSolver>(0); }
std::unique_ptr<Solver> make_cusparse_graph() { return std::make_unique<CusparseSolver>(10); }

}  // namespace resident::bench
