// Where an address of any state space lies.
#pragma once

#include "bench/ptx/machine.hpp"

namespace convscope::ptx {

// The host address of what lane l reads or writes at `address`, by the state space of the instruction or, of
// a generic address, by its window. Throws Fault for what it must not touch.
u8* place(Warp& w, const Instruction& i, int l, u64 address, u32 bytes, bool write);

}  // namespace convscope::ptx
