// The whole conjugate gradient solve as one cooperative kernel: a thread block is a member of the
// grid team and runs the recurrences of recurrences.hpp on the rows that it owns.
#pragma once

#include <cstdint>

#include "cg/merge_plan.hpp"
#include "cg/merge_spmv.cuh"
#include "cg/recurrences.hpp"
#include "core/grid_team.cuh"

namespace resident::cg {

// Everything in device memory. Vectors have one entry per row of the matrix.
template <class T>
struct KernelArguments {
  DeviceCsr<T> a;        // values scaled, where scale is given
  const T* scale;        // null: the matrix is not scaled
  const T* b;            // the user's variables
  T* solution;           // the user's variables: initial guess in, solution out
  T *x, *r, *p, *s, *w;  // work; w only for recurrences that multiply the residual
  T* carries;            // one per block
  const BlockRange* ranges;
  Residency keep;
  SharedLayout layout;
  Limits limits;
  double* slots;
  int* requests;
  TeamControl* control;
  double* history;  // ‖r‖² per iteration, or null
  std::int64_t history_capacity;
  Outcome* outcome;
};

// Vectors that a row brings on chip: x, r, p, s, and w where there is one.
template <class Recurrence>
constexpr int vectors_per_row() {
  return Recurrence::residual_is_multiplied ? 5 : 4;
}

// The own part of a vector: the first rows on chip, the others in global memory.
template <class T>
struct OwnVector {
  T* kept;
  T* global;
  int kept_rows;
  __device__ __forceinline__ T& operator[](int i) const {
    return i < kept_rows ? kept[i] : global[i];
  }
  // For vectors that other blocks gather from: the global copy of what is kept.
  __device__ __forceinline__ void store_and_publish(int i, T value) const {
    if (i < kept_rows) kept[i] = value;
    global[i] = value;
  }
};

template <class T, class Recurrence, class Tuning>
class GridMember {
  static constexpr bool kSingle = Recurrence::residual_is_multiplied;
  using Team = GridTeam<Tuning::threads>;
  using Spmv = MergeSpmv<T, Tuning>;

 public:
  struct Shared {
    typename Team::Shared team;
    typename Spmv::Shared spmv;
    BlockRange range;
  };

  __device__ __forceinline__ GridMember(const KernelArguments<T>& arguments, Shared& shared,
                                        char* dynamic_shared)
      : g_(arguments),
        range_(copy_range(shared.range, arguments.ranges[blockIdx.x])),
        team_(shared.team, arguments.slots, arguments.requests, arguments.control),
        spmv_(shared.spmv, dynamic_shared, arguments.layout, arguments.a, range_, arguments.keep),
        dynamic_(dynamic_shared) {}

  // 3 vectors of traffic, once a solve.
  __device__ __forceinline__ double load() {
    const T* b = g_.b + range_.first_row;
    const T* solution = g_.solution + range_.first_row;
    double norm2 = 0;
    each_row([&](int i) {
      x().store_and_publish(i, solution[i] / scale(i));
      norm2 += square(b[i]);
    });
    norm2 = team_.all_reduce(Partials<1>{norm2}).value[0];
    if (team_.is_leader()) team_.report_reference(norm2);
    return norm2;
  }

  __device__ __forceinline__ void zero_solution() {
    each_row([&](int i) { x()[i] = T(0); });
  }

  // The solution back in the user's variables.
  __device__ __forceinline__ void store() {
    T* solution = g_.solution + range_.first_row;
    each_row([&](int i) { solution[i] = x()[i] * scale(i); });
  }

  __device__ __forceinline__ Sums residual() {
    each_row([&](int i) {
      if (i < g_.keep.vector_rows) x().global[i] = x().kept[i];
    });
    team_.sync();  // x is complete in global memory
    const OwnVector<T> product = multiplied();
    const T carry = spmv_.apply(g_.x, [&](int i, T sum) { product[i] = sum; });
    if (threadIdx.x == 0) g_.carries[blockIdx.x] = carry;
    team_.sync();  // carries are complete, and nobody gathers from r or p any more
    add_carries(product);
    const T* b = g_.b + range_.first_row;
    Sums sums;
    each_row([&](int i) {
      const T r_i = b[i] * scale(i) - product[i];
      if constexpr (kSingle) {
        r().store_and_publish(i, r_i);
        p()[i] = T(0);
        s()[i] = T(0);
      } else {
        r()[i] = r_i;
        p().store_and_publish(i, r_i);
      }
      add_square(sums, i, r_i);
    });
    return reduce(sums);  // orders the new r or p before the next gather
  }

  // s = A p. Vectors: p read, s written.
  __device__ __forceinline__ double multiply_direction() {
    double pap = 0;
    const T carry = spmv_.apply(g_.p, [&](int i, T sum) {
      s()[i] = sum;
      pap += static_cast<double>(sum) * static_cast<double>(p()[i]);
    });
    pap += carried_dot(g_.p, carry);
    return team_.all_reduce(Partials<1>{pap}).value[0];
  }

  // Vectors: r and s read, r written.
  __device__ __forceinline__ Sums descend(double alpha) {
    add_carries(s());
    const T step = static_cast<T>(alpha);
    Sums sums;
    each_row([&](int i) {
      const T r_i = r()[i] - step * s()[i];
      r()[i] = r_i;
      add_square(sums, i, r_i);
    });
    return reduce(sums);
  }

  // Vectors: x, p and r read, x and p written.
  __device__ __forceinline__ void advance(double alpha, double beta) {
    const T step = static_cast<T>(alpha), turn = static_cast<T>(beta);
    each_row([&](int i) {
      const T p_i = p()[i];
      x()[i] += step * p_i;
      p().store_and_publish(i, r()[i] + turn * p_i);
    });
    team_.sync();  // p is complete before the next gather
  }

  // w = A r. Vectors: r read, w written.
  __device__ __forceinline__ Sums multiply_residual() {
    Sums sums;
    const T carry = spmv_.apply(g_.r, [&](int i, T sum) {
      w()[i] = sum;
      const T r_i = r()[i];
      add_square(sums, i, r_i);
      sums.rw += static_cast<double>(sum) * static_cast<double>(r_i);
    });
    sums.rw += carried_dot(g_.r, carry);
    const Partials<3> total = team_.all_reduce(Partials<3>{sums.rr, sums.norm2, sums.rw});
    return {total.value[0], g_.scale != nullptr ? total.value[1] : total.value[0], total.value[2]};
  }

  // Vectors: r, p, w, s and x read, all but w written.
  __device__ __forceinline__ void advance_all(double alpha, double beta) {
    add_carries(w());
    const T step = static_cast<T>(alpha), turn = static_cast<T>(beta);
    each_row([&](int i) {
      const T r_i = r()[i];
      const T p_i = r_i + turn * p()[i];
      const T s_i = w()[i] + turn * s()[i];
      p()[i] = p_i;
      s()[i] = s_i;
      x()[i] += step * p_i;
      r().store_and_publish(i, r_i - step * s_i);
    });
    team_.sync();  // r is complete before the next gather
  }

  __device__ __forceinline__ void record(std::int64_t iteration, double norm2) {
    if (!team_.is_leader()) return;
    if (iteration < g_.history_capacity) g_.history[iteration] = norm2;
    team_.report_progress(iteration, norm2);
  }

  __device__ __forceinline__ Request request() const {
    return static_cast<Request>(team_.request());
  }
  __device__ __forceinline__ bool is_leader() const { return team_.is_leader(); }

 private:
  __device__ __forceinline__ static const BlockRange& copy_range(BlockRange& shared,
                                                                 const BlockRange& range) {
    if (threadIdx.x == 0) shared = range;
    __syncthreads();  // the range is complete
    return shared;
  }

  // Built at each use: as members the pointers would hold registers through the whole solve.
  __device__ __forceinline__ OwnVector<T> own(T* global, int slot) const {
    const int kept_rows = g_.keep.vector_rows;
    T* kept = reinterpret_cast<T*>(dynamic_ + g_.layout.vectors) + slot * kept_rows;
    return {kept, global + range_.first_row, kept_rows};
  }
  __device__ __forceinline__ OwnVector<T> x() const { return own(g_.x, 0); }
  __device__ __forceinline__ OwnVector<T> r() const { return own(g_.r, 1); }
  __device__ __forceinline__ OwnVector<T> p() const { return own(g_.p, 2); }
  __device__ __forceinline__ OwnVector<T> s() const { return own(g_.s, 3); }
  __device__ __forceinline__ OwnVector<T> w() const { return own(g_.w, 4); }

  template <class Function>
  __device__ __forceinline__ void each_row(Function&& function) {
    for (int i = static_cast<int>(threadIdx.x); i < range_.rows; i += Tuning::threads) function(i);
  }

  __device__ __forceinline__ static double square(T value) {
    return static_cast<double>(value) * static_cast<double>(value);
  }

  __device__ __forceinline__ T scale(int i) const {
    return g_.scale != nullptr ? g_.scale[range_.first_row + i] : T(1);
  }

  __device__ __forceinline__ void add_square(Sums& sums, int i, T r) const {
    sums.rr += square(r);
    if (g_.scale != nullptr) sums.norm2 += square(r / scale(i));
  }

  __device__ __forceinline__ Sums reduce(const Sums& mine) {
    const Partials<2> total = team_.all_reduce(Partials<2>{mine.rr, mine.norm2});
    return {total.value[0], g_.scale != nullptr ? total.value[1] : total.value[0], 0};
  }

  __device__ __forceinline__ OwnVector<T> multiplied() const {
    if constexpr (kSingle) {
      return w();
    } else {
      return s();
    }
  }

  // Hands the part of a row that ends in a later block to that block, and returns its share of the
  // dot product with v (in one thread).
  __device__ __forceinline__ double carried_dot(const T* v, T carry) const {
    if (threadIdx.x != 0) return 0;
    g_.carries[blockIdx.x] = carry;
    if (carry == T(0)) return 0;  // perhaps there is no such row
    return static_cast<double>(carry) * static_cast<double>(v[range_.first_row + range_.rows]);
  }

  // Own row 0 may have begun in earlier blocks: adds their parts, in block order within each lane.
  // Only thread 0 writes, and thread 0 is the one that each_row gives row 0.
  __device__ __forceinline__ void add_carries(const OwnVector<T>& product) {
    const int last = static_cast<int>(blockIdx.x);
    if (range_.carry_first == last || threadIdx.x >= 32) return;
    T sum = 0;
    for (int block = range_.carry_first + static_cast<int>(threadIdx.x); block < last;
         block += 32) {
      sum += g_.carries[block];
    }
    for (int distance = 16; distance > 0; distance /= 2) {
      sum += __shfl_xor_sync(0xffffffffu, sum, distance);
    }
    if (threadIdx.x == 0) product[0] += sum;
  }

  const KernelArguments<T>& g_;
  const BlockRange& range_;
  Team team_;
  Spmv spmv_;
  char* const dynamic_;
};

template <class T, class Recurrence, class Tuning, int BlocksPerMultiprocessor>
__global__ void __launch_bounds__(Tuning::threads, BlocksPerMultiprocessor)
    cg_kernel(const __grid_constant__ KernelArguments<T> arguments) {
  using Member = GridMember<T, Recurrence, Tuning>;
  extern __shared__ __align__(16) char dynamic_shared[];
  __shared__ typename Member::Shared shared;
  Member member(arguments, shared, dynamic_shared);
  const Outcome outcome = solve<Recurrence>(member, arguments.limits);
  member.store();
  if (member.is_leader()) *arguments.outcome = outcome;
}

}  // namespace resident::cg
