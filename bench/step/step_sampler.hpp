// StepSampler: what differs between devices when a step or one of its tasks is timed: how a sample is seen to
// be disturbed, how caches are emptied, and where the clock is read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "bench/device/device.hpp"
#include "bench/measure/health.hpp"

namespace convscope {

class StepSampler {
 public:
  virtual ~StepSampler() = default;

  // What `sample` returns, seconds of tasks, taken again once where it was disturbed. `prepare` comes before
  // each and is not in it.
  virtual std::vector<double> take(const std::function<void()>& prepare,
                                   const std::function<std::vector<double>()>& sample) = 0;
  // Takes these tensors out of the caches, and on a GPU all else; enqueued as a task is.
  virtual void evict(std::span<const std::span<const std::byte>> memory, Queue& queue) = 0;
  // The device's clock; null where it cannot be read.
  virtual std::optional<double> clock_mhz() = 0;
  // Whether a clock that is read after a task was enqueued is the clock right after it.
  virtual bool has_clock_between_tasks() const = 0;
  // Samples that were disturbed twice and kept.
  virtual int64_t disturbed() const = 0;
};

// On the CPU samples wait for cores of their own, `seconds` at most all together; `known_cores` is the best
// that is known of them. On a GPU they begin with a burn-in. The device outlives it.
std::unique_ptr<StepSampler> make_step_sampler(Device& device, const CoreReading& known_cores,
                                               double seconds);

}  // namespace convscope
