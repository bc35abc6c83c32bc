// What make_tensor_map() and make_pixel_map() of hopper.hpp are told: the tensor in global memory and what
// one TMA load copies of it. Plain data, the same for the GPU and the emulator.
#pragma once

#include <cstdint>

namespace convscope {

// Copied bit by bit, but tf32: that is f32 in memory, rounded to tf32 in the copy, to nearest and ties to
// even; infinity and NaN stay what they are (seen on sm_120: Triton's pull request 11751).
enum class TmaElement { f32, tf32, f16, bf16 };
enum class TmaSwizzle { none, bytes_128 };

// Dimension 0 is the contiguous one. Base address and strides are multiples of 16 bytes. With 128-byte
// swizzle a line of the box (box[0] elements) is at most 128 bytes. A load's coordinate of dimension 0 is a
// multiple of 16 bytes too, or the load is an illegal instruction. Strides may be smaller than what they step
// over, 0 too: parts of the tensor then overlap. (Both seen on an H100.) A step of s copies every
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

// An NHWC tensor of which a load copies a run of pixels, for one tap of a filter: TMA's im2col mode. The
// pixels of an image that a run passes are those of its box, x from lower[0] to size[1] - 1 + upper[0] and y
// likewise, by steps that begin at the lower corner; a run goes along a row, on to the next row and to the
// next image. At each of them the tap's offset is added and the channels there are copied, zeros outside the
// tensor. A convolution with padding p and a filter of r taps with dilation d has the corners -p and
// p - (r - 1) d, its stride as step and multiples of d as offsets: the box's pixels are the output pixels.
//
// Base address and strides are multiples of 16 bytes; pixels may overlap. A pixel's channels are a line, a
// multiple of 16 bytes, and may be more than the tensor has. Lines lie one behind the other; with swizzle
// they are of at most 128 bytes, and each begins 128 bytes after the one before: what is between them keeps
// its value and is not counted at the barrier. Boxes are not empty. An H100 does all of this.
struct PixelMapLayout {
  TmaElement element = TmaElement::f32;
  TmaSwizzle swizzle = TmaSwizzle::bytes_128;
  const void* base = nullptr;
  uint64_t size[4] = {1, 1, 1, 1};  // channels, width, height, images
  uint64_t stride_bytes[3] = {};    // of a pixel, a row, an image
  uint32_t channels = 1;            // of a load, at most 256
  uint32_t pixels = 1;              // of a load, at most 1024
  int lower[2] = {};                // x, y: -128 to 127
  int upper[2] = {};
  uint32_t step[2] = {1, 1};  // x, y: 1 to 8
};

}  // namespace convscope
