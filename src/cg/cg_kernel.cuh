// The whole conjugate gradient solve as one cooperative kernel: a thread block is a member of the
// grid team and runs the recurrences of recurrences.hpp on the rows that it owns.
#pragma once

#include <cstdint>

#include "cg/merge_plan.hpp"
#include "cg/merge_spmv.cuh"
#include "cg/recurrences.hpp"
#include "cg/row_products.cuh"
#include "core/grid_team.cuh"

namespace resident::cg {

// Everything in device memory. Vectors have one entry per row of the matrix.
//
// Jacobi is applied as a diagonal M and not by scaling the matrix: scaled values are rounded, and
// their residual would be that of another matrix.
template <class T>
struct KernelArguments {
  SpmvArguments<T> spmv;
  const T* preconditioner;  // the diagonal of M; null: the identity
  const T* b;
  T* x;          // initial guess in, solution out
  T *r, *p, *s;  // work
  T *w, *u;      // A u and u = M r, for recurrences that multiply the residual
  T* carries;    // one per block
  const BlockRange* ranges;
  Limits limits;
  double* slots;
  int* requests;
  TeamControl* control;
  double* history;  // ‖r‖² per iteration, or null
  std::int64_t history_capacity;
  Outcome* outcome;
};

// Vectors that a row brings on chip: x, r, p, s, w where there is one, and the preconditioner.
template <class Recurrence>
constexpr int vectors_per_row(bool preconditioned) {
  return (Recurrence::residual_is_multiplied ? 5 : 4) + (preconditioned ? 1 : 0);
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
  using Products = RowProducts<T, Tuning::threads>;

 public:
  struct Shared {
    typename Team::Shared team;
    typename Spmv::Shared spmv;
    typename Products::Shared products;
    BlockRange range;
  };

  __device__ __forceinline__ GridMember(const KernelArguments<T>& arguments, Shared& shared,
                                        char* dynamic_shared)
      : g_(arguments),
        range_(copy_range(shared.range, arguments.ranges[blockIdx.x])),
        team_(shared.team, arguments.slots, arguments.requests, arguments.control),
        spmv_(shared.spmv, dynamic_shared, arguments.spmv, range_),
        shared_(shared),
        dynamic_(dynamic_shared) {}

  // Once a solve: brings x and M on chip.
  __device__ __forceinline__ double load() {
    const T* b = g_.b + range_.first_row;
    double norm2 = 0;
    each_row([&](int i) {
      norm2 += square(b[i]);
      if (i >= g_.spmv.keep.vector_rows) return;
      x().kept[i] = x().global[i];
      if (g_.preconditioner != nullptr) {
        kept_preconditioner()[i] = g_.preconditioner[range_.first_row + i];
      }
    });
    norm2 = team_.all_reduce(Partials<1>{norm2}).value[0];
    if (team_.is_leader()) team_.report_reference(norm2);
    return norm2;
  }

  __device__ __forceinline__ void zero_solution() {
    each_row([&](int i) { x()[i] = T(0); });
  }

  // The solution to global memory, and the end of everything under way.
  __device__ __forceinline__ void finish() {
    spmv_.drain();
    publish_solution();
  }

  __device__ __forceinline__ Sums residual() {
    publish_solution();
    team_.sync();  // x is complete in global memory, and nobody gathers from u or p any more
    const T* b = g_.b + range_.first_row;
    Sums sums;
    Products(shared_.products, g_.spmv.a, range_, g_.x).apply([&](int i, double product) {
      const double exact = static_cast<double>(b[i]) - product;
      const T r_i = static_cast<T>(exact);
      const T u_i = m(i) * r_i;
      r()[i] = r_i;
      if constexpr (kSingle) {
        p()[i] = T(0);
        s()[i] = T(0);
        publish(g_.u, i, u_i);
      } else {
        p().store_and_publish(i, u_i);
      }
      sums.norm2 += exact * exact;
      sums.ru += static_cast<double>(r_i) * static_cast<double>(u_i);
    });
    return reduce(sums);  // orders the new u or p before the next gather
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
      add_squares(sums, r_i, m(i) * r_i);
    });
    return reduce(sums);
  }

  // Vectors: x, p and r read, x and p written.
  __device__ __forceinline__ void advance(double alpha, double beta) {
    const T step = static_cast<T>(alpha), turn = static_cast<T>(beta);
    each_row([&](int i) {
      const T p_i = p()[i];
      x()[i] += step * p_i;
      p().store_and_publish(i, m(i) * r()[i] + turn * p_i);
    });
    team_.sync();  // p is complete before the next gather
  }

  // w = A u, u = M r. Vectors: r read, w written.
  __device__ __forceinline__ Sums multiply_residual() {
    Sums sums;
    const T carry = spmv_.apply(g_.u, [&](int i, T sum) {
      w()[i] = sum;
      const T r_i = r()[i];
      const T u_i = m(i) * r_i;
      add_squares(sums, r_i, u_i);
      sums.uw += static_cast<double>(sum) * static_cast<double>(u_i);
    });
    sums.uw += carried_dot(g_.u, carry);
    const Partials<3> total = team_.all_reduce(Partials<3>{sums.ru, sums.norm2, sums.uw});
    return {total.value[0], total.value[1], total.value[2]};
  }

  // Vectors: r, p, w, s and x read, all but w written, and u.
  __device__ __forceinline__ void advance_all(double alpha, double beta) {
    add_carries(w());
    const T step = static_cast<T>(alpha), turn = static_cast<T>(beta);
    each_row([&](int i) {
      const T m_i = m(i);
      T r_i = r()[i];
      const T p_i = m_i * r_i + turn * p()[i];
      const T s_i = w()[i] + turn * s()[i];
      p()[i] = p_i;
      s()[i] = s_i;
      x()[i] += step * p_i;
      r_i -= step * s_i;
      r()[i] = r_i;
      publish(g_.u, i, m_i * r_i);
    });
    team_.sync();  // u is complete before the next gather
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

  __device__ __forceinline__ T* kept_vector(int slot) const {
    return reinterpret_cast<T*>(dynamic_ + g_.spmv.layout.vectors) +
           slot * g_.spmv.keep.vector_rows;
  }
  // Built at each use: as members the pointers would hold registers through the whole solve.
  __device__ __forceinline__ OwnVector<T> own(T* global, int slot) const {
    return {kept_vector(slot), global + range_.first_row, g_.spmv.keep.vector_rows};
  }
  __device__ __forceinline__ OwnVector<T> x() const { return own(g_.x, 0); }
  __device__ __forceinline__ OwnVector<T> r() const { return own(g_.r, 1); }
  __device__ __forceinline__ OwnVector<T> p() const { return own(g_.p, 2); }
  __device__ __forceinline__ OwnVector<T> s() const { return own(g_.s, 3); }
  __device__ __forceinline__ OwnVector<T> w() const { return own(g_.w, 4); }
  __device__ __forceinline__ T* kept_preconditioner() const {
    return kept_vector(vectors_per_row<Recurrence>(false));
  }

  template <class Function>
  __device__ __forceinline__ void each_row(Function&& function) {
    for (int i = static_cast<int>(threadIdx.x); i < range_.rows; i += Tuning::threads) function(i);
  }

  __device__ __forceinline__ static double square(T value) {
    return static_cast<double>(value) * static_cast<double>(value);
  }

  __device__ __forceinline__ void publish(T* vector, int i, T value) const {
    vector[range_.first_row + i] = value;
  }

  __device__ __forceinline__ void publish_solution() {
    each_row([&](int i) {
      if (i < g_.spmv.keep.vector_rows) x().global[i] = x().kept[i];
    });
  }

  // An entry of the diagonal M.
  __device__ __forceinline__ T m(int i) const {
    if (g_.preconditioner == nullptr) return T(1);
    return i < g_.spmv.keep.vector_rows ? kept_preconditioner()[i]
                                        : g_.preconditioner[range_.first_row + i];
  }

  __device__ __forceinline__ static void add_squares(Sums& sums, T r_i, T u_i) {
    sums.ru += static_cast<double>(r_i) * static_cast<double>(u_i);
    sums.norm2 += square(r_i);
  }

  __device__ __forceinline__ Sums reduce(const Sums& mine) {
    const Partials<2> total = team_.all_reduce(Partials<2>{mine.ru, mine.norm2});
    return {total.value[0], total.value[1], 0};
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
  Shared& shared_;
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
  member.finish();
  if (member.is_leader()) *arguments.outcome = outcome;
}

}  // namespace resident::cg
