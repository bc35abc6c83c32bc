// finish_output() of epilogue.hpp in device memory: the pass of its own that a separate epilogue is. The
// kernel is in device_epilogue.cu and runs on the emulator too.
#pragma once

#include "bench/core/problem.hpp"
#include "bench/device/builds.hpp"
#include "bench/device/device.hpp"

namespace convscope {

// Enqueues the epilogue of a whole output tensor of f32, in the problem's layout and in place, on a GPU or
// the emulator. `output` is aligned to 16 bytes; `bias` has a value for each output channel and is not read
// where the epilogue has none. The problem has an epilogue.
void enqueue_epilogue(const ConvProblem& problem, const float* bias, float* output, DeviceKind kind,
                      Queue& queue);

// The same on one of them.
CONVSCOPE_IN_BOTH(void enqueue_epilogue(const ConvProblem& problem, const float* bias, float* output,
                                        Queue& queue);)

}  // namespace convscope
