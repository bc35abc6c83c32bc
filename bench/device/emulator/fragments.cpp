// The arithmetic of mma.sync, on copies of the registers: apart, so that it is optimised in every build.
#include "bench/device/emulator/intrinsics.hpp"

namespace convscope::emulated::executor {

void multiply_fragments(const float* a, const float* b, int depth, float (&sums)[16][8]) {
  for (int row = 0; row < 16; ++row) {
    float line[8] = {};
    for (int k = 0; k < depth; ++k)
      for (int column = 0; column < 8; ++column) line[column] += a[row * depth + k] * b[k * 8 + column];
    for (int column = 0; column < 8; ++column) sums[row][column] = line[column];
  }
}

}  // namespace convscope::emulated::executor
