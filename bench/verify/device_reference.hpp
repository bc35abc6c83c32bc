// The definition (reference.hpp) on a GPU: sums in f64, one thread per output, so that every output of a
// large problem is compared and not a sample. The kernel is in device_reference.cu and runs on the emulator
// too. The algorithm `reference.cuda` is in reference_algorithm.hpp.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "bench/core/problem.hpp"
#include "bench/device/builds.hpp"
#include "bench/device/device.hpp"

namespace convscope {

// Tensors in device memory, f32 in the problem's layout; the one that the pass writes is not read. `values`
// gets the tensor that the pass writes, rounded to f32, `magnitudes`, when not null, the sums of the
// products' magnitudes.
struct ReferenceArgs {
  const float* input = nullptr;
  const float* filter = nullptr;
  const float* output = nullptr;
  float* values = nullptr;
  float* magnitudes = nullptr;
};

CONVSCOPE_IN_BOTH(void enqueue_reference(const ConvProblem& problem, const ReferenceArgs& args,
                                         Queue& queue);)

// On the queue of a GPU or of the emulator. Throws DeviceError.
void enqueue_reference(const ConvProblem& problem, const ReferenceArgs& args, Device& device, Queue& queue);

// What every output must be, at its memory offset.
struct ReferenceOutputs {
  std::vector<float> values, magnitudes;
};

// From the tensors on the host, by role, f32; the one that is written may be empty. Throws DeviceError, and
// std::bad_alloc where the device's memory does not hold them and the outputs twice.
ReferenceOutputs reference_outputs(const ConvProblem& problem,
                                   const std::array<std::vector<float>, 3>& tensors, Device& device);

}  // namespace convscope
