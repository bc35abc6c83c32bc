// The loops behind the ceilings, vectorised for the machine at hand. Timing them is in ceilings.cpp.
#pragma once

#include <cstdint>

namespace convscope {

// `rounds` times 12 independent chains of one vector multiply-add each. Returns a value that depends on all
// of it.
float multiply_add_chains(int64_t rounds);
// FP32 operations of one round, 2 a multiply-add.
int64_t operations_per_round();

// Reads all of `values`; the sum is returned so that it is done. `count` is a multiple of 1024.
float read_all(const float* values, int64_t count);

// Keeps a result alive without a data race on a common place.
inline void keep(float value) {
  asm volatile("" : : "r"(value));
}

}  // namespace convscope
