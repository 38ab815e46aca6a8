// Eight values side by side in vector registers of the compiler's vector extension. Every sum over
// lanes has one order, whatever the width of a register.
#pragma once

#include <cstddef>

// A function that becomes part of its caller, and is compiled for the caller's instructions.
#define RESIDENT_BODY __attribute__((always_inline))

namespace resident::cpu {

inline constexpr int lane_count = 8;

// Width: how many lanes share a register.
template <int Width, class T>
class Lanes {
  template <class U>
  struct RegisterOf {
    typedef U type __attribute__((vector_size(Width * sizeof(U))));
  };

 public:
  template <class U>
  using RegisterFor = typename RegisterOf<U>::type;
  using Register = RegisterFor<T>;
  static constexpr int registers = lane_count / Width;

  RESIDENT_BODY static Lanes filled_with(T value) {
    Lanes lanes;
    for (int i = 0; i < registers; ++i) lanes.registers_[i] = value - Register{};
    return lanes;
  }

  // Eight entries of any arithmetic type, converted.
  template <class U>
  RESIDENT_BODY static Lanes load(const U* from) {
    Lanes lanes;
    for (int i = 0; i < registers; ++i) {
      RegisterFor<U> loaded;
      __builtin_memcpy(&loaded, from + i * Width, sizeof(loaded));
      lanes.registers_[i] = __builtin_convertvector(loaded, Register);
    }
    return lanes;
  }
  RESIDENT_BODY void store(T* to) const {
    for (int i = 0; i < registers; ++i) {
      __builtin_memcpy(to + i * Width, &registers_[i], sizeof(Register));
    }
  }

  template <class U>
  RESIDENT_BODY Lanes<Width, U> to() const {
    Lanes<Width, U> lanes;
    for (int i = 0; i < registers; ++i) {
      lanes[i] = __builtin_convertvector(registers_[i], RegisterFor<U>);
    }
    return lanes;
  }

  RESIDENT_BODY Register& operator[](int i) { return registers_[i]; }

  RESIDENT_BODY friend Lanes operator+(const Lanes& a, const Lanes& b) {
    Lanes lanes;
    for (int i = 0; i < registers; ++i) lanes[i] = a.registers_[i] + b.registers_[i];
    return lanes;
  }
  RESIDENT_BODY friend Lanes operator-(const Lanes& a, const Lanes& b) {
    Lanes lanes;
    for (int i = 0; i < registers; ++i) lanes[i] = a.registers_[i] - b.registers_[i];
    return lanes;
  }
  RESIDENT_BODY friend Lanes operator*(const Lanes& a, const Lanes& b) {
    Lanes lanes;
    for (int i = 0; i < registers; ++i) lanes[i] = a.registers_[i] * b.registers_[i];
    return lanes;
  }
  RESIDENT_BODY friend Lanes operator/(const Lanes& a, const Lanes& b) {
    Lanes lanes;
    for (int i = 0; i < registers; ++i) lanes[i] = a.registers_[i] / b.registers_[i];
    return lanes;
  }
  RESIDENT_BODY friend Lanes operator*(T a, const Lanes& b) {
    Lanes lanes;
    for (int i = 0; i < registers; ++i) lanes[i] = a * b.registers_[i];
    return lanes;
  }
  RESIDENT_BODY Lanes& operator+=(const Lanes& other) { return *this = *this + other; }

  RESIDENT_BODY T total() const {
    T lane[lane_count];
    store(lane);
    return ((lane[0] + lane[4]) + (lane[2] + lane[6])) +
           ((lane[1] + lane[5]) + (lane[3] + lane[7]));
  }

 private:
  Register registers_[registers];
};

}  // namespace resident::cpu
