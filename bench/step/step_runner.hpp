// StepRunner: a training step's tasks by chosen plans, in halves, since ranks sum their gradients in between:
// forward and backward, and the updates. On a CPU it notes when each task ran.
#pragma once

#include <functional>
#include <memory>
#include <string>
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

  // From here on spans are counted, from 0; those before are forgotten. The time that a span of a GPU's tasks
  // would have is that of enqueueing them: there are none.
  void begin_spans();
  // Runs `work` as a span; of communication on the thread that communicates, which is waited for before
  // spans() is asked. Those of communication come last.
  template <typename Work>
  void as_span(const std::string& name, bool is_communication, double bytes, const Work& work) {
    const double begin = seconds_since(begin_);
    work();
    if (has_spans_)
      (is_communication ? communication_ : computation_)
          .push_back({name, is_communication, begin, seconds_since(begin_), bytes});
  }
  std::vector<Span> spans() const;

 private:
  void run(bool updates, const std::function<void(size_t task)>& after);

  TrainingStep& step_;
  std::unique_ptr<Queue> queue_;
  StepCandidates candidates_;
  std::vector<Plan*> plans_;
  bool has_spans_;
  Clock::time_point begin_ = Clock::now();
  std::vector<Span> computation_, communication_;
};

}  // namespace convscope
