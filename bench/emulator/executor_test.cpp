// The executor runs right kernels right in every order, and says what is wrong with the others, with file and
// line.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <sstream>
#include <string>
#include <vector>

#include "bench/device/buffer.hpp"
#include "bench/device/cpu/cpu_device.hpp"
#include "bench/device/cpu/system_files.hpp"
#include "bench/device/device_error.hpp"
#include "bench/emulator/diagnostics_source.hpp"
#include "bench/emulator/emulator_device.hpp"
#include "bench/emulator/every_order_test.hpp"
#include "bench/emulator/test_kernels/diagnostics.hpp"

namespace convscope {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;

const DiagnosticKernels kKernels = emulated::diagnostic_kernels();
constexpr unsigned kThreads = 64;

// One kernel's output, or its error.
struct Outcome {
  std::vector<float> out;
  std::string error;
};

Outcome run(DiagnosticKernels::Launch kernel, EmulatorOptions options = {}, unsigned threads = kThreads) {
  EmulatorDevice device(options);
  const auto queue = device.make_queue();
  Buffer out(device, kThreads * sizeof(float));
  Outcome outcome{std::vector<float>(kThreads), ""};
  try {
    kernel(out.as<float>(), threads, *queue);
  } catch (const DeviceError& error) {
    outcome.error = error.what();
  }
  out.download(outcome.out.data(), out.bytes());
  return outcome;
}

// "diagnostics.cu:LINE" of the line that ends in that comment.
std::string place(const std::string& comment) {
  const std::string file = "bench/emulator/test_kernels/diagnostics.cu";
  std::istringstream source(kDiagnosticsSource);
  int number = 0;
  for (std::string line; std::getline(source, line);) {
    ++number;
    if (line.ends_with("// " + comment)) return file + ":" + std::to_string(number);
  }
  return "no line with " + comment;
}

TEST(Executor, ReportsBothPlacesOfADivergentBarrier) {
  EXPECT_THAT(run(kKernels.divergent_barrier).error,
              AllOf(HasSubstr("divergent barrier"), HasSubstr(place("one branch")),
                    HasSubstr(place("the other branch")), HasSubstr(place("the launch")),
                    HasSubstr("block (0,0,0) thread (32,0,0)")));
}

TEST(Executor, ReportsWhoWaitsWhereInADeadlock) {
  EXPECT_THAT(run(kKernels.early_exit).error,
              AllOf(HasSubstr("deadlock in block (0,0,0)"), HasSubstr("threads 0..39: __syncthreads at"),
                    HasSubstr(place("not all arrive")), HasSubstr("threads 40..63: ended")));
}

TEST(Executor, ReportsLanesMissingInAShuffle) {
  EXPECT_THAT(run(kKernels.shuffle_with_missing_lanes).error,
              AllOf(HasSubstr("threads 0..15: __shfl_xor_sync at"), HasSubstr(place("half a warp")),
                    HasSubstr("threads 16..63: ended")));
}

TEST(Executor, ReportsAShuffleFromAnAbsentLane) {
  EXPECT_THAT(run(kKernels.shuffle_from_absent_lane).error,
              AllOf(HasSubstr("reads lane 20"), HasSubstr(place("from an absent lane"))));
}

TEST(Executor, ReportsAMaskThatLacksItsCaller) {
  EXPECT_THAT(run(kKernels.mask_without_caller).error,
              AllOf(HasSubstr("the mask lacks the calling lane"), HasSubstr(place("the mask is too small"))));
}

TEST(Executor, ReportsALivelock) {
  EXPECT_THAT(run(kKernels.endless_spin).error, AllOf(HasSubstr("livelock"), HasSubstr(place("spins"))));
}

TEST(Executor, ReportsATrapWithItsThread) {
  EXPECT_THAT(run(kKernels.trap).error,
              AllOf(HasSubstr("__trap()"), HasSubstr(place("trap")), HasSubstr("thread (7,0,0)")));
}

TEST(Executor, ReportsAnExceptionOfAKernel) {
  EXPECT_THAT(run(kKernels.throws).error, HasSubstr("the kernel threw an exception"));
}

TEST(Executor, GoesOnAfterAFailedLaunch) {
  EmulatorDevice device;
  const auto queue = device.make_queue();
  Buffer out(device, kThreads * sizeof(float));
  for (int time = 0; time < 3; ++time) {
    EXPECT_THROW(kKernels.early_exit(out.as<float>(), kThreads, *queue), DeviceError);
    kKernels.write_one(out.as<float>(), *queue);
    float value = 0;
    out.download(&value, sizeof value);
    EXPECT_EQ(value, 1.0f);
  }
}

TEST(Executor, RefusesWhatNoGpuLaunches) {
  EmulatorDevice device;
  const auto queue = device.make_queue();
  EXPECT_NO_THROW(kKernels.empty(1, 1024, 227 << 10, *queue));
  EXPECT_THROW(kKernels.empty(1, 1025, 0, *queue), DeviceError);
  EXPECT_THROW(kKernels.empty(1, 0, 0, *queue), DeviceError);
  EXPECT_THROW(kKernels.empty(0, 32, 0, *queue), DeviceError);
  EXPECT_THROW(kKernels.empty(1, 32, (227 << 10) + 1, *queue), DeviceError);
}

TEST(Executor, RefusesAPointerThatIsNotDeviceMemory) {
  EmulatorDevice device;
  const auto queue = device.make_queue();
  float on_host = 0;
  EXPECT_THROW(kKernels.write_one(&on_host, *queue), DeviceError);
  EXPECT_EQ(on_host, 0.0f);
}

TEST(Executor, HasTheMemoryThatTheProcessMayHave) {
  EXPECT_EQ(EmulatorDevice().info().memory_bytes, allowed_memory(""));
}

TEST(Executor, RefusesTheQueueOfAnotherDevice) {
  CpuDevice cpu;
  const auto queue = cpu.make_queue();
  EXPECT_THROW(kKernels.empty(1, 32, 0, *queue), DeviceError);
}

TEST(Executor, StartsEveryThreadInTheOrderOfTheOptions) {
  std::vector<float> forward(kThreads);
  std::iota(forward.begin(), forward.end(), 0.0f);
  const std::vector<float> reverse(forward.rbegin(), forward.rend());
  EXPECT_EQ(run(kKernels.order_of_threads, {EmulatorOrder::forward}).out, forward);
  EXPECT_EQ(run(kKernels.order_of_threads, {EmulatorOrder::reverse}).out, reverse);

  const std::vector<float> random = run(kKernels.order_of_threads, {EmulatorOrder::random, 1}).out;
  EXPECT_NE(random, forward);
  EXPECT_NE(random, reverse);
  EXPECT_THAT(random, ::testing::UnorderedElementsAreArray(forward));
  EXPECT_EQ(run(kKernels.order_of_threads, {EmulatorOrder::random, 1}).out, random);
  EXPECT_NE(run(kKernels.order_of_threads, {EmulatorOrder::random, 2}).out, random);
}

TEST(Executor, RunsEveryBlockOnceInTheOrderOfTheOptions) {
  constexpr unsigned blocks = 20;
  for (const EmulatorOrder order : kEveryOrder) {
    EmulatorDevice device({order});
    const auto queue = device.make_queue();
    std::vector<float> places(blocks + 1, 0.0f), sequence(blocks);
    Buffer out(device, places.size() * sizeof(float));
    out.upload(places.data(), out.bytes());
    kKernels.order_of_blocks(out.as<float>(), blocks, *queue);
    out.download(places.data(), out.bytes());
    places.pop_back();
    std::iota(sequence.begin(), sequence.end(), 0.0f);
    EXPECT_EQ(places == sequence, order == EmulatorOrder::forward);
    EXPECT_THAT(places, ::testing::UnorderedElementsAreArray(sequence));
    std::reverse(places.begin(), places.end());
    EXPECT_EQ(places == sequence, order == EmulatorOrder::reverse);
  }
}

class ExecutorInEveryOrder : public ::testing::TestWithParam<EmulatorOrder> {
 protected:
  std::vector<float> out_of(DiagnosticKernels::Launch kernel) {
    const Outcome outcome = run(kernel, {GetParam()});
    EXPECT_EQ(outcome.error, "");
    return outcome.out;
  }
};

TEST_P(ExecutorInEveryOrder, LetsHalvesOfAWarpMeetByThemselves) {
  const std::vector<float> out = out_of(kKernels.half_warps);
  EXPECT_EQ(out[0], 120.0f);  // 0 + ... + 15
  EXPECT_EQ(out[16], 31.0f);  // the greatest
  EXPECT_EQ(out[47], 632.0f);
  EXPECT_EQ(out[63], 63.0f);
}

TEST_P(ExecutorInEveryOrder, CountsVotesOfAWarp) {
  const std::vector<float> out = out_of(kKernels.votes);
  EXPECT_EQ(out[0], 111.0f);   // 0, 3, ... 30; lane 0 too
  EXPECT_EQ(out[40], 110.0f);  // 33, 36, ... 63
}

TEST_P(ExecutorInEveryOrder, FillsSharedMemoryWithNan) {
  for (const auto kernel : {kKernels.reads_unwritten_static_smem, kKernels.reads_unwritten_dynamic_smem}) {
    std::vector<float> out = out_of(kernel);
#if defined(CONVSCOPE_EMULATOR_TSAN)
    if (kernel == kKernels.reads_unwritten_static_smem) continue;  // thread_local there: zeros
#endif
    EXPECT_TRUE(std::isnan(out[5]));
    out[5] = 1;
    EXPECT_THAT(out, Each(1.0f));
  }
}

INSTANTIATE_TEST_SUITE_P(Orders, ExecutorInEveryOrder, ::testing::ValuesIn(kEveryOrder));

#if !defined(CONVSCOPE_EMULATOR_TSAN)
TEST(Executor, ShowsThatAWarpIsNotInLockstep) {
  const std::vector<float> out = run(kKernels.lockstep_without_syncwarp, {EmulatorOrder::forward}, 32).out;
  EXPECT_TRUE(std::isnan(out[0]));  // lane 31 had not written yet
}
#endif

TEST(EmulatorDevice, HandsOutMemoryFullOfNan) {
  EmulatorDevice device;
  auto* data = static_cast<float*>(device.allocate(1000 * sizeof(float)));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(data) % 256, 0u);
  std::vector<float> values(1000);
  device.copy_to_host(values.data(), data, values.size() * sizeof(float));
  EXPECT_TRUE(std::all_of(values.begin(), values.end(), [](float x) { return std::isnan(x); }));
  device.release(data);
}

TEST(EmulatorDevice, RefusesCopiesOutsideItsMemory) {
  EmulatorDevice device;
  auto* data = static_cast<std::byte*>(device.allocate(16));
  std::byte host[32] = {};
  EXPECT_NO_THROW(device.copy_to_device(data, host, 16));
  EXPECT_THROW(device.copy_to_device(data + 8, host, 16), DeviceError);
  EXPECT_THROW(device.copy_to_host(host, data, 17), DeviceError);
  EXPECT_THROW(device.copy_to_device(host + 16, host, 16), DeviceError);
  const auto queue = device.make_queue();
  EXPECT_NO_THROW(queue->copy_rows(data, 8, data + 4, 8, 4, 2));
  EXPECT_THROW(queue->copy_rows(data, 8, data + 8, 8, 4, 2), DeviceError);
  EXPECT_THROW(queue->copy_rows(data, 16, data + 4, 4, 4, 2), DeviceError);
  EXPECT_THROW(queue->copy(host, data, 16), DeviceError);
  device.release(data);
}

TEST(EmulatorDevice, IsNeverTimedButKnowsTheMarkedPhases) {
  EmulatorDevice device;
  const auto queue = device.make_queue();
  EXPECT_EQ(device.info().kind, DeviceKind::emulator);
  queue->begin_timing();
  queue->phase(Phase::product);
  queue->end_phase();
  const Timing timing = queue->end_timing();
  EXPECT_EQ(timing.seconds, 0.0);
  EXPECT_EQ(timing.phase_seconds[static_cast<size_t>(Phase::product)], 0.0);
  EXPECT_EQ(std::count_if(timing.phase_seconds.begin(), timing.phase_seconds.end(),
                          [](auto p) { return p.has_value(); }),
            1);
}

#if defined(__SANITIZE_ADDRESS__)
TEST(EmulatorDeviceDeathTest, DiesWhereHostCodeTouchesDeviceMemory) {
  EmulatorDevice device;
  auto* data = static_cast<volatile float*>(device.allocate(16));
  EXPECT_DEATH(data[0] = 1, "use-after-poison");
  device.release(const_cast<float*>(data));
}

TEST(ExecutorDeathTest, DiesWhereAKernelLeavesItsStaticSharedMemory) {
  EXPECT_DEATH(run(kKernels.reads_past_static_smem), "diagnostics.cu");
}

TEST(ExecutorDeathTest, DiesWhereAKernelReadsPastABuffer) {
  EXPECT_DEATH(run(kKernels.reads_past_the_buffer), "use-after-poison");
}
#else
TEST(Executor, ShowsAReadPastABufferAsNan) {
  const Outcome outcome = [] {
    EmulatorDevice device;
    const auto queue = device.make_queue();
    const std::vector<float> ones(kThreads, 1.0f);
    Buffer out(device, ones.size() * sizeof(float));
    out.upload(ones.data(), out.bytes());
    kKernels.reads_past_the_buffer(out.as<float>(), kThreads, *queue);
    Outcome result{ones, ""};
    out.download(result.out.data(), out.bytes());
    return result;
  }();
  EXPECT_EQ(outcome.out[6], 2.0f);
  EXPECT_TRUE(std::isnan(outcome.out[7]));
}
#endif

#if defined(__SANITIZE_THREAD__)
void expect_race(const std::function<void()>& run_kernels) {
  constexpr int kRace = 66;  // the thread sanitizer's exit code
  EXPECT_EXIT(
      {
        run_kernels();
        std::exit(0);
      },
      ::testing::ExitedWithCode(kRace), "data race");
}

TEST(ExecutorDeathTest, ThreadsOfAWarpThatDoNotWaitForEachOtherRace) {
  expect_race([] { run(kKernels.lockstep_without_syncwarp, {}, 32); });
}

// The launches before it leave fibers, which must not bring order into a later one.
TEST(ExecutorDeathTest, BlocksThatWriteTheSameMemoryRaceAfterOtherLaunchesToo) {
  expect_race([] { run(kKernels.blocks_write_one_place); });
  expect_race([] {
    for (int launch = 0; launch < 3; ++launch) run(kKernels.votes);
    run(kKernels.blocks_write_one_place);
  });
}
#endif

}  // namespace
}  // namespace convscope
