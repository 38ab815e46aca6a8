// The PTX instructions that the library writes itself, each under its own name. sm_90 and later.
#pragma once

#include <cuda/ptx>

#include <cstdint>

namespace resident::ptx {

__device__ __forceinline__ std::uint32_t shared_address(const void* pointer) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(pointer));
}

// An L2 policy for data that is read once an iteration and must not push other data out.
__device__ __forceinline__ std::uint64_t createpolicy_evict_first() {
  std::uint64_t policy;
  asm volatile("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
  return policy;
}

__device__ __forceinline__ void mbarrier_init(std::uint64_t* barrier, std::uint32_t arrivals) {
  asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(arrivals)
               : "memory");
}

// Makes initialised barriers visible to the copy engine.
__device__ __forceinline__ void fence_mbarrier_init() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

// One arrival, and `bytes` more to come from copies before the phase completes.
__device__ __forceinline__ void mbarrier_arrive_expect_tx(std::uint64_t* barrier,
                                                          std::uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(shared_address(barrier)),
               "r"(bytes)
               : "memory");
}

__device__ __forceinline__ bool mbarrier_try_wait_parity(std::uint64_t* barrier,
                                                         std::uint32_t parity) {
  std::uint32_t done;
  asm volatile(
      "{ .reg .pred p;"
      "  mbarrier.try_wait.parity.shared.b64 p, [%1], %2;"
      "  selp.u32 %0, 1, 0, p; }"
      : "=r"(done)
      : "r"(shared_address(barrier)), "r"(parity)
      : "memory");
  return done != 0;
}

// Copies global to shared memory; both addresses and `bytes` are multiples of 16. Completes on the
// barrier, which must expect the bytes.
__device__ __forceinline__ void cp_async_bulk(void* shared, const void* global, std::uint32_t bytes,
                                              std::uint64_t* barrier, std::uint64_t l2_policy) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint"
      " [%0], [%1], %2, [%3], %4;" ::"r"(shared_address(shared)),
      "l"(global), "r"(bytes), "r"(shared_address(barrier)), "l"(l2_policy)
      : "memory");
}

// Waits for a phase. A copy that has not come after this many seconds never will: the kernel traps,
// and the host gets an error instead of a hung GPU.
__device__ __forceinline__ void mbarrier_wait_parity(std::uint64_t* barrier, std::uint32_t parity) {
  constexpr std::uint64_t kDeadline = 20'000'000'000;  // nanoseconds
  if (mbarrier_try_wait_parity(barrier, parity)) return;
  const std::uint64_t start = cuda::ptx::get_sreg_globaltimer();
  while (!mbarrier_try_wait_parity(barrier, parity)) {
    if (cuda::ptx::get_sreg_globaltimer() - start > kDeadline) __trap();
  }
}

}  // namespace resident::ptx
