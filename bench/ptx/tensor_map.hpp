// Tensor maps as the interpreter reads them, and the swizzles of shared memory that TMA and wgmma share.
#pragma once

#include "bench/ptx/types.hpp"

namespace convscope::ptx {

inline constexpr u32 kTensorMapMagic = 0x7e450a17;

// The arguments of cuTensorMapEncodeTiled or cuTensorMapEncodeIm2col, packed into the 128 bytes that kernels
// receive: NVIDIA's own encoding is not documented.
struct TensorMap {
  u64 base = 0;
  u32 magic = 0;
  u8 type = 0, rank = 0, swizzle = 0;  // swizzle: 0 none, 1 32 bytes, 2 64, 3 128, as CUtensorMapSwizzle
  u8 nan_fill = 0, element_bytes = 0;
  u8 rounds_to_tf32 = 0;  // CU_TENSOR_MAP_DATA_TYPE_TFLOAT32: elements are rounded to TF32 by the copy
  u32 size_less_one[5] = {};
  u64 stride[4] = {};  // bytes, of dimensions 1 to 4
  u16 box[5] = {};     // box[0] is the channels of a pixel in im2col mode, which has no others
  u8 step[5] = {};
  u16 pixels = 0;                    // of a copy in im2col mode; 0: a map for tile mode
  s16 lower[3] = {}, upper[3] = {};  // corners of im2col mode's box, of dimensions 1 to rank - 2
};
static_assert(sizeof(TensorMap) <= 128);

// Bits of a corner (signed) and of an offset of im2col mode.
constexpr u32 im2col_bits(u32 rank) {
  return 16 / (rank - 2);
}

// CuTe's Swizzle<B,4,3>: the B bits from bit 7 on are added (xor) to those from bit 4 on. `mode` as in a
// descriptor of wgmma: 0 none, 1 is 128 bytes, 2 is 64, 3 is 32.
inline u32 swizzled(u32 address, u32 mode) {
  const u32 bits = mode == 0 ? 0 : 4 - mode;
  return address ^ ((address >> 7 & ((1u << bits) - 1)) << 4);
}

}  // namespace convscope::ptx
