// GradientSum: how the ranks of a step sum their gradients, and what a rank keeps of its own for the next
// step where they are sent as 1-bit codes.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "bench/parallel/fabric/fabric.hpp"
#include "bench/parallel/schedule/step_row.hpp"
#include "bench/step/training_step.hpp"

namespace convscope {

// Neighbouring layers of a step: [begin, end).
struct LayerRange {
  size_t begin = 0, end = 0;
};
// Those that are summed together, in the order in which their gradients become ready: of the whole network,
// each layer, or buckets (schedule.hpp).
std::vector<LayerRange> summed_together(const TrainingStep& step, const Overlap& overlap);

class GradientSum {
 public:
  virtual ~GradientSum() = default;
  // Replaces the gradients of these layers by their sums over all ranks, the same bits on each. The fabric's
  // memory is that of the step's device; on a GPU the sum is enqueued.
  virtual void run(Fabric& fabric, TrainingStep& step, const LayerRange& layers) = 0;
  // What this rank has not passed on at these places of the gradients: the sums that it left are those of the
  // gradients less what all ranks keep, but for rounding. 0 where nothing is coded.
  virtual std::vector<float> kept(std::span<const size_t> places) const {
    return std::vector<float>(places.size());
  }
  // The squares of what this rank's own codes have not passed on, of all gradients; 0 where nothing is coded.
  virtual double own_kept_squares() const { return 0; }
  // Roundings of a value on its way, besides those of the sum.
  virtual double roundings() const { return 0; }
  // Sent by the busiest rank.
  virtual double busiest_bytes() const = 0;
};

// By the case's reduction, or coded by 1 bit a value with biases in FP32 where it compresses. Of a step on
// one rank of the case's, whose device has the queue on which sums run; coding counts there as the phase
// OneBitReduction::kCoding.
std::unique_ptr<GradientSum> gradient_sum(const StepCase& of, const TrainingStep& step, int rank,
                                          Device& device, Queue& queue);
// By a library's own all-reduce, of values in the memory of the step's gradients.
std::unique_ptr<GradientSum> gradient_sum_by(std::function<void(std::span<float>)> all_reduce);

}  // namespace convscope
