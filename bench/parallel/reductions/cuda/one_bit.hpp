// The codec of bench/parallel/reductions/one_bit.hpp in device memory, on a GPU or the emulator: what
// encode() and decode() do there is enqueued here. Spans have the same sizes; those of no columns enqueue
// nothing.
#pragma once

#include <cstdint>
#include <span>

#include "bench/device/builds.hpp"
#include "bench/device/device.hpp"
#include "bench/parallel/reductions/one_bit.hpp"

namespace convscope {
CONVSCOPE_IN_BOTH(void enqueue_encode(const Columns& columns, std::span<const float> gradient,
                                      std::span<float> error, std::span<uint32_t> encoded, Queue& queue);
                  // Replaces `values` by the levels, or adds them.
                  void enqueue_decode(const Columns& columns, std::span<const uint32_t> encoded,
                                      std::span<float> values, bool adds, Queue& queue);)
}  // namespace convscope
