// The operations of arithmetic instructions on single values, as the PTX ISA defines them.
#pragma once

#include <cmath>
#include <type_traits>

#include "bench/ptx/types.hpp"

namespace convscope::ptx {

// Integers wrap around.
template <class T>
using Wrapping = std::make_unsigned_t<T>;

struct Add {
  template <class T>
  static T f(T a, T b) {
    if constexpr (std::is_integral_v<T>)
      return T(Wrapping<T>(a) + Wrapping<T>(b));
    else
      return a + b;
  }
};
struct Sub {
  template <class T>
  static T f(T a, T b) {
    if constexpr (std::is_integral_v<T>)
      return T(Wrapping<T>(a) - Wrapping<T>(b));
    else
      return a - b;
  }
};
struct Mul {
  template <class T>
  static T f(T a, T b) {
    if constexpr (std::is_integral_v<T> && sizeof(T) == 2)
      return T(u32(u16(a)) * u32(u16(b)));
    else if constexpr (std::is_integral_v<T>)
      return T(Wrapping<T>(a) * Wrapping<T>(b));
    else
      return a * b;
  }
};
struct MulHi {
  template <class T>
  static T f(T a, T b) {
    if constexpr (sizeof(T) == 8 && std::is_signed_v<T>)
      return T(__int128(a) * __int128(b) >> 64);
    else if constexpr (sizeof(T) == 8)
      return T(static_cast<unsigned __int128>(a) * b >> 64);
    else if constexpr (std::is_signed_v<T>)
      return T(s64(a) * s64(b) >> (8 * sizeof(T)));
    else
      return T(u64(a) * u64(b) >> (8 * sizeof(T)));
  }
};
struct Mad {
  template <class T>
  static T f(T a, T b, T c) {
    return T(a * b + c);
  }
};
struct Fma {
  template <class T>
  static T f(T a, T b, T c) {
    return std::fma(a, b, c);
  }
};
// By zero a GPU gives all bits set.
struct Div {
  template <class T>
  static T f(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
      if (b == 0) return T(-1);
      if constexpr (std::is_signed_v<T>)
        if (b == T(-1)) return T(Wrapping<T>(0) - Wrapping<T>(a));
      return T(a / b);
    } else {
      return a / b;
    }
  }
};
struct Rem {
  template <class T>
  static T f(T a, T b) {
    if (b == 0) return a;
    if constexpr (std::is_signed_v<T>)
      if (b == T(-1)) return 0;
    return T(a % b);
  }
};
struct Min {
  template <class T>
  static T f(T a, T b) {
    if constexpr (std::is_floating_point_v<T>)
      return std::fmin(a, b);
    else
      return a < b ? a : b;
  }
};
struct Max {
  template <class T>
  static T f(T a, T b) {
    if constexpr (std::is_floating_point_v<T>)
      return std::fmax(a, b);
    else
      return a > b ? a : b;
  }
};
struct And {
  template <class T>
  static T f(T a, T b) {
    return T(a & b);
  }
};
struct Or {
  template <class T>
  static T f(T a, T b) {
    return T(a | b);
  }
};
struct Xor {
  template <class T>
  static T f(T a, T b) {
    return T(a ^ b);
  }
};
struct Not {
  template <class T>
  static T f(T a) {
    return T(~a);
  }
};
struct Neg {
  template <class T>
  static T f(T a) {
    if constexpr (std::is_integral_v<T>)
      return T(Wrapping<T>(0) - Wrapping<T>(a));
    else
      return -a;
  }
};
struct Abs {
  template <class T>
  static T f(T a) {
    if constexpr (std::is_integral_v<T>)
      return a < 0 ? T(Wrapping<T>(0) - Wrapping<T>(a)) : a;
    else
      return std::fabs(a);
  }
};
struct Mov {
  template <class T>
  static T f(T a) {
    return a;
  }
};

// Comparisons; of NaN none but the unordered ones holds.
struct Unordered {
  template <class T>
  static bool f(T a, T b) {
    return a != a || b != b;
  }
};
struct Ordered {
  template <class T>
  static bool f(T a, T b) {
    return !Unordered::f(a, b);
  }
};
struct Equal {
  template <class T>
  static bool f(T a, T b) {
    return a == b;
  }
};
struct NotEqual {
  template <class T>
  static bool f(T a, T b) {
    return Ordered::f(a, b) && a != b;
  }
};
struct Less {
  template <class T>
  static bool f(T a, T b) {
    return a < b;
  }
};
struct LessOrEqual {
  template <class T>
  static bool f(T a, T b) {
    return a <= b;
  }
};
template <class C>
struct Swapped {
  template <class T>
  static bool f(T a, T b) {
    return C::f(b, a);
  }
};
template <class C>
struct OrUnordered {
  template <class T>
  static bool f(T a, T b) {
    return Unordered::f(a, b) || C::f(a, b);
  }
};

}  // namespace convscope::ptx
