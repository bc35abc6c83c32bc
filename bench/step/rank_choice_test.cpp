#include "bench/step/rank_choice.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "bench/core/stopwatch.hpp"
#include "bench/step/test_steps.hpp"

namespace convscope {
namespace {

// The definition; the run of a plan with that number, counted from 0, takes as long.
class SlowRuns final : public Algorithm {
 public:
  SlowRuns(const std::string& id, std::function<double(int run)> seconds)
      : exact_(id), seconds_(std::move(seconds)) {}
  const AlgorithmInfo& info() const override { return exact_.info(); }
  Support takes(const ConvProblem& problem, const DeviceInfo& device) const override {
    return exact_.takes(problem, device);
  }
  std::unique_ptr<Plan> plan(const ConvProblem& problem, Device& device,
                             const PlanOptions& options) const override {
    struct Slow final : Plan {
      Slow(std::unique_ptr<Plan> plan, std::function<double(int)> seconds)
          : plan_(std::move(plan)), seconds_(std::move(seconds)) {}
      int64_t workspace_bytes() const override { return plan_->workspace_bytes(); }
      std::string implementation() const override { return plan_->implementation(); }
      void run(const ConvArgs& args, Queue& queue) override {
        const auto begin = Clock::now();
        plan_->run(args, queue);
        while (seconds_since(begin) < seconds_(runs_)) {
        }
        ++runs_;
      }
      std::unique_ptr<Plan> plan_;
      std::function<double(int)> seconds_;
      int runs_ = 0;
    };
    return std::make_unique<Slow>(exact_.plan(problem, device, options), seconds_);
  }

 private:
  testing::ScaledReference exact_;
  std::function<double(int)> seconds_;
};

TEST(WithOne, ChoosesByTheShortestOfThreeRuns) {
  Registry registry;
  registry.add(std::make_unique<SlowRuns>("steady.cpu", [](int) { return 20e-3; }));
  // Run 0 is checked, and run 1 the first that is timed.
  registry.add(std::make_unique<SlowRuns>("late.cpu", [](int run) { return run == 1 ? 80e-3 : 0; }));
  CpuDevice device;
  TrainingStep step(network_of(testing::small_suite(), 2), device, 1);
  const auto queue = device.make_queue();
  CandidateOptions options;
  options.algorithms = {"steady.cpu", "late.cpu"};
  const StepCandidates chosen(step, registry, device, *queue, with_one(options));
  for (size_t task : convolutions(step)) {
    ASSERT_EQ(chosen[task].all.size(), 1u);
    EXPECT_EQ(chosen[task].all.front().id, "late.cpu");
  }
}

}  // namespace
}  // namespace convscope
