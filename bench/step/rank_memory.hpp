// Whether the ranks of a step on CPUs have memory for it together: those of one container or machine share
// what it has, and each finds all of it free before any has run.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "bench/parallel/fabric/fabric.hpp"
#include "bench/parallel/fabric/job_watch.hpp"
#include "bench/parallel/reductions/reductions.hpp"
#include "bench/step/training_step.hpp"

namespace convscope {

// Why the steps of all ranks, of so many bytes each, have no room where rank `rank` is: they leave less than
// a quarter for workspaces of what its container may have, or of its machine's memory. "" where they have.
std::string memory_defect(std::span<const RankPlace> places, std::span<const int64_t> bytes, size_t rank,
                          int64_t of_container, int64_t of_machine);

// `out_of_memory`, with the first such defect of a rank, of their steps, and `whole` beside that of the rank
// that has one. Nothing where all have room, or each rank has a device of its own. The same on every rank.
std::optional<Refusal> lacks_memory(const TrainingStep& step, const TrainingStep* whole, Device& device,
                                    Fabric& fabric);

}  // namespace convscope
