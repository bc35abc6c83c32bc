// Numbers of 16 bits and TF32, from and to floats. Of a NaN the canonical one of PTX comes out.
#pragma once

#include <bit>

#include "bench/ptx/types.hpp"

namespace convscope::ptx {

float half_to_float(u16 bits);
u16 float_to_half(double value);    // to nearest, ties to even
u16 float_to_bfloat(double value);  // the same; the value is one of a float
// To the nearest TF32, ties away from zero, as cvt.rna does.
u32 float_to_tf32(float value);
// To the nearest, ties to even, as TMA rounds elements of the type TFLOAT32; NaN stays NaN.
u32 float_to_nearest_tf32(float value);

inline float bfloat_to_float(u16 bits) {
  return std::bit_cast<float>(u32{bits} << 16);
}

}  // namespace convscope::ptx
