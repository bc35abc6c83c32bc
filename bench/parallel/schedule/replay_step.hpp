// A training step whose communication is real and whose compute is slept, for the time that kept records say.
// So what a network does to a step can be measured on ranks that have no GPU. Start at replay_steps(), which
// every rank of a fabric calls with the same rows.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bench/parallel/fabric/fabric.hpp"
#include "bench/parallel/schedule/step_row.hpp"

namespace convscope {

// The network of rows that are replayed: what it costs is not known before. Its rows have all else that
// modelled_step() finds out: compute, bytes, and why they are refused.
class ReplayedNetwork final : public NetworkModel {
 public:
  // The library that the ranks are connected by, as rows name it.
  ReplayedNetwork(std::string fabric, std::string version)
      : fabric_(std::move(fabric)), version_(std::move(version)) {}

  Fleet fleet(const Ranks& ranks) override { return {ranks, Basis::replayed, fabric_, version_, {}}; }
  Cost all_reduce(Reduction reduction, double bytes, const Ranks& ranks) override {
    return {0, busiest_bytes(reduction, bytes, ranks)};
  }

 private:
  std::string fabric_, version_;
};

// A reduction of a step: how long after its begin the gradients are ready, FP32 values that are summed, and
// seconds of coding, which are slept too.
struct ReplayedReduction {
  double ready = 0;
  size_t values = 0;
  double codec_seconds = 0;
};
// Those of a row that is not refused, in order.
std::vector<ReplayedReduction> replayed_reductions(const StepCase& of, std::span<const StepLayer> layers,
                                                   const Scope& scope);

// Fills in the times of rows of a ReplayedNetwork from their reductions: the step and its communication
// alone, the medians of rounds in which each row has its turn, until `seconds` have passed on rank 0. A
// sample is the time of the slowest rank from a barrier on. There is one queue: a reduction begins when its
// gradients are ready and the one before is done. Compute and communication do not slow each other down, as a
// rank that sleeps needs no core. The schedule's spans are where this rank's were in the round whose step is
// the nearest to the median. Before, all reductions are run with whole numbers; where a sum is not exact the
// row is `wrong` and has no time. Throws std::runtime_error where a rank is lost.
void replay_steps(Fabric& fabric, double seconds, std::span<const std::vector<ReplayedReduction>> reductions,
                  std::span<StepRow> rows);

}  // namespace convscope
