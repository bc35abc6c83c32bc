// GpuQuietSampler: takes a sample on a GPU again whose clock was low or held down, or whose work was not held
// back, for measurements that are not those of the sampler of run (sampler.hpp). What QuietSampler is on the
// CPU.
#pragma once

#include <cstdint>

#include "bench/measure/ceilings.hpp"
#include "bench/measure/watches.hpp"

namespace convscope {

class GpuQuietSampler {
 public:
  // Keeps the device busy for so long first, so that the first sample has the clock of the others. The device
  // outlives it.
  GpuQuietSampler(Device& device, double burn_in_seconds) : device_(device) {
    burn_in(device, burn_in_seconds);
    // Enough readings that the first sample can be judged by them.
    for (int reading = 0; reading < 15; ++reading) is_throttled();
  }

  // What `sample` returns, taken again where the clock was low before it or `is_whole` denies it; of a second
  // such one that.
  template <typename Sample, typename IsWhole>
  auto take(Sample sample, IsWhole is_whole) {
    for (int tries = 0;; ++tries) {
      const bool was_throttled = is_throttled();
      auto taken = sample();
      const bool is_disturbed = was_throttled || !is_whole(taken);
      if (is_disturbed && tries == 0) continue;
      disturbed_ += is_disturbed;
      return taken;
    }
  }

  // Samples that were disturbed twice and kept.
  int64_t disturbed() const { return disturbed_; }

 private:
  bool is_throttled() {
    const DeviceState state = device_.state();
    if (!state.clock_mhz) return state.is_held_down;
    const bool is_slow = clocks_.is_throttled(*state.clock_mhz);
    clocks_.add(*state.clock_mhz);
    return is_slow || state.is_held_down;
  }

  Device& device_;
  ClockWatch clocks_;
  int64_t disturbed_ = 0;
};

}  // namespace convscope
