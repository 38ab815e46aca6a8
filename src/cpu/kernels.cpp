#include "cpu/kernels.hpp"

#include <cstddef>
#include <variant>

#if defined(__x86_64__) && defined(__GNUC__)
#define RESIDENT_HAS_AVX2_VERSION 1
#endif

// A body is compiled into each version that calls it, for that version's instructions.
#define RESIDENT_BODY __attribute__((always_inline))

namespace resident::cpu {
namespace {

#ifdef RESIDENT_HAS_AVX2_VERSION
template <auto Body, class... Args>
__attribute__((target("avx2,fma"))) auto with_avx2(Args... args) {
  return Body(args...);
}

bool processor_has_avx2() {
  static const bool has = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  return has;
}
#endif

template <auto Body, class... Args>
auto run(Args... args) {
#ifdef RESIDENT_HAS_AVX2_VERSION
  if (processor_has_avx2()) return with_avx2<Body>(args...);
#endif
  return Body(args...);
}

// Independent partial sums: as many as keep the multiply-add units busy, and a fixed order.
constexpr int lanes = slice_rows;

struct LaneSums {
  double lane[lanes] = {};

  RESIDENT_BODY inline double total() const {
    return ((lane[0] + lane[4]) + (lane[2] + lane[6])) +
           ((lane[1] + lane[5]) + (lane[3] + lane[7]));
  }
};

// Calls step(row, lane) for every row, with constant lanes in whole blocks.
template <class Step>
RESIDENT_BODY inline void for_rows(RowRange rows, Step step) {
  Index row = rows.begin;
  for (; rows.end - row >= lanes; row += lanes) {
    for (int l = 0; l < lanes; ++l) step(static_cast<std::size_t>(row + l), l);
  }
  for (int l = 0; row + l < rows.end; ++l) step(static_cast<std::size_t>(row + l), l);
}

// Reads packed rows front to back.
template <class Value, class Column>
struct Reader {
  const Index* distances;
  const Index* lengths;
  const Column* columns;
  const Value* values;
};

// The products of the next slice in `sum`; `in` points at the entry of its first row.
template <class Sum, class T, class Value, class Column>
RESIDENT_BODY inline void multiply_slice(Reader<Value, Column>& reader, Index width,
                                         const T* __restrict in, Sum (&sum)[lanes]) {
  const Value* __restrict values = reader.values;
  for (int l = 0; l < lanes; ++l) sum[l] = 0;
  for (Index k = 0; k < width; ++k) {
    const T* __restrict shifted = in + reader.distances[k];
    for (int l = 0; l < lanes; ++l) {
      sum[l] += static_cast<Sum>(values[l]) * static_cast<Sum>(shifted[l]);
    }
    values += lanes;
  }
  reader.values = values;
}

// The product of the next row, whose entry `in` points at.
template <class Sum, class T, class Value, class Column>
RESIDENT_BODY inline Sum multiply_row(Reader<Value, Column>& reader, Index length, const T* in) {
  constexpr int chains = 4;
  Sum sum[chains] = {};
  const Value* values = reader.values;
  const Column* columns = reader.columns;
  Index k = 0;
  for (; length - k >= chains; k += chains) {
    for (int c = 0; c < chains; ++c) {
      sum[c] += static_cast<Sum>(values[k + c]) * static_cast<Sum>(in[columns[k + c]]);
    }
  }
  for (; k < length; ++k) {
    sum[0] += static_cast<Sum>(values[k]) * static_cast<Sum>(in[columns[k]]);
  }
  reader.values += length;
  reader.columns += length;
  return (sum[0] + sum[2]) + (sum[1] + sum[3]);
}

// Calls finish(row, lane, product) for every owned row, and returns the product of the tail.
template <class Sum, class T, class Value, class Column, class Finish>
RESIDENT_BODY inline Sum for_products(const PackedRows<Value, Column>& a, const T* in,
                                      Finish finish) {
  Reader<Value, Column> reader{a.distances.data(), a.lengths.data(), a.columns.data(),
                               a.values.data()};
  Index row = a.first_row;
  for (const RowGroup& group : a.groups) {
    const Index end = row + group.rows;
    if (group.width == RowGroup::row_by_row) {
      for (; row < end; ++row)
        finish(row, 0, multiply_row<Sum>(reader, *reader.lengths++, in + row));
      continue;
    }
    for (; row < end; row += slice_rows) {
      Sum sum[lanes];
      multiply_slice(reader, group.width, in + row, sum);
      for (int l = 0; l < lanes; ++l) finish(row + l, l, sum[l]);
    }
    reader.distances += group.width;
  }
  return a.tail_length > 0 ? multiply_row<Sum>(reader, a.tail_length, in + row) : Sum(0);
}

template <class T, class Value, class Column>
RESIDENT_BODY inline double multiply_packed(const PackedRows<Value, Column>* a,
                                            const T* __restrict in, T* __restrict out,
                                            double* carry) {
  LaneSums dot;
  const T tail = for_products<T>(*a, in, [&](Index row, int lane, T product) RESIDENT_BODY {
    out[row] = product;
    dot.lane[lane] += static_cast<double>(in[row]) * static_cast<double>(product);
  });
  *carry = static_cast<double>(tail);
  double sum = dot.total();
  if (a->tail_length > 0) sum += static_cast<double>(in[a->first_row + a->rows]) * *carry;
  return sum;
}

template <class T, class Value, class Column>
RESIDENT_BODY inline void subtract_packed(const PackedRows<Value, Column>* a, const T* __restrict x,
                                          const T* __restrict b, T* __restrict r, double* carry) {
  *carry = for_products<double>(*a, x, [&](Index row, int, double product) RESIDENT_BODY {
    r[row] = static_cast<T>(static_cast<double>(b[row]) - product);
  });
}

// Norms as a pass goes along.
template <bool Preconditioned>
struct NormSums {
  LaneSums rmr, norm2;

  template <class T>
  RESIDENT_BODY inline void add(T r, T mr, int lane) {
    const auto wide = static_cast<double>(r);
    norm2.lane[lane] += wide * wide;
    if constexpr (Preconditioned) rmr.lane[lane] += wide * static_cast<double>(mr);
  }
  RESIDENT_BODY inline Norms total() const {
    return {Preconditioned ? rmr.total() : norm2.total(), norm2.total()};
  }
};

// M r, and its inverse.
template <bool Preconditioned, class T>
RESIDENT_BODY inline T precondition(const T* m, std::size_t i, T r) {
  if constexpr (Preconditioned) return m[i] * r;
  return r;
}
template <bool Preconditioned, class T>
RESIDENT_BODY inline T undo_precondition(const T* m, std::size_t i, T u) {
  if constexpr (Preconditioned) return u / m[i];
  return u;
}

template <class T, bool Preconditioned>
RESIDENT_BODY inline Norms begin_classic_rows(RowRange rows, const T* __restrict m,
                                              const T* __restrict r, T* __restrict p) {
  NormSums<Preconditioned> norms;
  for_rows(rows, [&](std::size_t i, int lane) RESIDENT_BODY {
    p[i] = precondition<Preconditioned>(m, i, r[i]);
    norms.add(r[i], p[i], lane);
  });
  return norms.total();
}

template <class T, bool Preconditioned>
RESIDENT_BODY inline Norms descend_rows(RowRange rows, T alpha, const T* __restrict s,
                                        const T* __restrict m, T* __restrict r) {
  NormSums<Preconditioned> norms;
  for_rows(rows, [&](std::size_t i, int lane) RESIDENT_BODY {
    r[i] -= alpha * s[i];
    norms.add(r[i], precondition<Preconditioned>(m, i, r[i]), lane);
  });
  return norms.total();
}

template <class T, bool Preconditioned>
RESIDENT_BODY inline void advance_rows(RowRange rows, T alpha, T beta, const T* __restrict r,
                                       const T* __restrict m, T* __restrict x, T* __restrict p) {
  for_rows(rows, [&](std::size_t i, int) RESIDENT_BODY {
    x[i] += alpha * p[i];
    p[i] = precondition<Preconditioned>(m, i, r[i]) + beta * p[i];
  });
}

template <class T, bool Preconditioned>
RESIDENT_BODY inline Norms begin_single_reduction_rows(RowRange rows, const T* __restrict m,
                                                       T* __restrict u, T* __restrict p,
                                                       T* __restrict s) {
  NormSums<Preconditioned> norms;
  for_rows(rows, [&](std::size_t i, int lane) RESIDENT_BODY {
    const T r = u[i];
    u[i] = precondition<Preconditioned>(m, i, r);
    p[i] = 0;
    s[i] = 0;
    norms.add(r, u[i], lane);
  });
  return norms.total();
}

template <class T, bool Preconditioned>
RESIDENT_BODY inline Norms advance_all_rows(RowRange rows, T alpha, T beta, const T* __restrict w,
                                            const T* __restrict m, T* __restrict x, T* __restrict u,
                                            T* __restrict p, T* __restrict s) {
  NormSums<Preconditioned> norms;
  for_rows(rows, [&](std::size_t i, int lane) RESIDENT_BODY {
    p[i] = u[i] + beta * p[i];
    s[i] = w[i] + beta * s[i];
    x[i] += alpha * p[i];
    u[i] -= precondition<Preconditioned>(m, i, alpha * s[i]);
    norms.add(undo_precondition<Preconditioned>(m, i, u[i]), u[i], lane);
  });
  return norms.total();
}

template <class T>
RESIDENT_BODY inline double squared_norm_rows(RowRange rows, const T* b) {
  LaneSums sums;
  for_rows(rows, [&](std::size_t i, int lane) RESIDENT_BODY {
    sums.lane[lane] += static_cast<double>(b[i]) * static_cast<double>(b[i]);
  });
  return sums.total();
}

}  // namespace

template <class T>
double multiply(const AnyPackedRows<T>& a, const T* in, T* out, double& carry) {
  return std::visit(
      [&]<class Value, class Column>(const PackedRows<Value, Column>& packed) {
        return run<multiply_packed<T, Value, Column>>(&packed, in, out, &carry);
      },
      a);
}

template <class T>
void subtract_product(const AnyPackedRows<T>& a, const T* x, const T* b, T* r, double& carry) {
  std::visit(
      [&]<class Value, class Column>(const PackedRows<Value, Column>& packed) {
        run<subtract_packed<T, Value, Column>>(&packed, x, b, r, &carry);
      },
      a);
}

template <class T>
double squared_norm(RowRange rows, const T* b) {
  return run<squared_norm_rows<T>>(rows, b);
}

template <class T>
Norms begin_classic(RowRange rows, const T* m, const T* r, T* p) {
  if (m == nullptr) return run<begin_classic_rows<T, false>>(rows, m, r, p);
  return run<begin_classic_rows<T, true>>(rows, m, r, p);
}

template <class T>
Norms descend(RowRange rows, double alpha, const T* s, const T* m, T* r) {
  const T step = static_cast<T>(alpha);
  if (m == nullptr) return run<descend_rows<T, false>>(rows, step, s, m, r);
  return run<descend_rows<T, true>>(rows, step, s, m, r);
}

template <class T>
void advance(RowRange rows, double alpha, double beta, const T* r, const T* m, T* x, T* p) {
  const T step = static_cast<T>(alpha), turn = static_cast<T>(beta);
  if (m == nullptr) return run<advance_rows<T, false>>(rows, step, turn, r, m, x, p);
  return run<advance_rows<T, true>>(rows, step, turn, r, m, x, p);
}

template <class T>
Norms begin_single_reduction(RowRange rows, const T* m, T* u, T* p, T* s) {
  if (m == nullptr) return run<begin_single_reduction_rows<T, false>>(rows, m, u, p, s);
  return run<begin_single_reduction_rows<T, true>>(rows, m, u, p, s);
}

template <class T>
Norms advance_all(RowRange rows, double alpha, double beta, const T* w, const T* m, T* x, T* u,
                  T* p, T* s) {
  const T step = static_cast<T>(alpha), turn = static_cast<T>(beta);
  if (m == nullptr) return run<advance_all_rows<T, false>>(rows, step, turn, w, m, x, u, p, s);
  return run<advance_all_rows<T, true>>(rows, step, turn, w, m, x, u, p, s);
}

#define RESIDENT_INSTANTIATE(T)                                                             \
  template double multiply(const AnyPackedRows<T>&, const T*, T*, double&);                 \
  template void subtract_product(const AnyPackedRows<T>&, const T*, const T*, T*, double&); \
  template double squared_norm(RowRange, const T*);                                         \
  template Norms begin_classic(RowRange, const T*, const T*, T*);                           \
  template Norms descend(RowRange, double, const T*, const T*, T*);                         \
  template void advance(RowRange, double, double, const T*, const T*, T*, T*);              \
  template Norms begin_single_reduction(RowRange, const T*, T*, T*, T*);                    \
  template Norms advance_all(RowRange, double, double, const T*, const T*, T*, T*, T*, T*);
RESIDENT_INSTANTIATE(float)
RESIDENT_INSTANTIATE(double)
#undef RESIDENT_INSTANTIATE

}  // namespace resident::cpu
