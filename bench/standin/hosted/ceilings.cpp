// Ceilings of a stand-in that runs the emulator's kernels: made up, as all its times are.
#include "bench/device/cuda/cuda.hpp"

namespace convscope::cuda {

Ceilings measure_ceilings(Device&) {
  Ceilings ceilings;
  ceilings.device = DeviceKind::cuda;
  ceilings.fma_flops = 67e12;
  ceilings.fp16_flops = ceilings.bf16_flops = 990e12;
  ceilings.tf32_flops = 495e12;
  ceilings.copy_bytes = ceilings.read_bytes = 4e12;
  ceilings.cache_read_bytes = 8e12;
  return ceilings;
}

// There is no clock to bring up.
void burn_in(Device&, double) {}

}  // namespace convscope::cuda
