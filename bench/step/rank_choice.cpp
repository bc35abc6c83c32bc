#include "bench/step/rank_choice.hpp"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "bench/parallel/fabric/while_others_wait.hpp"

namespace convscope {
namespace {

// The index in options.algorithms of what rank 0 takes for each convolution.
std::vector<float> choice_of_rank_0(TrainingStep& step, const Registry& registry, Device& device,
                                    Fabric& fabric, const CandidateOptions& options) {
  std::vector<float> choice(step.tasks().size(), 0);
  while_others_wait(fabric, [&](const auto& begin_part) {
    const auto queue = device.make_queue();
    const StepCandidates candidates(step, registry, device, *queue,
                                    with_signs(with_one(options), begin_part));
    for (size_t task : convolutions(step)) {
      const auto found = std::ranges::find(options.algorithms, candidates[task].all.front().id);
      choice[task] = static_cast<float>(found - options.algorithms.begin());
    }
  });
  const std::vector<float> all = gathered(fabric, choice);
  return {all.begin(), all.begin() + static_cast<std::ptrdiff_t>(choice.size())};
}

}  // namespace

CandidateOptions with_one(CandidateOptions options) {
  options.most = 1;
  options.timed_when_checked = options.choose ? 1 : 3;
  return options;
}

CandidateOptions choose_as_rank_0(TrainingStep& step, const Registry& registry, Device& device,
                                  Fabric& fabric, const CandidateOptions& options) {
  const std::vector<float> choice = choice_of_rank_0(step, registry, device, fabric, options);
  CandidateOptions same = options;
  same.choose = [&step, choice, ids = options.algorithms](
                    const ConvProblem& problem, const TaskCandidates& found) -> std::optional<size_t> {
    for (size_t task : convolutions(step))
      if (step.tasks()[task].problem == problem)
        for (size_t i = 0; i < found.all.size(); ++i)
          if (found.all[i].id == ids[static_cast<size_t>(choice[task])]) return i;
    return std::nullopt;
  };
  return same;
}

}  // namespace convscope
