// Which stages of a step on ranks are told of, and when.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <vector>

#include "bench/device/forwarding_device_test.hpp"
#include "bench/parallel/allreduce/threads_communicator_test.hpp"
#include "bench/parallel/fabric/threads_fabric.hpp"
#include "bench/step/ranked_step_test.hpp"

namespace convscope {
namespace {

// The definition, which counts its plans at one batch.
class CountsPlans final : public Algorithm {
 public:
  CountsPlans(int64_t batch, std::atomic<int>& plans) : batch_(batch), plans_(plans), exact_("exact.cpu") {}
  const AlgorithmInfo& info() const override { return exact_.info(); }
  Support takes(const ConvProblem& problem, const DeviceInfo& device) const override {
    return exact_.takes(problem, device);
  }
  std::unique_ptr<Plan> plan(const ConvProblem& problem, Device& device,
                             const PlanOptions& options) const override {
    if (problem.batch == batch_) ++plans_;
    return exact_.plan(problem, device, options);
  }

 private:
  int64_t batch_;
  std::atomic<int>& plans_;
  testing::ScaledReference exact_;
};

// What ranks may wait for from then on is a sum, for which they have seconds.
TEST(RankedStep, SaysThatSumsBeginWhenRankZeroHasPlannedWhatItRunsAlone) {
  constexpr int64_t whole_batch = 4;
  std::atomic<int> plans = 0;
  std::vector<std::atomic<int>> plans_before(2);
  run_ranks(2, [&](Fabric& fabric) {
    CpuDevice device;
    Registry registry;
    registry.add(std::make_unique<CountsPlans>(whole_batch, plans));
    TrainingStep step(network_of(testing::small_suite(), 2), device, 1, 2 * fabric.rank());
    std::optional<TrainingStep> whole;
    if (fabric.rank() == 0) whole.emplace(network_of(testing::small_suite(), whole_batch), device, 1);
    std::vector<StepRow> rows{row_of(Reduction::ring, 2)};
    MeasureStepOptions options = short_options();
    options.algorithms = {"exact.cpu"};
    options.progress = [&](const std::string& stage) {
      if (stage == kSummingGradients) plans_before[static_cast<size_t>(fabric.rank())] = plans.load();
    };
    const auto sums = sums_on_cpus(fabric, device, options.plan.threads);
    measure_ranked_step(step, registry, device, fabric, *sums, options, rows, whole ? &*whole : nullptr, {});
  });
  for (const auto& before : plans_before) {
    EXPECT_EQ(before, plans);
    EXPECT_GE(before, 5) << "of two layers, the first without backward-data";
  }
}

TEST(RankedStep, EndsWhenRankZeroSaysWhateverTheOthersWereGiven) {
  run_ranks(2, [&](Fabric& fabric) {
    CpuDevice device;
    const Registry registry = testing::step_registry();
    TrainingStep step(network_of(testing::small_suite(), 2), device, 1, 2 * fabric.rank());
    std::vector<StepRow> rows{row_of(Reduction::ring, 2)};
    MeasureStepOptions options = short_options();
    if (fabric.rank() == 1) options.seconds = 1e9;
    const auto sums = sums_on_cpus(fabric, device, options.plan.threads);
    measure_ranked_step(step, registry, device, fabric, *sums, options, rows);
    EXPECT_EQ(*rows[0].samples, kMinRounds);
  });
}

// A machine of which so much memory can be used.
class SmallMachine final : public testing::ForwardingDevice {
 public:
  SmallMachine(Device& device, int64_t usable) : ForwardingDevice(device), usable_(usable) {}
  int64_t usable_bytes() override { return usable_; }

 private:
  int64_t usable_;
};

TEST(RankedStep, IsRefusedWhereTheRanksOfOneMachineHaveNoRoomTogether) {
  run_ranks(2, [](Fabric& fabric) {
    CpuDevice cpu;
    const Registry registry = testing::step_registry();
    const StepNetwork network = network_of(testing::small_suite(), 2);
    const int64_t share = TrainingStep::bytes_needed(network, cpu);
    for (const int64_t shares : {2, 4, 6}) {  // with room for the tensors of 1.5, 3 and 4.5
      SmallMachine machine(cpu, shares * share);
      TrainingStep step(network, machine, 1, 2 * fabric.rank());
      EXPECT_EQ(step.bytes(), share);
      std::optional<TrainingStep> whole;
      if (fabric.rank() == 0) whole.emplace(network_of(testing::small_suite(), 4), machine, 1);
      std::vector<StepRow> rows{row_of(Reduction::ring, 2)};
      const auto sums = sums_on_cpus(fabric, machine, short_options().plan.threads);
      measure_ranked_step(step, registry, machine, fabric, *sums, short_options(), rows,
                          whole ? &*whole : nullptr);
      EXPECT_EQ(rows[0].reason, shares == 2 ? "out_of_memory" : "");
      EXPECT_EQ(rows[0].alone_seconds.has_value(), shares == 6);
      EXPECT_THAT(rows[0].note, ::testing::HasSubstr(shares == 2   ? "the steps of 2 ranks on "
                                                     : shares == 4 ? "no speed-up: with the one "
                                                                   : ""));
    }
  });
}

// Sums whose samples are never disturbed, or those of the sum alone always.
class ScriptedSums final : public RankSums {
 public:
  ScriptedSums(std::unique_ptr<RankSums> sums, bool repeats) : sums_(std::move(sums)), repeats_(repeats) {}
  Fabric& fabric() override { return sums_->fabric(); }
  Queue& queue() override { return sums_->queue(); }
  std::unique_ptr<GradientSum> make(const StepCase& of, const TrainingStep& step) override {
    return sums_->make(of, step);
  }
  void begin_after(Queue& compute, std::function<void()> sum) override {
    sums_->begin_after(compute, std::move(sum));
  }
  void finish() override { sums_->finish(); }
  double slowest(const std::function<void()>& work, int64_t&) override {
    work();
    if (calls_++ % 4 == 2 && repeats_) work();  // the third of step, compute, sum and update
    return 1;
  }

 private:
  std::unique_ptr<RankSums> sums_;
  bool repeats_;
  int calls_ = 0;
};

TEST(RankedStep, UpdatesByTheMeanGradientWhereASumIsTakenAgain) {
  const auto weights_on_2_ranks = [](bool repeats) {
    std::vector<float> weights;
    run_ranks(2, [&](Fabric& fabric) {
      CpuDevice device;
      const Registry registry = testing::step_registry();
      TrainingStep step(network_of(testing::small_suite(), 2), device, 1, 2 * fabric.rank());
      ScriptedSums sums(sums_on_cpus(fabric, device, short_options().plan.threads), repeats);
      std::vector<StepRow> rows{row_of(Reduction::ring, 2)};
      measure_ranked_step(step, registry, device, fabric, sums, short_options(), rows, nullptr, {});
      if (fabric.rank() == 0) weights = step.read_parameters();
    });
    return weights;
  };
  EXPECT_EQ(weights_on_2_ranks(true), weights_on_2_ranks(false));
}

}  // namespace
}  // namespace convscope
