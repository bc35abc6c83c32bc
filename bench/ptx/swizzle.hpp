// The swizzles of shared memory that wgmma and TMA share.
#pragma once

#include "bench/ptx/types.hpp"

namespace convscope::ptx {

// CuTe's Swizzle<B,4,3>: the B bits from 7 on are added (xor) to those from 4 on. `mode` as in a descriptor
// of wgmma: 0 none, 1 is 128 bytes, 2 is 64, 3 is 32.
inline u32 swizzled(u32 address, u32 mode) {
  const u32 bits = mode == 0 ? 0 : 4 - mode;
  return address ^ ((address >> 7 & ((1u << bits) - 1)) << 4);
}

}  // namespace convscope::ptx
