// StepRunner: a training step's tasks by chosen plans, in halves, since ranks sum their gradients in between:
// forward and backward, and the updates. On a CPU it notes when each task ran.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "bench/core/stopwatch.hpp"
#include "bench/parallel/schedule/schedule.hpp"
#include "bench/step/candidates.hpp"
#include "bench/step/training_step.hpp"

namespace convscope {

class StepRunner {
 public:
  // Each convolution by the first of its candidates. Throws as StepCandidates does.
  StepRunner(TrainingStep& step, const Registry& registry, Device& device, const CandidateOptions& options);

  // Forward and backward. Behind each of its tasks `after` is called, for what may begin there.
  void compute(const std::function<void(size_t task)>& after = {});
  void update();
  Queue& queue() { return *queue_; }

  // Notes as spans what runs from here on until take_spans(), on a CPU: the host does not see when a GPU's
  // tasks run.
  void record_spans();
  // Those of computation, then those of communication, each in order; seconds since record_spans().
  std::vector<Span> take_spans();
  // Runs `work`, a span called name() where spans are recorded. Work that communicates runs on one thread,
  // which is waited for before the next record_spans() or take_spans().
  template <typename Name, typename Work>
  void as_span(const Name& name, bool is_communication, double bytes, const Work& work) {
    if (!records_) return work();
    const double begin = seconds_since(begin_);
    work();
    (is_communication ? communication_ : computation_)
        .push_back({name(), is_communication, begin, seconds_since(begin_), bytes});
  }

 private:
  void run(bool updates, const std::function<void(size_t task)>& after);

  TrainingStep& step_;
  std::unique_ptr<Queue> queue_;
  StepCandidates candidates_;
  std::vector<Plan*> plans_;
  bool has_spans_, records_ = false;
  Clock::time_point begin_;
  std::vector<Span> computation_, communication_;
};

}  // namespace convscope
