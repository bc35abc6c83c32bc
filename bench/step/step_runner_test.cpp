#include "bench/step/step_runner.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "bench/emulator/emulator_device.hpp"
#include "bench/parallel/fabric/threads_fabric.hpp"
#include "bench/step/ranked_step_test.hpp"

namespace convscope {
namespace {

// What Chrome's viewer draws: tasks one after the other, and sums one after the other, each of them begun
// when the gradient that it needs was there.
TEST(StepRunner, NotesWhatRanWhenForTheScheduleOfAStepOnRanks) {
  run_ranks(2, [&](Fabric& fabric) {
    CpuDevice device;
    TrainingStep step(network_of(testing::small_suite(), 2), device, 1, 2 * fabric.rank());
    std::vector<StepRow> rows{row_of(Reduction::ring, 2, {OverlapKind::layer})};
    RankedStepCalls calls;
    calls.records_spans = true;
    measure_on_cpus(step, testing::step_registry(), device, fabric, rows, nullptr, calls);
    const std::vector<Span>& spans = rows[0].schedule.spans;
    EXPECT_EQ(std::ranges::count(spans, true, &Span::is_communication), 2);
    EXPECT_EQ(spans.size(), step.tasks().size() + 1 + 2);  // gradients are averaged, too
    const auto span = [&](const std::string& name) {
      const auto found = std::ranges::find(spans, name, &Span::name);
      return found == spans.end() ? Span{"no " + name} : *found;
    };
    for (size_t i = 1; i < spans.size(); ++i)
      if (spans[i].is_communication == spans[i - 1].is_communication) {
        EXPECT_GE(spans[i].begin, spans[i - 1].end) << spans[i].name;
      }
    for (const NetworkLayer& layer : step.network().layers) {
      const Span sum = span("reduce " + layer.name);
      EXPECT_TRUE(sum.is_communication);
      EXPECT_GE(sum.begin, span(layer.name + " backward_filter").end);
      EXPECT_LE(sum.end, span("average gradients").begin);
      EXPECT_GT(sum.bytes, 0);
    }
  });
}

TEST(StepRunner, NotesNothingUntilAskedToNorOnAGpu) {
  const auto spans_on = [](Device& device, bool asks) {
    TrainingStep step(network_of(testing::small_suite(), 2), device, 1);
    StepRunner runner(step, testing::step_registry(), device, short_options());
    if (asks) runner.record_spans();
    runner.compute();
    runner.update();
    const size_t spans = runner.take_spans().size();
    runner.compute();
    EXPECT_TRUE(runner.take_spans().empty()) << "taken";
    return spans;
  };
  CpuDevice cpu;
  EmulatorDevice gpu;
  EXPECT_EQ(spans_on(cpu, false), 0);
  EXPECT_EQ(spans_on(cpu, true), StepProgram(network_of(testing::small_suite(), 2)).tasks.size());
  EXPECT_EQ(spans_on(gpu, true), 0);
}

}  // namespace
}  // namespace convscope
