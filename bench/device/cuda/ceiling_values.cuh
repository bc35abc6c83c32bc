// Operands of the ceilings' kernels. Multiplying zeros takes less power, and a GPU then clocks higher than it
// ever does at work: so they are scattered values, the same ones in every run, of magnitudes for which every
// sum stays finite.
#pragma once

#include <cstdint>
#include <type_traits>

#include "bench/device/kernel/kernel.hpp"

namespace convscope::cuda {

// 32 bits that look random (the finaliser of MurmurHash3, Appleby 2011, public domain).
__host__ __device__ constexpr uint32_t scattered_bits(uint32_t index) {
  index = (index ^ index >> 16) * 0x85ebca6bu;
  index = (index ^ index >> 13) * 0xc2b2ae35u;
  return index ^ index >> 16;
}

// One register of operands, each of either sign and of a magnitude in [0.5, 1): two values of a 16-bit type,
// one of FP32 or TF32 (whose lower 13 bits the tensor cores do not read).
template <typename Element>
__host__ __device__ constexpr uint32_t scattered_operands(uint32_t index) {
  const uint32_t bits = scattered_bits(index);
  if constexpr (std::is_same_v<Element, __half>) return (bits & 0x83ff83ffu) | 0x38003800u;
  if constexpr (std::is_same_v<Element, __nv_bfloat16>) return (bits & 0x807f807fu) | 0x3f003f00u;
  return (bits & 0x807fe000u) | 0x3f000000u;
}

// Signs and fractions differ, exponents do not.
static_assert(scattered_operands<float>(1) != scattered_operands<float>(2));
static_assert((scattered_operands<float>(1) & 0x7f800000u) == 0x3f000000u);
static_assert((scattered_operands<__half>(1) & 0x7c007c00u) == 0x38003800u);
static_assert((scattered_operands<__nv_bfloat16>(1) & 0x7f807f80u) == 0x3f003f00u);

// Of either sign, of a magnitude in [0.5, 1).
__device__ inline float scattered_value(uint32_t index) {
  return __uint_as_float((scattered_bits(index) & 0x807fffffu) | 0x3f000000u);
}

}  // namespace convscope::cuda
