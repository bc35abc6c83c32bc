#include "bench/step/step_runner.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace convscope {

StepRunner::StepRunner(TrainingStep& step, const Registry& registry, Device& device,
                       const CandidateOptions& options)
    : step_(step),
      queue_(device.make_queue()),
      candidates_(step, registry, device, *queue_, options),
      plans_(candidates_.plans(std::vector<size_t>(step.tasks().size(), 0))),
      has_spans_(device.info().kind == DeviceKind::cpu) {}

void StepRunner::compute(const std::function<void(size_t task)>& after) {
  run(false, after);
}

void StepRunner::update() {
  run(true, {});
}

void StepRunner::run(bool updates, const std::function<void(size_t task)>& after) {
  for (size_t task = 0; task < plans_.size(); ++task) {
    if ((step_.tasks()[task].kind == TaskKind::update) != updates) continue;
    as_span([&] { return task_name(step_, task); }, false, 0,
            [&] { step_.run(task, plans_[task], candidates_.arena(), *queue_); });
    if (after) after(task);
  }
  queue_->synchronize();
}

void StepRunner::record_spans() {
  computation_.clear();
  communication_.clear();
  records_ = has_spans_;
  begin_ = Clock::now();
}

std::vector<Span> StepRunner::take_spans() {
  records_ = false;
  std::vector<Span> all = std::move(computation_);
  std::ranges::move(communication_, std::back_inserter(all));
  return all;
}

}  // namespace convscope
