// What make_tensor_map() of hopper.hpp is told: the tensor in global memory and the box that one TMA load
// copies. Plain data, the same for the GPU and the emulator.
#pragma once

#include <cstdint>

namespace convscope {

// Copied bit by bit, but tf32: that is f32 in memory, rounded to tf32 in the copy, to nearest and ties to
// even; infinity and NaN stay what they are (seen on sm_120: Triton's pull request 11751).
enum class TmaElement { f32, tf32, f16, bf16 };
enum class TmaSwizzle { none, bytes_128 };

// Dimension 0 is the contiguous one. Base address and strides are multiples of 16 bytes. With 128-byte
// swizzle a line of the box (box[0] elements) is at most 128 bytes. A load's coordinate of dimension 0 is a
// multiple of 16 bytes too, or the load is an illegal instruction (seen on an H100). A step of s copies every
// s-th element of a dimension (1 to 8; 1 in dimension 0); box counts elements of the tensor before that, so
// that ceil(box / step) of them arrive.
struct TensorMapLayout {
  TmaElement element = TmaElement::f32;
  TmaSwizzle swizzle = TmaSwizzle::bytes_128;
  const void* base = nullptr;
  int rank = 2;                        // 2, 4 or 5
  uint64_t size[5] = {1, 1, 1, 1, 1};  // elements
  uint64_t stride_bytes[4] = {};       // of dimensions 1 to 4
  uint32_t box[5] = {1, 1, 1, 1, 1};   // elements, at most 256
  uint32_t step[5] = {1, 1, 1, 1, 1};
};

}  // namespace convscope
