#include "bench/algorithm/device_epilogue.hpp"

namespace convscope {

void enqueue_epilogue(const ConvProblem& problem, const float* bias, float* output, DeviceKind kind,
                      Queue& queue) {
#if CONVSCOPE_HAS_CUDA
  if (kind == DeviceKind::cuda) return cuda::enqueue_epilogue(problem, bias, output, queue);
#else
  static_cast<void>(kind);
#endif
  emulated::enqueue_epilogue(problem, bias, output, queue);
}

}  // namespace convscope
