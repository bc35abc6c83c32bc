#include "bench/runner/run_group.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <new>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>

#include "bench/device/cpu/cpu_device.hpp"
#include "bench/device/device_error.hpp"
#include "bench/device/forwarding_device_test.hpp"
#include "bench/emulator/emulator_device.hpp"
#include "bench/runner/test_algorithms.hpp"
#include "bench/runner/test_runs.hpp"
#include "bench/verify/reference_algorithm.hpp"

namespace convscope {
namespace {

using testing::Behaviour;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;
using testing::TestAlgorithm;

class RunGroup : public ::testing::Test {
 protected:
  RunGroup() { device_.set_threads(1); }

  void add(const std::string& id, Behaviour behaviour = {}) {
    registry_.add(std::make_unique<TestAlgorithm>(id, std::move(behaviour)));
    task_.group.algorithms.push_back(id);
  }

  const ResultRecord& run_alone(Behaviour behaviour) {
    add("one", std::move(behaviour));
    run();
    return sink_.records.at("one");
  }

  void run() {
    run_group(task_, registry_, device_, ceilings_, sink_);
    EXPECT_THAT(sink_.records, SizeIs(task_.group.algorithms.size()));
  }

  Registry registry_;
  CpuDevice device_;
  Ceilings ceilings_;
  GroupTask task_ = testing::small_task(0.05);
  testing::CollectingSink sink_;
};

TEST_F(RunGroup, MeasuresARightCandidate) {
  ceilings_.fma_flops = 5e6;  // less than any reading, sanitized ones included
  const ResultRecord& record = run_alone({});
  EXPECT_EQ(record.outcome, Outcome::measured) << record.note;
  // Others who use the cores meanwhile may well disturb or throttle it.
  EXPECT_EQ(record.reason, record.health.disturbed   ? Reason::disturbed
                           : record.health.throttled ? Reason::throttled
                                                     : Reason::none);
  ASSERT_TRUE(record.time);
  EXPECT_GT(record.time->full.statistics.median, 0);
  EXPECT_EQ(record.implementation, "loops");
  EXPECT_EQ(record.ceilings.fma_flops, 5e6);
  EXPECT_EQ(record.key.network, "net");
  EXPECT_GT(record.operations.product_flops, 0);
  EXPECT_LT(record.accuracy.relative_l2.value_or(1), 1e-5);
  ASSERT_THAT(sink_.benchmarks, SizeIs(1));
  EXPECT_THAT(sink_.benchmarks[0].dump(), HasSubstr("one"));
}

TEST_F(RunGroup, DoesNotVerifyAgainWhatPassedInAProcessThatEndedSince) {
  task_.protocol.measure = false;
  Behaviour wrong;
  wrong.result = [](int, float value) { return value + 1; };
  ResultRecord earlier;
  earlier.key.algorithm = "one";
  earlier.implementation = "loops";
  earlier.accuracy.relative_l2 = 3e-7;
  task_.verified = {earlier};
  task_ = task_from_json(to_json(task_));
  const ResultRecord& record = run_alone(wrong);
  EXPECT_EQ(record.outcome, Outcome::verified_only);
  EXPECT_EQ(record.accuracy.relative_l2, 3e-7);
  EXPECT_THAT(sink_.passed, IsEmpty());
}

TEST_F(RunGroup, VerifiesAnotherPlanThanTheOneThatPassed) {
  task_.protocol.measure = false;
  ResultRecord earlier;
  earlier.key.algorithm = "one";
  earlier.implementation = "another plan";
  task_.verified = {earlier};
  run_alone({});
  EXPECT_THAT(sink_.passed, ElementsAre("one"));
}

TEST_F(RunGroup, SaysWhatItBeginsBeforeDoingIt) {
  run_alone({});
  for (Stage stage : kStages) EXPECT_THAT(sink_.begun, Contains(Pair("one", stage))) << name(stage);
  EXPECT_EQ(sink_.begun.front().second, Stage::plan);
  EXPECT_EQ(sink_.begun.back().second, Stage::verify_again);
}

TEST_F(RunGroup, TurnsARefusalIntoARow) {
  Behaviour refusing;
  refusing.support = Support::no(Reason::unsupported_stride, "stride 2x2: one stride only");
  const ResultRecord& record = run_alone(refusing);
  EXPECT_EQ(record.outcome, Outcome::unsupported);
  EXPECT_EQ(record.reason, Reason::unsupported_stride);
  EXPECT_EQ(record.note, "stride 2x2: one stride only");
  EXPECT_FALSE(record.time);
}

TEST_F(RunGroup, TurnsARefusalWhilePlanningIntoARow) {
  Behaviour refusing;
  refusing.in_plan = [] { throw Refused(Reason::library_refused, "CUDNN_STATUS_NOT_SUPPORTED"); };
  const ResultRecord& record = run_alone(refusing);
  EXPECT_EQ(record.outcome, Outcome::unsupported);
  EXPECT_EQ(record.reason, Reason::library_refused);
  EXPECT_EQ(record.note, "CUDNN_STATUS_NOT_SUPPORTED");
}

TEST_F(RunGroup, KeepsWhatALibrarySaidBeforeItRefused) {
  Behaviour refusing;
  refusing.in_plan = [] {
    LibraryAnswer answer;
    answer.asked = "engine 3";
    answer.offers.emplace_back().notes = {"TENSOR_CORE"};
    throw Refused(Reason::library_refused, "is strict FP32", answer);
  };
  const ResultRecord& record = run_alone(refusing);
  EXPECT_EQ(record.outcome, Outcome::unsupported);
  ASSERT_TRUE(record.answer);
  EXPECT_EQ(record.answer->asked, "engine 3");
  EXPECT_EQ(record.answer->offers.at(0).notes.at(0), "TENSOR_CORE");
  EXPECT_FALSE(record.answer->chosen);
}

TEST_F(RunGroup, KnowsARefusalForLackOfWorkspace) {
  Behaviour refusing;
  refusing.in_plan = [] { throw Refused(Reason::workspace_over_cap, "the least is 5 bytes"); };
  const ResultRecord& record = run_alone(refusing);
  EXPECT_EQ(record.outcome, Outcome::over_workspace);
  EXPECT_EQ(record.reason, Reason::workspace_over_cap);
}

TEST_F(RunGroup, RefusesAWorkspaceOverTheCap) {
  Behaviour large;
  large.workspace_bytes = (1 << 20) + 1;
  const ResultRecord& record = run_alone(large);
  EXPECT_EQ(record.outcome, Outcome::over_workspace);
  EXPECT_EQ(record.reason, Reason::workspace_over_cap);
  EXPECT_EQ(record.workspace_bytes, (1 << 20) + 1);
}

TEST_F(RunGroup, AllowsAWorkspaceOfExactlyTheCap) {
  Behaviour large;
  large.workspace_bytes = 1 << 20;
  EXPECT_EQ(run_alone(large).outcome, Outcome::measured);
}

TEST_F(RunGroup, ForeseesThatMemoryWillNotDo) {
  task_.group.common.workspace_cap = std::nullopt;
  Behaviour huge;
  huge.workspace_bytes = device_.info().memory_bytes;
  const ResultRecord& record = run_alone(huge);
  EXPECT_EQ(record.outcome, Outcome::out_of_memory);
  EXPECT_THAT(record.note, HasSubstr("the device has"));
}

TEST_F(RunGroup, ForeseesTheCopiesThatVerificationMakes) {
  task_.group.common.workspace_cap = std::nullopt;
  Behaviour huge;  // beside the tensors there would be room for it
  huge.workspace_bytes = device_.info().memory_bytes - task_.group.common.problem.total_bytes();
  EXPECT_EQ(run_alone(huge).outcome, Outcome::out_of_memory);
}

// The CPU, of which `usable` bytes of memory can be allocated, though memory_bytes says that there are more.
class NearlyFullDevice final : public testing::ForwardingDevice {
 public:
  NearlyFullDevice(Device& cpu, int64_t usable) : ForwardingDevice(cpu), info_(cpu.info()), usable_(usable) {
    info_.memory_bytes = 64 * usable;
  }

  const DeviceInfo& info() const override { return info_; }
  void* allocate(size_t bytes) override {
    if (static_cast<int64_t>(bytes) > usable_bytes()) throw std::bad_alloc();
    void* data = ForwardingDevice::allocate(bytes);
    held_[data] = static_cast<int64_t>(bytes);
    return data;
  }
  void release(void* data) noexcept override {
    held_.erase(data);
    ForwardingDevice::release(data);
  }
  int64_t usable_bytes() override {
    int64_t left = usable_;
    for (const auto& [data, bytes] : held_) left -= bytes;
    return left;
  }

 private:
  DeviceInfo info_;
  int64_t usable_;
  std::map<void*, int64_t> held_;
};

TEST_F(RunGroup, MeasuresInTurnWhatDoesNotFitSideBySideIntoTheMemoryThatIsLeft) {
  for (const auto& [usable, batches] : {std::pair{1 << 20, 2u}, std::pair{2 << 20, 1u}}) {
    SCOPED_TRACE(usable);
    NearlyFullDevice device(device_, usable);
    registry_ = {};
    task_.group.algorithms.clear();
    sink_ = testing::CollectingSink();
    for (const char* id : {"one", "two"}) {
      Behaviour large;
      large.workspace_bytes = 600 << 10;
      add(id, large);
    }
    run_group(task_, registry_, device, ceilings_, sink_);
    for (const char* id : {"one", "two"})
      EXPECT_EQ(sink_.records.at(id).outcome, Outcome::measured) << id << ": " << sink_.records.at(id).note;
    EXPECT_THAT(sink_.benchmarks, SizeIs(batches));
  }
}

TEST_F(RunGroup, NamesItsBenchmarksByAllThatASweepMayVary) {
  add("one");
  std::set<std::string> names;
  const auto count_names = [&] {
    sink_ = testing::CollectingSink();
    run();
    const nlohmann::ordered_json& report = sink_.benchmarks.at(0);
    for (const auto& entry : report.at("benchmarks")) names.insert(entry.at("name"));
    return names.size();
  };
  CaseKey& key = task_.group.common;
  EXPECT_EQ(count_names(), 1);
  EXPECT_THAT(*names.begin(),
              HasSubstr(" network=net layer=layer threads=1 cache=hot workspace_cap=1048576"));
  key.threads = 2;
  EXPECT_EQ(count_names(), 2);
  key.layer = "other";
  EXPECT_EQ(count_names(), 3);
  key.network = "other";
  EXPECT_EQ(count_names(), 4);
  key.workspace_cap.reset();
  EXPECT_EQ(count_names(), 5);
  key.cache = CacheState::weights_cold;
  EXPECT_EQ(count_names(), 6);
}

TEST_F(RunGroup, KeepsTheSamplingRuleInTheRecord) {
  EXPECT_EQ(run_alone({}).sampling, task_.protocol.sampling);
}

TEST_F(RunGroup, CatchesALackOfMemory) {
  Behaviour greedy;
  greedy.in_plan = [] { throw std::bad_alloc(); };
  EXPECT_EQ(run_alone(greedy).outcome, Outcome::out_of_memory);
}

TEST_F(RunGroup, CatchesALackOfMemoryWhileItMeasures) {
  Behaviour greedy;
  greedy.in_run = [](int run) {
    if (run >= 12) throw std::bad_alloc();
  };
  const ResultRecord& record = run_alone(greedy);
  EXPECT_EQ(record.outcome, Outcome::out_of_memory);
  EXPECT_EQ(record.note, "memory ran out during measure");
  EXPECT_FALSE(record.time);
}

TEST_F(RunGroup, TellsWhatEachPlanCounts) {
  Behaviour refusing;
  refusing.support = Support::no(Reason::unsupported_size, "too large");
  add("refused", refusing);
  const ResultRecord& record = run_alone({});
  ASSERT_THAT(sink_.plans, SizeIs(1));
  EXPECT_EQ(sink_.plans.at("one").product_flops, record.operations.product_flops);
}

TEST_F(RunGroup, CatchesExceptionsInEveryStageAndKeepsTheOthers) {
  Behaviour in_plan, in_verify, in_measure;
  in_plan.in_plan = [] { throw std::runtime_error("no plan today"); };
  in_verify.in_run = [](int) { throw std::runtime_error("no run today"); };
  in_measure.in_run = [](int run) {
    if (run >= 12) throw std::runtime_error("no time today");
  };
  add("planner", in_plan);
  add("first", {});
  add("verifier", in_verify);
  add("sampler", in_measure);
  add("last", {});
  run();
  const auto expect_failed = [&](const std::string& id, const std::string& note) {
    EXPECT_EQ(sink_.records.at(id).outcome, Outcome::failed) << id;
    EXPECT_THAT(sink_.records.at(id).note, HasSubstr(note));
  };
  expect_failed("planner", "plan: no plan today");
  expect_failed("verifier", "no run today");
  expect_failed("sampler", "no time today");
  EXPECT_EQ(sink_.records.at("first").outcome, Outcome::measured);
  EXPECT_EQ(sink_.records.at("last").outcome, Outcome::measured);
}

TEST_F(RunGroup, KeepsTheTimeOfAWrongCandidate) {
  Behaviour wrong;
  wrong.result = [](int, float value) { return value + 1; };
  const ResultRecord& record = run_alone(wrong);
  EXPECT_EQ(record.outcome, Outcome::wrong);
  EXPECT_EQ(record.reason, Reason::accuracy);
  EXPECT_TRUE(record.time);
  EXPECT_FALSE(record.note.empty());
}

TEST_F(RunGroup, NeverTimesACandidateThatWritesOutsideItsOutput) {
  Behaviour overrunning;
  overrunning.overruns = true;
  const ResultRecord& record = run_alone(overrunning);
  EXPECT_EQ(record.outcome, Outcome::wrong);
  EXPECT_FALSE(record.time);
  EXPECT_THAT(record.note, HasSubstr("writes outside"));
}

TEST_F(RunGroup, KeepsTheTimeOfACandidateThatTurnsWrong) {
  Behaviour turning;
  turning.result = [](int run, float value) { return run < 8 ? value : value + 1; };
  const ResultRecord& record = run_alone(turning);
  EXPECT_EQ(record.outcome, Outcome::wrong);
  EXPECT_TRUE(record.time);
  EXPECT_THAT(record.note, HasSubstr("after timing"));
}

TEST_F(RunGroup, OnlyVerifiesWhenNotAskedToMeasure) {
  task_.protocol.measure = false;
  const ResultRecord& record = run_alone({});
  EXPECT_EQ(record.outcome, Outcome::verified_only);
  EXPECT_FALSE(record.time);
  EXPECT_THAT(sink_.benchmarks, SizeIs(0));
}

TEST_F(RunGroup, NeverTimesWhatIsNoCandidate) {
  Behaviour reference;
  reference.candidate = false;
  add("reference", reference);
  add("other");
  run();
  EXPECT_EQ(sink_.records.at("reference").outcome, Outcome::verified_only);
  EXPECT_EQ(sink_.records.at("other").outcome, Outcome::measured);
}

TEST_F(RunGroup, ReportsRefusalsBeforeAnythingRuns) {
  Behaviour refusing;
  refusing.support = Support::no(Reason::unsupported_pass, "not this pass");
  add("right");
  add("refusing", refusing);
  run();
  EXPECT_EQ(sink_.order, (std::vector<std::string>{"refusing", "right"}));
}

TEST_F(RunGroup, MeasuresASecondSeriesForTheNoiseFloor) {
  task_.protocol.sampling.repeat = true;
  const ResultRecord& record = run_alone({});
  ASSERT_TRUE(record.time);
  EXPECT_TRUE(record.time->repeat);
}

TEST(Stages, HaveNamesThatReadBack) {
  for (Stage stage : kStages) EXPECT_EQ(from_name(kStages, name(stage)), stage);
  EXPECT_EQ(from_name(kStages, "nap"), std::nullopt);
}

TEST_F(RunGroup, VerifiesOnTheEmulatorAndNeverTimesThere) {
  add_device_reference(registry_);
  task_.group.common.device = DeviceKind::emulator;
  task_.group.algorithms = {"reference.cuda"};
  EmulatorDevice emulator;
  run_group(task_, registry_, emulator, ceilings_, sink_);
  const ResultRecord& record = sink_.records.at("reference.cuda");
  EXPECT_EQ(record.outcome, Outcome::verified_only) << record.note;
  EXPECT_EQ(record.device.kind, DeviceKind::emulator);
  EXPECT_EQ(record.time, std::nullopt);
}

TEST_F(RunGroup, ReportsWhoLostTheDeviceAndLeavesTheOthersToAFreshProcess) {
  Behaviour losing;
  losing.in_run = [](int) { throw DeviceLost("an illegal memory access was encountered"); };
  add("right");
  add("losing", losing);
  add("later");
  EXPECT_THROW(run_group(task_, registry_, device_, ceilings_, sink_), DeviceLost);
  ASSERT_THAT(sink_.records, SizeIs(1));
  const ResultRecord& record = sink_.records.at("losing");
  EXPECT_EQ(record.outcome, Outcome::crashed);
  EXPECT_EQ(record.note, "verify: an illegal memory access was encountered");
}

}  // namespace
}  // namespace convscope
