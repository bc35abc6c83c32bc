// The 64 bits by which wgmma finds an operand in shared memory: PTX ISA, "Matrix descriptor format". The same
// for the GPU and the emulator.
#pragma once

#include <cstdint>

namespace convscope {

// An operand with 128-byte swizzle whose groups of 8 lines are 1024 bytes apart. `address` is a multiple of
// 1024, below 256 KB; `leading` bytes, a multiple of 16, are between 64 rows of the matrix and the next where
// they are MN-major, else 16 by convention.
constexpr uint64_t wgmma_descriptor_bits(uint32_t address, int leading) {
  constexpr uint64_t lines_apart = uint64_t{1024 >> 4} << 32, swizzle_128 = uint64_t{1} << 62;
  return (address >> 4 & 0x3fff) | static_cast<uint64_t>(leading >> 4) << 16 | lines_apart | swizzle_128;
}

// A step of k: so much is added to a descriptor.
constexpr uint64_t wgmma_descriptor_step(int bytes) {
  return static_cast<uint64_t>(bytes >> 4);
}

// What CuTe makes of the same tiles (cute/arch/mma_sm90_desc.hpp, cute/atom/mma_traits_sm90_gmma.hpp).
static_assert(wgmma_descriptor_bits(0, 16) == 0x4000004000010000);    // K-major
static_assert(wgmma_descriptor_bits(0, 8192) == 0x4000004002000000);  // MN-major
static_assert(wgmma_descriptor_bits(0xc400, 16) == 0x4000004000010c40);
static_assert(wgmma_descriptor_step(32) == 2);          // K-major: 32 bytes of a line
static_assert(wgmma_descriptor_step(16 * 128) == 128);  // MN-major: 16 lines

}  // namespace convscope
