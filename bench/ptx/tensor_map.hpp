// Tensor maps as the interpreter reads them: what cuTensorMapEncodeTiled was told, packed into the 128 bytes
// that kernels are given. NVIDIA's own encoding is not documented.
#pragma once

#include "bench/ptx/types.hpp"

namespace convscope::ptx {

inline constexpr u32 kTensorMapMagic = 0x7e450a17;

struct TensorMap {
  u64 base = 0;
  u32 magic = 0;
  u8 type = 0, rank = 0, swizzle = 0;  // swizzle: 0 none, 1 32 bytes, 2 64, 3 128, as CUtensorMapSwizzle
  u8 nan_fill = 0, element_bytes = 0;
  u8 rounds_to_tf32 = 0;  // CU_TENSOR_MAP_DATA_TYPE_TFLOAT32: elements are rounded to TF32 on their way
  u32 size_less_one[5] = {};
  u64 stride[4] = {};  // bytes, of dimensions 1 to 4
  u16 box[5] = {};
  u8 step[5] = {};
};
static_assert(sizeof(TensorMap) <= 128);

}  // namespace convscope::ptx
