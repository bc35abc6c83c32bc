// How one sample of an operation is taken, with its tensors out of the caches: on the CPU they are flushed
// before each run; on a GPU run after run takes the next copy of them, as convolutions do, and as many runs
// as the clock needs make a sample.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "bench/operation/measure_operations.hpp"
#include "bench/operation/operation_copies.hpp"

namespace convscope {

// The plans of one problem that are timed, on the tensors that they share.
struct TimedPlans {
  // Throws std::bad_alloc. The data and the plans outlive it.
  TimedPlans(const BySlot<float>& data, std::span<OperationPlan* const> all, int64_t copies, Device& device);

  // Fresh tensors, and in each what the plan's forward would have kept.
  void prepare(const OperationProblem& problem, size_t plan, Queue& queue);

  std::vector<OperationPlan*> plans;
  OperationCopies tensors;
  std::vector<CopiedBuffer> kept;  // of each plan
};

class OperationSampler {
 public:
  virtual ~OperationSampler() = default;
  // The next problem; the data and the plans outlive its samples. Throws std::bad_alloc.
  virtual void begin(const OperationProblem& problem, const BySlot<float>& data,
                     std::span<OperationPlan* const> plans) = 0;
  // Seconds of one run of a plan of this problem. Throws DeviceError.
  virtual double take(size_t plan) = 0;
  // Samples that were disturbed twice and kept.
  virtual int64_t disturbed() const = 0;
};

// Null for a device whose time means nothing. All outlive it.
std::unique_ptr<OperationSampler> make_operation_sampler(Device& device, Queue& queue,
                                                         const OperationOptions& options);

}  // namespace convscope
