// The passes over rows that a member of a CPU team makes, compiled for plain and for newer
// processors; the best version for the running processor is taken. Each pass names the bytes per
// row that it moves, with V = sizeof(T). The order of every sum depends on nothing but the range.
#pragma once

#include <resident/csr.hpp>

#include "cpu/packed_rows.hpp"

namespace resident::cpu {

// The sums that the recurrences need of a residual r. M is the preconditioner's diagonal, which the
// passes take as `m`; they take null for the identity.
struct Norms {
  double rmr = 0;    // r·M r
  double norm2 = 0;  // r·r
};

// The rows that a pass works on.
struct RowRange {
  Index begin = 0;
  Index end = 0;
};

// out = A in for the owned rows; the product of the tail goes to `carry`. `in` is the whole vector.
// Returns in·out over the owned rows and in·carry: the sum over all members is in·A in, although
// rows that begin in an earlier member lack its part in `out`. Bytes: the packed rows, and 2 V.
template <class T>
double multiply(const AnyPackedRows<T>& a, const T* in, T* out, double& carry);

// r = b - A x for the owned rows, in double until it is stored: a residual that is small because
// much cancels decides when a solve ends. `carry` as above. Bytes: the packed rows, and 3 V.
template <class T>
void subtract_product(const AnyPackedRows<T>& a, const T* x, const T* b, T* r, double& carry);

// b·b. Bytes: V.
template <class T>
double squared_norm(RowRange rows, const T* b);

// p = M r. Bytes: 2 V, with m 3 V.
template <class T>
Norms begin_classic(RowRange rows, const T* m, const T* r, T* p);

// r -= alpha s. Bytes: 3 V, with m 4 V.
template <class T>
Norms descend(RowRange rows, double alpha, const T* s, const T* m, T* r);

// x += alpha p; p = M r + beta p. Bytes: 5 V, with m 6 V.
template <class T>
void advance(RowRange rows, double alpha, double beta, const T* r, const T* m, T* x, T* p);

// u = M u, where u holds the residual; p = s = 0. Bytes: 4 V, with m 5 V.
template <class T>
Norms begin_single_reduction(RowRange rows, const T* m, T* u, T* p, T* s);

// p = u + beta p; s = w + beta s; x += alpha p; u -= alpha M s. Of the residual r and u = M r only
// u is kept, since it is u that A multiplies. Bytes: 9 V, with m 10 V.
template <class T>
Norms advance_all(RowRange rows, double alpha, double beta, const T* w, const T* m, T* x, T* u,
                  T* p, T* s);

}  // namespace resident::cpu
