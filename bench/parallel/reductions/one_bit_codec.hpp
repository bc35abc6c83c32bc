// OneBitCodec: the codec of one_bit.hpp in the memory of a device of any kind, so that a reduction of codes
// is written once. On a CPU a call returns when it is done, by one thread; on a GPU and the emulator it is
// enqueued, and its memory may be used by what is enqueued behind it.
#pragma once

#include <cstdint>
#include <span>

#include "bench/device/device.hpp"
#include "bench/parallel/reductions/one_bit.hpp"

namespace convscope {

class OneBitCodec {
 public:
  OneBitCodec(DeviceKind kind, Queue& queue) : kind_(kind), queue_(queue) {}

  void encode(const Columns& columns, std::span<const float> gradient, std::span<float> error,
              std::span<uint32_t> encoded);
  void decode(const Columns& columns, std::span<const uint32_t> encoded, std::span<float> values,
              bool adds = false);

  Queue& queue() { return queue_; }

 private:
  const DeviceKind kind_;
  Queue& queue_;
};

}  // namespace convscope
