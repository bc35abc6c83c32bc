// Whether the ranks of a step on CPUs have memory for it together: those of one machine share what it has,
// and each finds all of it free before any has run.
#pragma once

#include <optional>

#include "bench/parallel/fabric/fabric.hpp"
#include "bench/parallel/reductions/reductions.hpp"
#include "bench/step/training_step.hpp"

namespace convscope {

// `out_of_memory`, with the first machine on which the steps of its ranks, and `whole` beside that of the
// rank that has one, take more than three quarters of the memory; the rest is for workspaces. Nothing where
// all have room, or each rank has a device of its own. The same on every rank.
std::optional<Refusal> lacks_memory(const TrainingStep& step, const TrainingStep* whole, Device& device,
                                    Fabric& fabric);

}  // namespace convscope
