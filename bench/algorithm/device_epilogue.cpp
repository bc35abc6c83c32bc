#include "bench/algorithm/device_epilogue.hpp"

namespace convscope {

void enqueue_epilogue(const ConvProblem& problem, const float* bias, float* output, DeviceKind kind,
                      Queue& queue) {
  CONVSCOPE_BUILDS(enqueue_epilogue).of(kind)(problem, bias, output, queue);
}

}  // namespace convscope
