// What only a GPU can show: device pointers, caching policies, and small cases for
// compute-sanitizer. Every test skips itself where there is no GPU.
#include <cuda_runtime.h>
#include <gtest/gtest.h>
#include <resident/resident.hpp>

#include <cmath>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "core/cuda_check.hpp"

namespace resident {
namespace {

class Gpu : public testing::Test {
 protected:
  void SetUp() override {
    const DeviceList list = list_devices();
    if (list.gpus.empty() || !list.gpus[0].usable) GTEST_SKIP() << "no GPU here";
  }
};

template <class T>
std::vector<T> right_hand_side(CsrView<T> a) {
  std::vector<T> ones(static_cast<std::size_t>(a.cols), T(1)), b(ones.size());
  multiply<T>(a, ones, b);
  return b;
}

const std::vector<Recurrence> kRecurrences = {Recurrence::classic, Recurrence::single_reduction};
const std::vector<CachePolicy> kPolicies = {CachePolicy::none, CachePolicy::search,
                                            CachePolicy::vectors, CachePolicy::matrix,
                                            CachePolicy::all};

// What is kept on chip changes where data is read, never what is computed.
TEST_F(Gpu, CachePoliciesGiveTheSameBits) {
  for (const char* family : {"poisson2d:100:100", "poisson3d:60:60:60", "arrow:100000",
                             "graph:20000:16:1", "elasticity3d:12:12:12"}) {
    const auto a = generate<double>(family);
    const auto b = right_hand_side<double>(a);
    for (const Recurrence recurrence : kRecurrences) {
      std::vector<double> expected;
      for (const CachePolicy policy : kPolicies) {
        CgOptions options;
        options.device = DeviceKind::gpu;
        options.recurrence = recurrence;
        options.cache = policy;
        options.max_iterations = 100;
        std::vector<double> x(b.size());
        ConjugateGradient<double>(a, options).solve(b, x);
        if (expected.empty()) expected = x;
        EXPECT_EQ(std::memcmp(x.data(), expected.data(), x.size() * sizeof(double)), 0)
            << family << ' ' << name(policy) << ' ' << name(recurrence);
      }
    }
  }
}

TEST_F(Gpu, DeviceVectorsOnTheUsersStream) {
  const auto a = generate<double>("poisson2d:64:64");
  const auto b = right_hand_side<double>(a);
  ConjugateGradient<double> cg(a, {.device = DeviceKind::gpu});
  std::vector<double> expected(b.size()), x(b.size());
  ASSERT_TRUE(cg.solve(b, expected).converged());

  const Stream stream;
  const DeviceBuffer<double> device_b(b.size()), device_x(b.size());
  RESIDENT_CUDA_CHECK(cudaMemcpyAsync(device_b.get(), b.data(), device_b.bytes(),
                                      cudaMemcpyHostToDevice, stream.get()));
  RESIDENT_CUDA_CHECK(cudaMemsetAsync(device_x.get(), 0, device_x.bytes(), stream.get()));
  const SolveReport report = cg.solve(DeviceSpan<const double>{device_b.get(), b.size()},
                                      DeviceSpan<double>{device_x.get(), b.size()}, stream.get());
  ASSERT_TRUE(report.converged()) << report.message();
  RESIDENT_CUDA_CHECK(
      cudaMemcpy(x.data(), device_x.get(), device_x.bytes(), cudaMemcpyDeviceToHost));
  EXPECT_EQ(x, expected);
}

TEST_F(Gpu, TwoSolversFromTwoThreads) {
  const auto solve = [](const char* family) {
    const auto a = generate<double>(family);
    const auto b = right_hand_side<double>(a);
    ConjugateGradient<double> cg(a, {.device = DeviceKind::gpu});
    for (int run = 0; run < 20; ++run) {
      std::vector<double> x(b.size());
      EXPECT_TRUE(cg.solve(b, x).converged());
    }
  };
  std::jthread first([&] { solve("poisson2d:90:90"); });
  std::jthread second([&] { solve("box27:20:20:20"); });
}

TEST_F(Gpu, LargeSystemsAgreeWithTheKnownSolution) {
  for (const char* family :
       {"poisson3d:100:100:100", "box27:64:64:64", "arrow:1000000", "graph:200000:16:1"}) {
    const auto a = generate<double>(family);
    const auto b = right_hand_side<double>(a);
    for (const Recurrence recurrence : kRecurrences) {
      CgOptions options;
      options.device = DeviceKind::gpu;
      options.recurrence = recurrence;
      options.tolerance = 1e-10;
      std::vector<double> x(b.size());
      const SolveReport report = ConjugateGradient<double>(a, options).solve(b, x);
      EXPECT_TRUE(report.converged()) << family << ": " << report.message();
      double error = 0;
      for (const double entry : x) error = std::max(error, std::abs(entry - 1));
      EXPECT_LT(error, 1e-5) << family;
    }
  }
}

// Small enough for compute-sanitizer, and between them every path of the kernel: several tiles a
// block, rows over several blocks, scaling, history, and each policy.
TEST_F(Gpu, Sanitizer) {
  for (const char* family : {"poisson2d:30:30", "arrow:4000", "graph:1000:6:1"}) {
    const auto a = generate<double>(family);
    const auto b = right_hand_side<double>(a);
    for (const Recurrence recurrence : kRecurrences) {
      for (const CachePolicy policy : kPolicies) {
        CgOptions options;
        options.device = DeviceKind::gpu;
        options.recurrence = recurrence;
        options.cache = policy;
        options.history = true;
        options.max_iterations = 5;
        std::vector<double> x(b.size());
        const SolveReport report = ConjugateGradient<double>(a, options).solve(b, x);
        EXPECT_TRUE(std::isfinite(report.residual_norm));
      }
    }
  }
}

// Many tiles in every block.
TEST_F(Gpu, SanitizerManyTiles) {
  const auto a = generate<float>("elasticity3d:24:24:24");
  const auto b = right_hand_side<float>(a);
  CgOptions options;
  options.device = DeviceKind::gpu;
  options.max_iterations = 2;
  std::vector<float> x(b.size());
  const SolveReport report = ConjugateGradient<float>(a, options).solve(b, x);
  EXPECT_TRUE(std::isfinite(report.residual_norm));
}

}  // namespace
}  // namespace resident
