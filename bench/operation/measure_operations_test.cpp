#include "bench/operation/measure_operations.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>

#include "bench/algorithm/algorithm.hpp"
#include "bench/core/every_operation_test.hpp"
#include "bench/device/cpu/cpu_device.hpp"
#include "bench/device/device_error.hpp"
#include "bench/emulator/emulator_device.hpp"
#include "bench/operation/own_operations.hpp"
#include "bench/verify/operation_reference.hpp"

namespace convscope {
namespace {

using ::testing::HasSubstr;

// Whole vectors, tails, single pixels, planes that are not a multiple of anything.
const Activations kSmallShapes[] = {{2, 3, 5, 7}, {1, 8, 4, 4}, {3, 37, 3, 3}, {2, 6, 20, 17}};

std::vector<OperationProblem> problems() {
  std::vector<OperationProblem> all;
  for (const Activations& shape : kSmallShapes)
    for (const OperationProblem& problem : testing::every_operation(shape, {"3x2/2 pad 1"}))
      all.push_back(problem);
  return all;
}

const OperationProblem kRelu{OperationSort::relu, false, kSmallShapes[0], {}};

// Our operations, with something done to the tensors after each run, where the device is told so.
using Tamper = std::function<void(Device&, const OperationTensors&)>;
class Tampered final : public OperationAlgorithm {
 public:
  explicit Tampered(Tamper tamper) : tamper_(std::move(tamper)) {}
  std::string provider() const override { return "tampered"; }
  bool runs_on(DeviceKind) const override { return true; }
  std::unique_ptr<OperationPlan> plan(const OperationProblem& problem, Device& device) const override {
    return std::make_unique<TamperedPlan>(own_->plan(problem, device), tamper_, device);
  }

 private:
  struct TamperedPlan final : OperationPlan {
    TamperedPlan(std::unique_ptr<OperationPlan> plan, Tamper tamper, Device& device)
        : plan_(std::move(plan)), tamper_(std::move(tamper)), device_(device) {}
    int64_t kept_bytes() const override { return plan_->kept_bytes(); }
    void prepare(const OperationTensors& tensors, void* kept, Queue& queue) override {
      plan_->prepare(tensors, kept, queue);
    }
    void run(const OperationTensors& tensors, void* kept, Queue& queue) override {
      plan_->run(tensors, kept, queue);
      queue.synchronize();
      tamper_(device_, tensors);
    }
    std::unique_ptr<OperationPlan> plan_;
    Tamper tamper_;
    Device& device_;
  };
  std::unique_ptr<OperationAlgorithm> own_ = own_operations();
  Tamper tamper_;
};

class Refuser final : public OperationAlgorithm {
 public:
  std::string provider() const override { return "refuser"; }
  bool runs_on(DeviceKind kind) const override { return kind == DeviceKind::cpu; }
  std::optional<std::string> refusal(const OperationProblem&) const override { return "it never does"; }
  std::unique_ptr<OperationPlan> plan(const OperationProblem&, Device&) const override { return nullptr; }
};

std::vector<OperationRow> measured(const OperationProblem& problem,
                                   std::vector<const OperationAlgorithm*> providers, Device& device) {
  std::vector<OperationRow> rows;
  const std::vector<LayerOperations> layers{{"one", {problem}}};
  OperationOptions options;
  options.seconds = options.core_patience_seconds = 0;
  measure_operations({}, layers, providers, device, options, [&](std::span<const OperationRow> some) {
    rows.insert(rows.end(), some.begin(), some.end());
  });
  return rows;
}

std::string note_of(const OperationProblem& problem, Device& device, Tamper tamper) {
  const Tampered provider(std::move(tamper));
  const OperationRow row = measured(problem, {&provider}, device).front();
  EXPECT_EQ(row.outcome == OperationOutcome::wrong, !row.note.empty());
  EXPECT_EQ(row.time.n > 0, row.outcome == OperationOutcome::measured) << "what is wrong has no time";
  return row.note;
}

TEST(MeasureOperations, OursAreRightInEveryShapeAndDirection) {
  CpuDevice device;
  const auto own = own_operations();
  for (const OperationProblem& problem : problems()) {
    const OperationRow row = measured(problem, {own.get()}, device).front();
    EXPECT_EQ(row.outcome, OperationOutcome::measured) << to_text(problem) << ": " << row.note;
    EXPECT_LT(*row.relative_l2, 2e-6) << to_text(problem);
    EXPECT_EQ(row.time.n, kMinOperationSamples);
  }
}

void expect_catches(const OperationProblem& problem, Device& device) {
  const auto note_after = [&](Slot slot, int64_t element, float value) {
    return note_of(problem, device, [=](Device& on, const OperationTensors& tensors) {
      on.copy_to_device(tensors[slot] + element, &value, sizeof(value));
    });
  };
  const SlotUse first = problem.slots().front(), last = problem.slots().back();
  const Slot written =
      first.use == Use::read ? last.use == Use::read ? problem.slots()[1].slot : last.slot : first.slot;
  EXPECT_EQ(note_of(problem, device, [](Device&, const OperationTensors&) {}), "");
  EXPECT_THAT(note_after(written, 1, 500),
              HasSubstr("the relative L2 error of " + std::string(name(written))))
      << to_text(problem);
  EXPECT_THAT(note_after(written, 2, NAN), HasSubstr("element 2 of " + std::string(name(written))));
  EXPECT_THAT(note_after(written, problem.elements(written), 1), HasSubstr("writes outside"));
  for (const SlotUse& use : problem.slots())
    if (use.use == Use::read) {
      EXPECT_THAT(note_after(use.slot, 0, 500), HasSubstr("writes into " + std::string(name(use.slot))));
    }
}

TEST(MeasureOperations, CatchesAWrongElementAHoleAndWritesWhereNoneAreDue) {
  CpuDevice cpu;
  EmulatorDevice emulator;
  for (const OperationProblem& problem : problems())
    for (Device* device : {static_cast<Device*>(&cpu), static_cast<Device*>(&emulator)})
      expect_catches(problem, *device);
}

// Counts a mean's padding where it is not to be counted, and the other way round.
class Miscounting final : public OperationAlgorithm {
 public:
  std::string provider() const override { return "miscounting"; }
  bool runs_on(DeviceKind) const override { return true; }
  std::unique_ptr<OperationPlan> plan(const OperationProblem& problem, Device& device) const override {
    OperationProblem other = problem;
    other.pool.counts_padding = !other.pool.counts_padding;
    return own_->plan(other, device);
  }

 private:
  std::unique_ptr<OperationAlgorithm> own_ = own_operations();
};

TEST(MeasureOperations, CatchesAMeanWhoseDivisorIsWrongAtTheBorderAlone) {
  CpuDevice cpu;
  EmulatorDevice emulator;
  const Miscounting miscounting;
  // Of the last the border is two of 1600 columns.
  for (const Activations& shape : {Activations{2, 3, 5, 7}, {1, 2, 35, 35}, {1, 1, 3, 1600}})
    for (const char* text : {"mean 3x3/1 pad 0x1", "mean 3x3/1 pad 0x1 uncounted"})
      for (bool backward : {false, true})
        for (Device* device : {static_cast<Device*>(&cpu), static_cast<Device*>(&emulator)}) {
          const OperationProblem mean{OperationSort::mean, backward, shape, *operation_from_text(text)};
          const OperationRow row = measured(mean, {&miscounting}, *device).front();
          EXPECT_EQ(row.outcome, OperationOutcome::wrong) << to_text(mean);
          EXPECT_THAT(row.note, HasSubstr("the relative L2 error of")) << to_text(mean);
        }
}

TEST(MeasureOperations, SaysWhyAProviderHasNoTimeAndMeasuresTheOthers) {
  const auto own = own_operations();
  const Refuser refuser;
  CpuDevice device;
  const auto rows = measured(kRelu, {own.get(), &refuser}, device);
  EXPECT_EQ(rows[0].outcome, OperationOutcome::measured);
  EXPECT_EQ(rows[1].outcome, OperationOutcome::refused);
  EXPECT_EQ(rows[1].note, "it never does");
}

TEST(MeasureOperations, ARunThatFailsOrIsRefusedCostsItsOwnRowOnly) {
  const auto own = own_operations();
  const Tampered failing([](Device&, const OperationTensors&) { throw DeviceError("no room to launch"); });
  const Tampered refusing(
      [](Device&, const OperationTensors&) { throw Refused(Reason::library_refused, "not in this layout"); });
  const Tampered library([](Device&, const OperationTensors&) { throw std::runtime_error("dnnl_out_of"); });
  CpuDevice device;
  const auto rows = measured(kRelu, {&failing, &refusing, &library, own.get()}, device);
  EXPECT_EQ(rows[0].outcome, OperationOutcome::wrong);
  EXPECT_EQ(rows[0].note, "no room to launch");
  EXPECT_EQ(rows[1].outcome, OperationOutcome::refused);
  EXPECT_EQ(rows[1].note, "not in this layout");
  EXPECT_EQ(rows[2].outcome, OperationOutcome::wrong);
  EXPECT_EQ(rows[2].note, "dnnl_out_of");
  EXPECT_EQ(rows[3].outcome, OperationOutcome::measured);
}

TEST(MeasureOperations, ALostDeviceEndsThem) {
  const Tampered losing([](Device&, const OperationTensors&) { throw DeviceLost("an illegal address"); });
  CpuDevice device;
  EXPECT_THROW(measured(kRelu, {&losing}, device), DeviceLost);
}

TEST(MeasureOperations, ChecksOnTheEmulatorWithoutATimeAndAsksOnlyThoseWhoRunThere) {
  const auto own = own_operations();
  const Refuser refuser;
  EmulatorDevice device;
  const auto rows = measured(kRelu, {own.get(), &refuser}, device);
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].outcome, OperationOutcome::verified_only);
  EXPECT_EQ(rows[0].time.n, 0);
}

TEST(OperationData, HasNoTwoEqualMaximaInAWindow) {
  const BySlot<float> data = operation_data({OperationSort::pool, false, {2, 3, 40, 40}, {}}, 1);
  std::vector<float> plane(data[0].begin(), data[0].begin() + 1600);
  std::ranges::sort(plane);
  EXPECT_EQ(std::ranges::adjacent_find(plane), plane.end());
}

}  // namespace
}  // namespace convscope
