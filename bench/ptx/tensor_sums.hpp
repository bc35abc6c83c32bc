// The arithmetic of tensor cores: elements as floats, and sums of products.
#pragma once

#include <bit>

#include "bench/ptx/half.hpp"

namespace convscope::ptx {

enum Element : u8 { kTf32, kF16, kBf16 };

// Element n of a register, which holds one of TF32, of which tensor cores read the upper 19 bits, rounded or
// not, or two of 16 bits, the lower one first.
inline float element_in(u32 bits, int n, Element type) {
  if (type == kTf32) return std::bit_cast<float>(bits & 0xffffe000u);
  const u16 v = static_cast<u16>(n ? bits >> 16 : bits);
  return type == kBf16 ? bfloat_to_float(v) : half_to_float(v);
}

// c + the sum of a[k] * b[k * stride], k from 0 to n: summed in double and rounded once.
float exact_sum(float c, const float* a, const float* b, int n, int stride);

// The same sum as tensor cores compute it: `step` products (4 of TF32, 8 of 16 bits) and the sum so far are
// shifted to the largest exponent among them, bits further than two below a float's last bit are dropped, and
// the sum is truncated to a float. After measurements of Fasi, Higham, Mikaitis and Pranesh, "Numerical
// behavior of NVIDIA tensor cores" (PeerJ CS, 2021).
float truncated_sum(float c, const float* a, const float* b, int n, int stride, int step);

inline int products_at_once(Element element) {
  return element == kTf32 ? 4 : 8;
}

}  // namespace convscope::ptx
