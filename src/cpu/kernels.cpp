#include "cpu/kernels.hpp"

#include <cstddef>
#include <variant>

#include "cpu/lanes.hpp"

#if defined(__x86_64__) && defined(__GNUC__)
#define RESIDENT_HAS_AVX2_VERSION 1
#endif

namespace resident::cpu {
namespace {

static_assert(slice_rows == lane_count);

#ifdef RESIDENT_HAS_AVX2_VERSION
template <class Body>
__attribute__((target("avx2,fma"))) auto run_with_avx2(const Body& body) {
  return body.template operator()<4>();
}

bool processor_has_avx2() {
  static const bool has = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  return has;
}
#endif

// Calls body<Width>() for as wide registers as the running processor has. The body must be a
// RESIDENT_BODY, and call nothing else.
template <class Body>
auto run(const Body& body) {
#ifdef RESIDENT_HAS_AVX2_VERSION
  if (processor_has_avx2()) return run_with_avx2(body);
#endif
  return body.template operator()<2>();
}

// Eight consecutive rows of vectors.
template <int Width>
struct Block {
  std::size_t row;

  template <class T>
  RESIDENT_BODY Lanes<Width, T> load(const T* vector, T) const {
    return Lanes<Width, T>::load(vector + row);
  }
  template <class T>
  RESIDENT_BODY void store(const Lanes<Width, T>& lanes, T* vector) const {
    lanes.store(vector + row);
  }
};

// The last rows of a range, fewer than eight; lanes without a row get a given value.
template <int Width>
struct Remainder {
  std::size_t row;
  int rows;

  template <class T>
  RESIDENT_BODY Lanes<Width, T> load(const T* vector, T otherwise) const {
    T lane[lane_count];
    for (int l = 0; l < lane_count; ++l) lane[l] = l < rows ? vector[row + l] : otherwise;
    return Lanes<Width, T>::load(lane);
  }
  template <class T>
  RESIDENT_BODY void store(const Lanes<Width, T>& lanes, T* vector) const {
    T lane[lane_count];
    lanes.store(lane);
    for (int l = 0; l < rows; ++l) vector[row + l] = lane[l];
  }
};

// Calls step(block) for all rows, in order.
template <int Width, class Step>
RESIDENT_BODY inline void for_blocks(RowRange rows, const Step& step) {
  auto row = static_cast<std::size_t>(rows.begin);
  const auto end = static_cast<std::size_t>(rows.end);
  for (; end - row >= lane_count; row += lane_count) step(Block<Width>{row});
  if (row < end) step(Remainder<Width>{row, static_cast<int>(end - row)});
}

// Lanes without a row are zero, so that they add nothing to sums.
template <class Block, class T>
RESIDENT_BODY inline auto load(const Block& block, const T* vector) {
  return block.load(vector, T(0));
}

// M r for the rows of a block, and its inverse.
template <class Block, class T, class Vector>
RESIDENT_BODY inline Vector precondition(const Block& block, const T* m, const Vector& r) {
  return m == nullptr ? r : block.load(m, T(1)) * r;
}
template <class Block, class T, class Vector>
RESIDENT_BODY inline Vector undo_precondition(const Block& block, const T* m, const Vector& u) {
  return m == nullptr ? u : u / block.load(m, T(1));
}

template <int Width>
struct NormSums {
  Lanes<Width, double> rmr = Lanes<Width, double>::filled_with(0);
  Lanes<Width, double> norm2 = Lanes<Width, double>::filled_with(0);

  template <class T>
  RESIDENT_BODY void add(const Lanes<Width, T>& r, const Lanes<Width, T>& mr) {
    const auto wide = r.template to<double>();
    rmr += wide * mr.template to<double>();
    norm2 += wide * wide;
  }
  RESIDENT_BODY Norms total() const { return {rmr.total(), norm2.total()}; }
};

// Reads packed rows front to back.
template <class Value, class Column>
struct Reader {
  const Index* distances;
  const Index* lengths;
  const Column* columns;
  const Value* values;
};

// The products of the next slice; `in` points at the entry of its first row.
template <int Width, class Sum, class T, class Value, class Column>
RESIDENT_BODY inline Lanes<Width, Sum> multiply_slice(Reader<Value, Column>& reader, Index width,
                                                      const T* in) {
  auto sum = Lanes<Width, Sum>::filled_with(0);
  for (Index k = 0; k < width; ++k) {
    sum +=
        Lanes<Width, Sum>::load(reader.values) * Lanes<Width, Sum>::load(in + reader.distances[k]);
    reader.values += slice_rows;
  }
  return sum;
}

// The product of the next row, whose entry `in` points at.
template <class Sum, class T, class Value, class Column>
RESIDENT_BODY inline Sum multiply_row(Reader<Value, Column>& reader, Index length, const T* in) {
  constexpr int chains = 4;  // of dependent additions
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

// Calls finish.slice(first row, products) or finish.row(row, product) for all owned rows, in order,
// and returns the product of the tail.
template <int Width, class Sum, class T, class Value, class Column, class Finish>
RESIDENT_BODY inline Sum for_products(const PackedRows<Value, Column>& a, const T* in,
                                      Finish& finish) {
  Reader<Value, Column> reader{a.distances.data(), a.lengths.data(), a.columns.data(),
                               a.values.data()};
  Index row = a.first_row;
  for (const RowGroup& group : a.groups) {
    const Index end = row + group.rows;
    if (group.width == RowGroup::row_by_row) {
      for (; row < end; ++row)
        finish.row(row, multiply_row<Sum>(reader, *reader.lengths++, in + row));
      continue;
    }
    for (; row < end; row += slice_rows) {
      finish.slice(row, multiply_slice<Width, Sum>(reader, group.width, in + row));
    }
    reader.distances += group.width;
  }
  return a.tail_length > 0 ? multiply_row<Sum>(reader, a.tail_length, in + row) : Sum(0);
}

// out = A in, and in·out on the way.
template <int Width, class T>
struct StoreProducts {
  const T* in;
  T* out;
  Lanes<Width, double> slice_dot = Lanes<Width, double>::filled_with(0);
  double row_dot = 0;

  RESIDENT_BODY void slice(Index row, const Lanes<Width, T>& products) {
    products.store(out + row);
    slice_dot += Lanes<Width, double>::load(in + row) * products.template to<double>();
  }
  RESIDENT_BODY void row(Index row, T product) {
    out[row] = product;
    row_dot += static_cast<double>(in[row]) * static_cast<double>(product);
  }
};

// r = b - A x.
template <int Width, class T>
struct SubtractProducts {
  const T* b;
  T* r;

  RESIDENT_BODY void slice(Index row, const Lanes<Width, double>& products) {
    (Lanes<Width, double>::load(b + row) - products).template to<T>().store(r + row);
  }
  RESIDENT_BODY void row(Index row, double product) {
    r[row] = static_cast<T>(static_cast<double>(b[row]) - product);
  }
};

}  // namespace

template <class T>
double multiply(const AnyPackedRows<T>& a, const T* in, T* out, double& carry) {
  return std::visit(
      [&](const auto& packed) {
        return run([&]<int Width>() RESIDENT_BODY {
          StoreProducts<Width, T> products{in, out};
          const T tail = for_products<Width, T>(packed, in, products);
          carry = static_cast<double>(tail);
          const double dot = products.slice_dot.total() + products.row_dot;
          if (packed.tail_length == 0) return dot;
          return dot + static_cast<double>(in[packed.first_row + packed.rows]) * carry;
        });
      },
      a);
}

template <class T>
void subtract_product(const AnyPackedRows<T>& a, const T* x, const T* b, T* r, double& carry) {
  std::visit(
      [&](const auto& packed) {
        run([&]<int Width>() RESIDENT_BODY {
          SubtractProducts<Width, T> products{b, r};
          carry = for_products<Width, double>(packed, x, products);
        });
      },
      a);
}

template <class T>
double squared_norm(RowRange rows, const T* b) {
  return run([=]<int Width>() RESIDENT_BODY {
    auto sum = Lanes<Width, double>::filled_with(0);
    for_blocks<Width>(rows, [&](const auto& block) RESIDENT_BODY {
      const auto wide = load(block, b).template to<double>();
      sum += wide * wide;
    });
    return sum.total();
  });
}

template <class T>
Norms begin_classic(RowRange rows, const T* m, const T* r, T* p) {
  return run([=]<int Width>() RESIDENT_BODY {
    NormSums<Width> norms;
    for_blocks<Width>(rows, [&](const auto& block) RESIDENT_BODY {
      const auto residual = load(block, r);
      const auto direction = precondition(block, m, residual);
      block.store(direction, p);
      norms.add(residual, direction);
    });
    return norms.total();
  });
}

template <class T>
Norms descend(RowRange rows, double alpha, const T* s, const T* m, T* r) {
  return run([=, step = static_cast<T>(alpha)]<int Width>() RESIDENT_BODY {
    NormSums<Width> norms;
    for_blocks<Width>(rows, [&](const auto& block) RESIDENT_BODY {
      const auto residual = load(block, r) - step * load(block, s);
      block.store(residual, r);
      norms.add(residual, precondition(block, m, residual));
    });
    return norms.total();
  });
}

template <class T>
void advance(RowRange rows, double alpha, double beta, const T* r, const T* m, T* x, T* p) {
  run([=, step = static_cast<T>(alpha), turn = static_cast<T>(beta)]<int Width>() RESIDENT_BODY {
    for_blocks<Width>(rows, [&](const auto& block) RESIDENT_BODY {
      const auto direction = load(block, p);
      block.store(load(block, x) + step * direction, x);
      block.store(precondition(block, m, load(block, r)) + turn * direction, p);
    });
  });
}

template <class T>
Norms begin_single_reduction(RowRange rows, const T* m, T* u, T* p, T* s) {
  return run([=]<int Width>() RESIDENT_BODY {
    NormSums<Width> norms;
    const auto zero = Lanes<Width, T>::filled_with(0);
    for_blocks<Width>(rows, [&](const auto& block) RESIDENT_BODY {
      const auto residual = load(block, u);
      const auto preconditioned = precondition(block, m, residual);
      block.store(preconditioned, u);
      block.store(zero, p);
      block.store(zero, s);
      norms.add(residual, preconditioned);
    });
    return norms.total();
  });
}

template <class T>
Norms advance_all(RowRange rows, double alpha, double beta, const T* w, const T* m, T* x, T* u,
                  T* p, T* s) {
  return run([=, step = static_cast<T>(alpha), turn = static_cast<T>(beta)]<int Width>()
                 RESIDENT_BODY {
                   NormSums<Width> norms;
                   for_blocks<Width>(rows, [&](const auto& block) RESIDENT_BODY {
                     const auto direction = load(block, u) + turn * load(block, p);
                     const auto image = load(block, w) + turn * load(block, s);
                     block.store(direction, p);
                     block.store(image, s);
                     block.store(load(block, x) + step * direction, x);
                     const auto next = load(block, u) - precondition(block, m, step * image);
                     block.store(next, u);
                     norms.add(undo_precondition(block, m, next), next);
                   });
                   return norms.total();
                 });
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
