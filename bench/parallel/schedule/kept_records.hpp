// The compute times of a training step from kept records: of each layer and pass the record that was measured
// at the batch that one GPU gets. Never a division of a larger batch's time: small batches are where
// algorithms change. Start at scopes_of() and step_work().
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bench/core/operation_problem.hpp"
#include "bench/parallel/schedule/kept_operations.hpp"
#include "bench/parallel/schedule/schedule.hpp"
#include "bench/ranking/contest.hpp"

namespace convscope {

// A layer of the network, in the order of the forward pass; batch and pass of `shape` are not used.
struct StepLayer {
  std::string name;
  ConvProblem shape;
  int64_t count = 1;  // copies in a row
  bool skips_backward_data = false;
  // What a step runs of each copy besides its convolution, at a batch of 1; none where that does not count.
  struct Operations {
    std::vector<OperationProblem> forward;
    std::vector<OperationProblem> backward;           // before its backward-filter
    std::vector<OperationProblem> backward_of_reads;  // behind its backward-data
    std::vector<OperationProblem> updates;
  };
  std::vector<Operations> operations = {};
};

// The contests of one device under the same circumstances, whatever their network, layer, batch and pass: a
// problem decides which layer it is.
struct Scope {
  std::map<ConvProblem, const Contest*> contests;
  // Of what stands between the convolutions; null where no rows of it are kept: it counts as nothing.
  std::optional<OperationTimes> operations;
  const Contest& any() const { return *contests.begin()->second; }
};
// In the order of the contests, which must outlive the result.
std::vector<Scope> scopes_of(std::span<const Contest> contests);

// Which record of a contest a step takes: the winner, or that of one algorithm, by its id or stem.
inline constexpr std::string_view kBest = "best";

struct StepWork {
  std::vector<LayerWork> layers;                // by medians
  std::vector<LayerWork> lowest, highest;       // the same by the ends of the medians' 95% intervals
  std::vector<std::string> missing;             // "conv2 backward_data", of which there is no record to take
  std::vector<std::string> missing_operations;  // of which there are no rows
  double operation_seconds = 0;                 // by medians
  bool suspect = false;                         // a record was throttled or disturbed
};
// Of one GPU that gets so many images. Gradients have 4 (C R S / groups + 1) bytes an output channel, the
// bias included; coded by 1 bit a value, the bias in FP32.
StepWork step_work(std::span<const StepLayer> layers, const Scope& scope, int64_t batch,
                   std::string_view choose);

}  // namespace convscope
