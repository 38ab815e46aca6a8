// One thread's part of a conjugate gradient solve on a CPU team: the functions that the recurrences
// of cg/recurrences.hpp are written against.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "cg/recurrences.hpp"
#include "cpu/barrier.hpp"
#include "cpu/host_watch.hpp"
#include "cpu/kernels.hpp"
#include "cpu/packed_rows.hpp"

namespace resident::cpu {

// What a member adds to a reduction. Only the member that watches the host makes a request, which
// thereby reaches all members in the same reduction.
struct Contribution {
  cg::Sums sums;
  cg::Request request = cg::Request::none;

  Contribution& operator+=(const Contribution& other) {
    sums.ru += other.sums.ru;
    sums.norm2 += other.sums.norm2;
    sums.uw += other.sums.uw;
    request = std::max(request, other.request);
    return *this;
  }
};

// A member's packed rows, its place among the members, and the products it carries to others.
template <class T>
struct alignas(cache_line) TeamPart {
  AnyPackedRows<T> packed;
  RowRange rows;        // owned
  int first_carry = 0;  // members [first_carry, own rank) carry parts of row rows.begin
  // Of even and odd multiplications: a member may begin the next one while others still read this.
  std::array<double, 2> carries{};
};

template <class T>
struct Vectors {
  Buffer<T> r;  // residual; in single_reduction the preconditioned residual u = M r
  Buffer<T> p;  // direction
  Buffer<T> s;  // A p
  Buffer<T> w;  // A u, single_reduction only
};

// What a team shares during one solve. Every member writes its own rows of the vectors only, and
// reads all of the one that is multiplied.
//
// Jacobi is applied as a diagonal M and not by scaling the matrix: scaled values are rounded, so
// b - A x would be the residual of another matrix, and they are rarely floats.
template <class T>
struct TeamSolve {
  std::span<TeamPart<T>> parts;
  Vectors<T>& vectors;
  std::span<const T> preconditioner;  // the diagonal of M; empty where M is the identity
  std::span<const T> b;
  std::span<T> x;
  AllReduce<Contribution> reduction;
  HostWatch watch;  // of member 0
};

template <class T>
class CgMember {
 public:
  CgMember(TeamSolve<T>& team, int rank, Recurrence recurrence)
      : team_(team),
        rank_(rank),
        part_(team.parts[static_cast<std::size_t>(rank)]),
        rows_(part_.rows),
        m_(team.preconditioner.data()),
        recurrence_(recurrence),
        x_(team.x.data()),
        r_(team.vectors.r.data()),
        p_(team.vectors.p.data()),
        s_(team.vectors.s.data()),
        w_(team.vectors.w.data()) {}

  double load() {
    const double rhs_norm2 =
        reduce({.ru = 0, .norm2 = squared_norm(rows_, team_.b.data()), .uw = 0}).norm2;
    rhs_norm_ = std::sqrt(rhs_norm2);
    return rhs_norm2;
  }

  void zero_solution() { std::fill(x_ + rows_.begin, x_ + rows_.end, T(0)); }

  cg::Sums residual() {
    if (rank_ == 0) team_.watch.iterations_end();
    parity_ ^= 1;
    subtract_product(part_.packed, x_, team_.b.data(), r_, part_.carries[parity_]);
    team_.reduction.barrier();  // all carries are written
    add_carries(r_, -1);
    norms_ = recurrence_ == Recurrence::single_reduction
                 ? begin_single_reduction(rows_, m_, r_, p_, s_)
                 : begin_classic(rows_, m_, r_, p_);
    const cg::Sums sums = reduce({.ru = norms_.rmr, .norm2 = norms_.norm2, .uw = 0});
    if (rank_ == 0) team_.watch.iterations_begin();
    return sums;
  }

  double multiply_direction() {
    const double pap = multiply_part(p_, s_);
    const cg::Sums sums = reduce({.ru = pap, .norm2 = 0, .uw = 0});
    add_carries(s_, 1);
    return sums.ru;
  }

  cg::Sums descend(double alpha) {
    const Norms norms = cpu::descend(rows_, alpha, s_, m_, r_);
    return reduce({.ru = norms.rmr, .norm2 = norms.norm2, .uw = 0});
  }

  void advance(double alpha, double beta) {
    cpu::advance(rows_, alpha, beta, r_, m_, x_, p_);
    team_.reduction.barrier();  // others read the new p, and in residual() the new x
  }

  cg::Sums multiply_residual() {
    const double uw = multiply_part(r_, w_);
    const cg::Sums sums = reduce({.ru = norms_.rmr, .norm2 = norms_.norm2, .uw = uw});
    add_carries(w_, 1);
    return sums;
  }

  void advance_all(double alpha, double beta) {
    norms_ = cpu::advance_all(rows_, alpha, beta, w_, m_, x_, r_, p_, s_);
    team_.reduction.barrier();  // others read the new u, and in residual() the new x
  }

  void record(std::int64_t iteration, double norm2) {
    if (rank_ == 0) team_.watch.record(iteration, std::sqrt(norm2), rhs_norm_);
  }

  cg::Request request() const { return request_; }

 private:
  cg::Sums reduce(const cg::Sums& own) {
    const cg::Request asked = rank_ == 0 ? team_.watch.poll() : cg::Request::none;
    const Contribution total = team_.reduction.sum(rank_, {own, asked});
    request_ = total.request;
    return total.sums;
  }

  double multiply_part(const T* in, T* out) {
    parity_ ^= 1;
    return multiply(part_.packed, in, out, part_.carries[parity_]);
  }

  // Completes the row that began in earlier members. Needs a barrier after the product.
  void add_carries(T* out, double sign) {
    if (part_.first_carry == rank_) return;
    double sum = 0;
    for (int i = part_.first_carry; i < rank_; ++i) {
      sum += team_.parts[static_cast<std::size_t>(i)].carries[parity_];
    }
    out[rows_.begin] = static_cast<T>(static_cast<double>(out[rows_.begin]) + sign * sum);
  }

  TeamSolve<T>& team_;
  const int rank_;
  TeamPart<T>& part_;
  const RowRange rows_;
  const T* const m_;
  const Recurrence recurrence_;
  T *const x_, *const r_, *const p_, *const s_, *const w_;
  std::size_t parity_ = 0;
  Norms norms_;  // of the own rows of the residual
  double rhs_norm_ = 0;
  cg::Request request_ = cg::Request::none;
};

}  // namespace resident::cpu
