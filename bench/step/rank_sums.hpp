// RankSums: where and when the ranks of a step sum their gradients. On CPUs in host memory over the job's
// fabric, on a thread of its own where they overlap with the backward pass; on GPUs over a communicator, on
// a queue of its own.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "bench/device/communicator.hpp"
#include "bench/parallel/fabric/fabric.hpp"
#include "bench/step/gradient_sum.hpp"

namespace convscope {

// A GPU's end of a communicator, whose sums are the only ones on the queue.
struct GpuSums {
  Communicator& communicator;
  Queue& queue;
};

class RankSums {
 public:
  virtual ~RankSums() = default;

  // Connects the memory in which the step's gradients lie.
  virtual Fabric& fabric() = 0;
  // On which sums run. Nothing is held back in its timings: sums wait for other ranks.
  virtual Queue& queue() = 0;
  virtual std::unique_ptr<GradientSum> make(const StepCase& of, const TrainingStep& step) = 0;
  // `sum` runs after what `compute` was given so far, and overlaps with what it is given next.
  virtual void begin_after(Queue& compute, std::function<void()> sum) = 0;
  // Returns when all sums are done. Throws what one of them threw.
  virtual void finish() = 0;
  // The seconds of the slowest rank for this work, which ends with all queues waited for; empty on a rank
  // that has none. Where a rank that works was disturbed it is run again once, and `disturbed` counted up
  // where that was, too.
  virtual double slowest(const std::function<void()>& work, int64_t& disturbed) = 0;
};

// `fabric` connects the ranks' host memory; `compute_threads` are the step's. All outlive it.
std::unique_ptr<RankSums> sums_on_cpus(Fabric& fabric, Device& device, int compute_threads);
std::unique_ptr<RankSums> sums_on_gpus(Fabric& fabric, Device& device, const GpuSums& gpu);

}  // namespace convscope
