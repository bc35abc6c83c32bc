// Counts heap allocations of the code linked into the contract test: operator new everywhere, and malloc and
// its relatives where our own objects call them. What a library does with malloc inside its own .so is not
// seen.
#pragma once

#include <cstdint>

namespace convscope {

// Allocations so far, of all threads.
int64_t allocation_count();

}  // namespace convscope
