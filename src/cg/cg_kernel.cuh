// The whole conjugate gradient solve as one cooperative kernel: a thread block is a member of the
// grid team and runs the recurrences of recurrences.hpp on the rows that it owns.
#pragma once

#include <cstdint>
#include <type_traits>

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

// Whether an own row's vector entries are kept on chip or are in global memory.
using Kept = std::true_type;
using Streamed = std::false_type;

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
    double norm2 = 0;
    each_row([&](auto where, int i) {
      norm2 += square(g_.b[range_.first_row + i]);
      if constexpr (where) {
        x<where>(i) = g_.x[range_.first_row + i];
        if (g_.preconditioner != nullptr) {
          kept_preconditioner()[i] = g_.preconditioner[range_.first_row + i];
        }
      }
    });
    norm2 = team_.all_reduce(Partials<1>{norm2}).value[0];
    if (team_.is_leader()) team_.report_reference(norm2);
    return norm2;
  }

  __device__ __forceinline__ void zero_solution() {
    each_row([&](auto where, int i) { x<where>(i) = T(0); });
  }

  // The solution to global memory, and the end of everything under way.
  __device__ __forceinline__ void finish() {
    spmv_.drain();
    publish_solution();
  }

  __device__ __forceinline__ Sums residual() {
    publish_solution();
    team_.sync();  // x is complete in global memory, and nobody gathers from u or p any more
    Sums sums;
    Products(shared_.products, g_.spmv.a, range_, g_.x).apply([&](int i, double product) {
      const double exact = static_cast<double>(g_.b[range_.first_row + i]) - product;
      sums.norm2 += exact * exact;
      at_row(i, [&](auto where) {
        const T r_i = static_cast<T>(exact);
        const T u_i = m<where>(i) * r_i;
        sums.ru += static_cast<double>(r_i) * static_cast<double>(u_i);
        r<where>(i) = r_i;
        p<where>(i) = kSingle ? T(0) : u_i;
        if constexpr (kSingle) s<where>(i) = T(0);
        publish_multiplied(where, i, u_i);
      });
    });
    return reduce(sums);  // orders the new u or p before the next gather
  }

  // s = A p. Vectors: p read, s written.
  __device__ __forceinline__ double multiply_direction() {
    double pap = 0;
    const T carry = spmv_.apply(
        g_.p, [&](int i) { return at_row(i, [&](auto where) -> T { return p<where>(i); }); },
        [&](int i, T sum, T p_i) {
          at_row(i, [&](auto where) { s<where>(i) = sum; });
          pap += static_cast<double>(sum) * static_cast<double>(p_i);
        });
    pap += carried_dot(g_.p, carry);
    return team_.all_reduce(Partials<1>{pap}).value[0];
  }

  // Vectors: r and s read, r written.
  __device__ __forceinline__ Sums descend(double alpha) {
    add_carries(g_.s, 3);
    const T step = static_cast<T>(alpha);
    Sums sums;
    struct Row {
      T r, s, m;
    };
    each_loaded_row(
        [&](auto where, int i) {
          return Row{r<where>(i), s<where>(i), m<where>(i)};
        },
        [&](auto where, int i, Row row) {
          const T r_i = row.r - step * row.s;
          r<where>(i) = r_i;
          add_squares(sums, r_i, row.m * r_i);
        });
    return reduce(sums);
  }

  // Vectors: x, p and r read, x and p written.
  __device__ __forceinline__ void advance(double alpha, double beta) {
    const T step = static_cast<T>(alpha), turn = static_cast<T>(beta);
    struct Row {
      T x, p, r, m;
    };
    each_loaded_row(
        [&](auto where, int i) {
          return Row{x<where>(i), p<where>(i), r<where>(i), m<where>(i)};
        },
        [&](auto where, int i, Row row) {
          x<where>(i) = row.x + step * row.p;
          const T p_i = row.m * row.r + turn * row.p;
          p<where>(i) = p_i;
          publish_multiplied(where, i, p_i);
        });
    team_.sync();  // p is complete before the next gather
  }

  // w = A u, u = M r. Vectors: r read, w written.
  __device__ __forceinline__ Sums multiply_residual() {
    Sums sums;
    struct Row {
      T r, m;
    };
    const T carry = spmv_.apply(
        g_.u,
        [&](int i) { return at_row(i, [&](auto where) {
                       return Row{r<where>(i), m<where>(i)};
                     }); },
        [&](int i, T sum, Row row) {
          at_row(i, [&](auto where) { w<where>(i) = sum; });
          const T u_i = row.m * row.r;
          add_squares(sums, row.r, u_i);
          sums.uw += static_cast<double>(sum) * static_cast<double>(u_i);
        });
    sums.uw += carried_dot(g_.u, carry);
    const Partials<3> total = team_.all_reduce(Partials<3>{sums.ru, sums.norm2, sums.uw});
    return {total.value[0], total.value[1], total.value[2]};
  }

  // Vectors: r, p, w, s and x read, all but w written, and u.
  __device__ __forceinline__ void advance_all(double alpha, double beta) {
    add_carries(g_.w, 4);
    const T step = static_cast<T>(alpha), turn = static_cast<T>(beta);
    struct Row {
      T x, r, p, s, w, m;
    };
    each_loaded_row(
        [&](auto where, int i) {
          return Row{x<where>(i), r<where>(i), p<where>(i), s<where>(i), w<where>(i), m<where>(i)};
        },
        [&](auto where, int i, Row row) {
          const T p_i = row.m * row.r + turn * row.p;
          const T s_i = row.w + turn * row.s;
          const T r_i = row.r - step * s_i;
          p<where>(i) = p_i;
          s<where>(i) = s_i;
          x<where>(i) = row.x + step * p_i;
          r<where>(i) = r_i;
          publish_multiplied(where, i, row.m * r_i);
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

  // --- Own entries of the vectors ---

  __device__ __forceinline__ int kept_rows() const {
    return min(g_.spmv.keep.vector_rows, range_.rows);
  }
  __device__ __forceinline__ T* kept_vector(int slot) const {
    return reinterpret_cast<T*>(dynamic_ + g_.spmv.layout.vectors) +
           slot * g_.spmv.keep.vector_rows;
  }
  __device__ __forceinline__ T* kept_preconditioner() const {
    return kept_vector(vectors_per_row<Recurrence>(false));
  }

  // Found at each use: as members the pointers would hold registers through the whole solve.
  template <bool where>
  __device__ __forceinline__ T& entry(T* global, int slot, int i) const {
    return where ? kept_vector(slot)[i] : global[range_.first_row + i];
  }
  template <bool where>
  __device__ __forceinline__ T& x(int i) const {
    return entry<where>(g_.x, 0, i);
  }
  template <bool where>
  __device__ __forceinline__ T& r(int i) const {
    return entry<where>(g_.r, 1, i);
  }
  template <bool where>
  __device__ __forceinline__ T& p(int i) const {
    return entry<where>(g_.p, 2, i);
  }
  template <bool where>
  __device__ __forceinline__ T& s(int i) const {
    return entry<where>(g_.s, 3, i);
  }
  template <bool where>
  __device__ __forceinline__ T& w(int i) const {
    return entry<where>(g_.w, 4, i);
  }
  // An entry of the diagonal M.
  template <bool where>
  __device__ __forceinline__ T m(int i) const {
    if (g_.preconditioner == nullptr) return T(1);
    return where ? kept_preconditioner()[i] : g_.preconditioner[range_.first_row + i];
  }

  // For the vector that other blocks gather from: u, which has no entry of its own, or p.
  template <class Where>
  __device__ __forceinline__ void publish_multiplied(Where where, int i, T value) const {
    if constexpr (kSingle) {
      g_.u[range_.first_row + i] = value;
    } else if constexpr (where) {
      g_.p[range_.first_row + i] = value;
    }
  }

  __device__ __forceinline__ void publish_solution() {
    each_row([&](auto where, int i) {
      if constexpr (where) g_.x[range_.first_row + i] = x<where>(i);
    });
  }

  // function(Kept or Streamed) for one own row.
  template <class Function>
  __device__ __forceinline__ auto at_row(int i, Function&& function) const {
    return i < kept_rows() ? function(Kept{}) : function(Streamed{});
  }

  // function(Kept or Streamed, i) for each own row.
  template <class Function>
  __device__ __forceinline__ void each_row(Function&& function) const {
    int i = static_cast<int>(threadIdx.x);
    for (; i < kept_rows(); i += Tuning::threads) function(Kept{}, i);
    for (; i < range_.rows; i += Tuning::threads) function(Streamed{}, i);
  }

  // store(where, i, load(where, i)) for each own row, with the loads of several rows that are not
  // kept in flight at once.
  template <class Load, class Store>
  __device__ __forceinline__ void each_loaded_row(Load&& load, Store&& store) const {
    constexpr int kBatch = 2;
    int i = static_cast<int>(threadIdx.x);
    for (; i < kept_rows(); i += Tuning::threads) store(Kept{}, i, load(Kept{}, i));
    for (; i + (kBatch - 1) * Tuning::threads < range_.rows; i += kBatch * Tuning::threads) {
      decltype(load(Streamed{}, 0)) rows[kBatch] = {};
#pragma unroll
      for (int k = 0; k < kBatch; ++k) rows[k] = load(Streamed{}, i + k * Tuning::threads);
#pragma unroll
      for (int k = 0; k < kBatch; ++k) store(Streamed{}, i + k * Tuning::threads, rows[k]);
    }
    for (; i < range_.rows; i += Tuning::threads) store(Streamed{}, i, load(Streamed{}, i));
  }

  // --- Sums ---

  __device__ __forceinline__ static double square(T value) {
    return static_cast<double>(value) * static_cast<double>(value);
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
  __device__ __forceinline__ void add_carries(T* product, int slot) const {
    const int last = static_cast<int>(blockIdx.x);
    if (range_.carry_first == last) return;
    if (threadIdx.x < 32) {
      T sum = 0;
      for (int block = range_.carry_first + static_cast<int>(threadIdx.x); block < last;
           block += 32) {
        sum += g_.carries[block];
      }
      for (int distance = 16; distance > 0; distance /= 2) {
        sum += __shfl_xor_sync(0xffffffffu, sum, distance);
      }
      if (threadIdx.x == 0) {
        at_row(0, [&](auto where) { entry<where>(product, slot, 0) += sum; });
      }
    }
    __syncthreads();  // row 0 is complete
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
