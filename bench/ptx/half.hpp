// Conversions between f32 and f16, bf16 and TF32. A NaN becomes the canonical NaN of PTX.
#pragma once

#include <bit>

#include "bench/ptx/types.hpp"

namespace convscope::ptx {

float half_to_float(u16 bits);
u16 float_to_half(double value);    // rounds to nearest, ties to even
u16 float_to_bfloat(double value);  // likewise; the value must be exact in f32
// Rounds to nearest, ties away from zero, as cvt.rna does.
u32 float_to_tf32(float value);
// Rounds to nearest, ties to even, as TMA does with elements of type TFLOAT32; NaN stays NaN.
u32 float_to_nearest_tf32(float value);

inline float bfloat_to_float(u16 bits) {
  return std::bit_cast<float>(u32{bits} << 16);
}

}  // namespace convscope::ptx
