// Adding in device memory, on a GPU or the emulator: to[i] += from[i], as many values each.
#pragma once

#include <span>

#include "bench/device/device.hpp"

namespace convscope {
namespace cuda {
void enqueue_add(std::span<const float> from, std::span<float> to, Queue& queue);
}
namespace emulated {
void enqueue_add(std::span<const float> from, std::span<float> to, Queue& queue);
}
}  // namespace convscope
