// The same algorithms on all ranks of a step: rank 0 chooses for each convolution, and all take that, since
// times that each rank measured by itself would choose differently. Convolutions of one problem all take what
// was chosen for the first of them.
#pragma once

#include <string>

#include "bench/algorithm/registry.hpp"
#include "bench/device/device.hpp"
#include "bench/parallel/fabric/fabric.hpp"
#include "bench/step/candidates.hpp"
#include "bench/step/training_step.hpp"

namespace convscope {

// One candidate for each convolution. Where nobody chooses, nothing but its check tells which is the fastest:
// the shortest of three runs, so that what disturbs one does not choose.
CandidateOptions with_one(CandidateOptions options);

// The same, with `begin_part()` before each convolution is planned and each candidate is checked: the sign of
// while_others_wait(), which outlives them.
template <typename BeginPart>
CandidateOptions with_signs(CandidateOptions options, const BeginPart& begin_part) {
  options.progress = [&begin_part, told = options.progress](const std::string& stage) {
    begin_part();
    told(stage);
  };
  return options;
}

// Options by which StepCandidates finds rank 0's choice alone. All ranks call it with steps of the same
// network; rank 0 checks its candidates meanwhile. Throws as StepCandidates does.
CandidateOptions choose_as_rank_0(TrainingStep& step, const Registry& registry, Device& device,
                                  Fabric& fabric, const CandidateOptions& options);

}  // namespace convscope
