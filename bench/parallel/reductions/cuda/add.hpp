// Sums in device memory, on a GPU or the emulator: to[i] += from[i], as many values each; and what makes a
// mean of a sum, values[i] *= factor.
#pragma once

#include <span>

#include "bench/device/builds.hpp"
#include "bench/device/device.hpp"

namespace convscope {
CONVSCOPE_IN_BOTH(void enqueue_add(std::span<const float> from, std::span<float> to, Queue& queue);
                  void enqueue_scale(std::span<float> values, float factor, Queue& queue);)
}  // namespace convscope
