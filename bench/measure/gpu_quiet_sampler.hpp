// Whether a GPU is slower than usual before a sample, and GpuQuietSampler, which takes a sample again whose
// GPU was or whose work was not held back, for measurements that are not those of the sampler of run
// (sampler.hpp). What QuietSampler is on the CPU.
#pragma once

#include <cstdint>

#include "bench/measure/ceilings.hpp"
#include "bench/measure/watches.hpp"

namespace convscope {

class GpuWatch {
 public:
  // Keeps the device busy for so long first, so that a sample that follows at once has the clock of later
  // ones. All readings together wait for about `patience_seconds` at most for other programs to end. The
  // device outlives it.
  GpuWatch(Device& device, double burn_in_seconds, double patience_seconds)
      : watch_([&device] { return device.state(); }, patience_seconds) {
    if (burn_in_seconds > 0) burn_in(device, burn_in_seconds);
    // Enough readings that the first sample can be judged by them.
    for (int reading = 0; reading < 15; ++reading) is_slowed();
  }

  // Now: its clock is low or held down, or other programs use it.
  bool is_slowed() { return is_slowed(watch_.wait()); }
  // In that state, which is the reading for a sample.
  bool is_slowed(const DeviceState& state) {
    const bool is_slow = state.clock_mhz && clocks_.is_throttled(*state.clock_mhz);
    if (state.clock_mhz) clocks_.add(*state.clock_mhz);
    return is_slow || state.is_held_down || is_used_by_others(state);
  }

 private:
  DeviceWatch watch_;
  ClockWatch clocks_;
};

class GpuQuietSampler {
 public:
  GpuQuietSampler(Device& device, double burn_in_seconds)
      : watch_(device, burn_in_seconds, kPatienceSeconds) {}

  // What `sample` returns, taken again where the GPU was slowed before it or `is_whole` denies it; of a
  // second such one that.
  template <typename Sample, typename IsWhole>
  auto take(Sample sample, IsWhole is_whole) {
    for (int tries = 0;; ++tries) {
      const bool was_slowed = watch_.is_slowed();
      auto taken = sample();
      const bool is_disturbed = was_slowed || !is_whole(taken);
      if (is_disturbed && tries == 0) continue;
      disturbed_ += is_disturbed;
      return taken;
    }
  }

  // Samples that were disturbed twice and kept.
  int64_t disturbed() const { return disturbed_; }

 private:
  static constexpr double kPatienceSeconds = 5;

  GpuWatch watch_;
  int64_t disturbed_ = 0;
};

}  // namespace convscope
