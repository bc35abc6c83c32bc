// The device's clock in nanoseconds, which all its multiprocessors share.
#pragma once

namespace convscope::cuda {

__device__ inline unsigned long long nanoseconds() {
  unsigned long long now;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  return now;
}

}  // namespace convscope::cuda
