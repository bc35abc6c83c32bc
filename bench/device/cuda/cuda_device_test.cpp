// What can be tested on a machine without a GPU, and with one the device itself. The kernels' arithmetic is
// tested on the emulator, beside each algorithm.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

#include "bench/core/error.hpp"
#include "bench/device/buffer.hpp"
#include "bench/device/cuda/blocker.hpp"
#include "bench/device/cuda/check.hpp"
#include "bench/device/cuda/cuda.hpp"
#include "bench/device/cuda/cuda_queue.hpp"
#include "bench/device/cuda/driver.hpp"
#include "bench/device/device_error.hpp"

namespace convscope::cuda {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string message_of(const std::function<void()>& act) {
  try {
    act();
  } catch (const DeviceError& error) {
    return error.what();
  }
  return "nothing was thrown";
}

TEST(CudaCheck, NamesTheCallItsPlaceAndTheRuntimesWords) {
  const std::string message = message_of([] { check(cudaErrorInvalidValue, "cudaMemcpy"); });
  EXPECT_THAT(message, AllOf(HasSubstr("cuda_device_test.cpp:"), HasSubstr("cudaMemcpy"),
                             HasSubstr("invalid argument"), HasSubstr("cudaErrorInvalidValue")));
}

TEST(CudaCheck, ThrowsBadAllocWhenTheDeviceHasNoMemory) {
  EXPECT_THROW(check(cudaErrorMemoryAllocation, "cudaMalloc"), std::bad_alloc);
}

TEST(CudaCheck, TellsALostDeviceFromAnErrorOfOneCall) {
  EXPECT_THROW(check(cudaErrorIllegalAddress, "cudaStreamSynchronize"), DeviceLost);
  try {
    check(cudaErrorInvalidConfiguration, "cudaLaunchKernelEx");
    ADD_FAILURE() << "nothing was thrown";
  } catch (const DeviceLost&) {
    ADD_FAILURE() << "the device is still there";
  } catch (const DeviceError&) {
  }
}

// Every error of driver_types.h (CUDA 13.0) whose description ends "To continue using CUDA, the process must
// be terminated and relaunched".
TEST(CudaCheck, TakesTheDeviceForLostWhereCudaSaysThatTheProcessMustBeTerminated) {
  for (const int code : {226, 700, 702, 710, 714, 715, 716, 717, 718, 719, 721, 810, 911}) {
    EXPECT_TRUE(ends_the_context(static_cast<cudaError_t>(code))) << code;
    EXPECT_THROW(check(static_cast<cudaError_t>(code), "cudaStreamSynchronize"), DeviceLost) << code;
  }
}

TEST(CudaCheck, TakesTheDeviceForLostWhereNoContextIsLeft) {
  for (const cudaError_t code : {cudaErrorECCUncorrectable, cudaErrorNvlinkUncorrectable,
                                 cudaErrorContextIsDestroyed, cudaErrorMpsRpcFailure, cudaErrorUnknown})
    EXPECT_TRUE(ends_the_context(code)) << code;
}

TEST(CudaCheck, TakesNoOtherErrorForALostDevice) {
  for (const cudaError_t code :
       {cudaSuccess, cudaErrorInvalidValue, cudaErrorMemoryAllocation, cudaErrorDevicesUnavailable,
        cudaErrorNoKernelImageForDevice, cudaErrorNotReady, cudaErrorLaunchOutOfResources,
        cudaErrorNotSupported, cudaErrorTimeout})
    EXPECT_FALSE(ends_the_context(code)) << code;
}

TEST(DriverDefect, IsNoneWhereADeviceIsShown) {
  EXPECT_EQ(driver_defect({.code = cudaSuccess, .devices = 1, .driver_version = 13000, .release = ""}), "");
}

TEST(DriverDefect, SaysThatThereIsNoDriverAndWhatWasLookedFor) {
  EXPECT_THAT(driver_defect({.code = cudaErrorInsufficientDriver,
                             .driver_version = 0,
                             .release = "",
                             .library = "libcuda.so.1 was not found"}),
              AllOf(HasSubstr("there is no NVIDIA driver: libcuda.so.1 was not found"),
                    HasSubstr("/sys/module/nvidia/version"), HasSubstr("cudaErrorInsufficientDriver")));
}

TEST(DriverDefect, TellsADriverWithoutItsLibraryFromNoneAndWhatTheLibraryLacks) {
  EXPECT_THAT(
      driver_defect({.code = cudaErrorInsufficientDriver,
                     .driver_version = 0,
                     .release = "580.65.06",
                     .library = "libcuda.so.1 was found but cannot be loaded: libnvidia-x.so"}),
      HasSubstr("NVIDIA driver 580.65.06 is loaded, but libcuda.so.1 was found but cannot be loaded"));
}

TEST(DriverDefect, SaysWhichDriverIsNeededAndWhichIsThere) {
  EXPECT_THAT(
      driver_defect({.code = cudaErrorInsufficientDriver, .driver_version = 12040, .release = "550.54.14"}),
      AllOf(HasSubstr("the NVIDIA driver is too old"), HasSubstr("550.54.14"), HasSubstr("CUDA 12.4"),
            HasSubstr(fmt::format("needs CUDA {}.{}", CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10))));
}

TEST(DriverDefect, KeepsTheRuntimesWordsOtherwise) {
  EXPECT_THAT(
      driver_defect({.code = cudaErrorNoDevice, .driver_version = 13000, .release = "580.65.06"}),
      AllOf(HasSubstr("cudaErrorNoDevice"), HasSubstr("580.65.06"), HasSubstr("CUDA_VISIBLE_DEVICES")));
  EXPECT_THAT(driver_defect({.code = cudaSuccess, .devices = 0, .driver_version = 13000, .release = ""}),
              HasSubstr("cudaErrorNoDevice"));
  EXPECT_THAT(driver_defect({.code = cudaErrorUnknown, .driver_version = 13000, .release = ""}),
              HasSubstr("cudaErrorUnknown"));
}

TEST(CudaDevice, IsRefusedInTheRuntimesWordsWhereThereIsNone) {
  const std::string defect = device_defect();
  if (defect.empty()) GTEST_SKIP() << "this machine has one";
  EXPECT_THAT(defect, HasSubstr("cudaError"));
  EXPECT_EQ(message_of([] { describe_device(); }), "no CUDA device: " + defect);
  EXPECT_EQ(message_of([] { make_device({}); }), "no CUDA device: " + defect);
}

class OnAGpu : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const std::string defect = device_defect(); !defect.empty())
      GTEST_SKIP() << "no CUDA device: " << defect;
    device_ = make_device({});
  }
  std::unique_ptr<Device> device_;
};

TEST_F(OnAGpu, ADeviceDescribesItself) {
  const DeviceInfo& info = device_->info();
  EXPECT_EQ(info.kind, DeviceKind::cuda);
  EXPECT_THAT(info.instructions, StartsWith("sm_"));
  EXPECT_GT(info.cores, 0);
  EXPECT_GT(info.llc_bytes, 0);
  EXPECT_GT(info.memory_bytes, int64_t{1} << 28);
  EXPECT_THAT(info.machine_class, HasSubstr(info.instructions));
  EXPECT_EQ(info.machine_unit.size(), 12u);
}

TEST_F(OnAGpu, ABufferHoldsWhatWasPutThereAndSeesAWriteOutside) {
  const std::vector<float> values{1, 2, 3, 4, 5};
  Buffer buffer(*device_, values.size() * sizeof(float));
  buffer.upload(values.data(), buffer.bytes());
  std::vector<float> back(values.size());
  buffer.download(back.data(), buffer.bytes());
  EXPECT_EQ(back, values);
  EXPECT_TRUE(buffer.guards_intact());
  device_->copy_to_device(buffer.as<float>() + values.size(), values.data(), 1);
  EXPECT_FALSE(buffer.guards_intact());
}

TEST_F(OnAGpu, MoreMemoryThanThereIsIsForeseen) {
  EXPECT_THROW(device_->allocate(static_cast<size_t>(device_->info().memory_bytes) * 2), std::bad_alloc);
}

TEST_F(OnAGpu, CeilingsAreThoseOfAGpu) {
  const Ceilings ceilings = measure_ceilings(*device_);
  EXPECT_EQ(ceilings.device, DeviceKind::cuda);
  EXPECT_GT(ceilings.fma_flops, 1e11);
  EXPECT_GT(ceilings.copy_bytes, 1e10);
  EXPECT_GT(ceilings.read_bytes, 1e10);
  EXPECT_GT(ceilings.cache_read_bytes, ceilings.read_bytes / 2);
}

TEST_F(OnAGpu, ATimingHasThePhasesThatWereMarked) {
  const auto queue = device_->make_queue();
  queue->begin_timing();
  queue->phase(Phase::product);
  queue->end_phase();
  const Timing timing = queue->end_timing();
  EXPECT_GE(timing.seconds, 0);
  EXPECT_LT(timing.seconds, 1) << "the blocker's time is in it";
  EXPECT_TRUE(timing.phase_seconds[static_cast<size_t>(Phase::product)].has_value());
  EXPECT_FALSE(timing.phase_seconds[static_cast<size_t>(Phase::inverse)].has_value());
}

TEST_F(OnAGpu, LapsAddUpToTheTimingAndTakeTheirPlaceInTheQueue) {
  const auto queue = device_->make_queue();
  queue->lap();  // of no timing
  for (int timing = 0; timing < 2; ++timing) {
    queue->begin_timing();
    queue->lap();
    queue->phase(Phase::product);
    queue->lap();
    const Timing timed = queue->end_timing();
    ASSERT_EQ(timed.lap_seconds.size(), 2U);
    for (double seconds : timed.lap_seconds) EXPECT_GE(seconds, 0);
    EXPECT_LE(timed.lap_seconds[0] + timed.lap_seconds[1], timed.seconds + 1e-6);
    EXPECT_EQ(timed.operations, 3);
  }
}

TEST_F(OnAGpu, AQueueCopiesInItsOrder) {
  const auto queue = device_->make_queue();
  const std::vector<int> values{1, 2, 3, 4, 5};
  Buffer first(*device_, 5 * sizeof(int)), second(*device_, 5 * sizeof(int)),
      third(*device_, 5 * sizeof(int));
  first.upload(values.data(), first.bytes());
  queue->copy(second.data(), first.data(), second.bytes());
  queue->copy(third.as<int>() + 1, second.as<int>() + 1, 3 * sizeof(int));
  queue->synchronize();
  std::vector<int> back(5);
  third.download(back.data(), third.bytes());
  EXPECT_EQ(std::vector(back.begin() + 1, back.begin() + 4), (std::vector{2, 3, 4}));
  EXPECT_TRUE(third.guards_intact());
}

TEST_F(OnAGpu, ALoadCopiesWhileItIsOnBesideWhatAQueueRuns) {
  const auto load = convscope::make_memory_load({20e6, 3}, 1, *device_);
  const auto queue = device_->make_queue();
  Buffer from(*device_, 1 << 20), to(*device_, 1 << 20);
  device_->fill(from.data(), 3, from.bytes());
  device_->fill(to.data(), 0, to.bytes());
  EXPECT_EQ(load->measured_rate(), 0);
  for (int times = 0; times < 2; ++times) {
    load->start();
    queue->copy(to.data(), from.data(), from.bytes());
    queue->synchronize();
    std::this_thread::sleep_for(std::chrono::milliseconds(60));
    load->stop();
    const double rate = load->measured_rate();
    EXPECT_GT(rate, 0);
    EXPECT_LT(rate, 60e6) << "a chunk ahead at most";
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    EXPECT_EQ(load->measured_rate(), rate);
  }
  std::vector<unsigned char> back(to.bytes());
  to.download(back.data(), back.size());
  EXPECT_TRUE(std::ranges::all_of(back, [](unsigned char byte) { return byte == 3; }));
}

TEST_F(OnAGpu, ALoadEndsWithItsOwner) {
  const auto load = convscope::make_memory_load({1e12, 1}, 1, *device_);
  load->start();
}

TEST_F(OnAGpu, ALoadLeavesAMultiprocessorToWhatRunsBesideIt) {
  const int all = device_->info().cores;
  EXPECT_THAT(
      [&] {
        convscope::make_memory_load({1e9, all}, 1, *device_);
      },
      ::testing::ThrowsMessage<UsageError>(
          HasSubstr(fmt::format("a load on {} multiprocessors leaves nothing of ", all))));
}

TEST_F(OnAGpu, AQueueWaitsForAnotherOne) {
  const auto one = device_->make_queue(), other = device_->make_queue();
  constexpr size_t kBytes = size_t{8} << 20;
  Buffer ones(*device_, kBytes), twos(*device_, kBytes), between(*device_, kBytes), last(*device_, kBytes);
  device_->fill(ones.data(), 1, kBytes);
  device_->fill(twos.data(), 2, kBytes);
  for (int turn = 0; turn < 10; ++turn) {
    const Buffer& from = turn % 2 == 0 ? ones : twos;
    one->copy(between.data(), from.data(), kBytes);
    other->wait_for(*one);
    other->copy(last.data(), between.data(), kBytes);
    one->wait_for(*other);
  }
  other->synchronize();
  std::vector<unsigned char> back(kBytes);
  last.download(back.data(), kBytes);
  EXPECT_TRUE(std::ranges::all_of(back, [](unsigned char byte) { return byte == 2; }));
}

TEST_F(OnAGpu, AQueueCopiesRowsAndNothingBetweenThem) {
  const auto queue = device_->make_queue();
  const std::vector<int> values{1, 2, 3, 4, 5, 6};
  Buffer from(*device_, 6 * sizeof(int)), to(*device_, 6 * sizeof(int));
  from.upload(values.data(), from.bytes());
  device_->fill(to.data(), 0, to.bytes());
  queue->copy_rows(to.as<int>() + 1, 3 * sizeof(int), from.data(), 2 * sizeof(int), 2 * sizeof(int), 2);
  queue->synchronize();
  std::vector<int> back(6);
  to.download(back.data(), to.bytes());
  EXPECT_EQ(back, (std::vector{0, 1, 2, 0, 3, 4}));
}

TEST_F(OnAGpu, ATimingHoldsItsWorkBackAndCountsIt) {
  const auto queue = device_->make_queue();
  for (int timing = 0; timing < 3; ++timing) {
    queue->begin_timing();
    cuda_queue(*queue).stream_for(3);
    const Timing timed = queue->end_timing();
    EXPECT_EQ(timed.held, true);
    EXPECT_EQ(timed.operations, 3);
  }
  queue->hold_back(false);
  queue->begin_timing();
  EXPECT_EQ(queue->end_timing().held, false);
}

TEST_F(OnAGpu, AHostThatWaitsForWorkThatIsHeldBackIsLetGoOn) {
  const auto queue = device_->make_queue();
  for (int timing = 0; timing < 2; ++timing) {
    const auto begin = Clock::now();
    queue->begin_timing();
    check(cudaStreamSynchronize(cuda_queue(*queue).stream_for(0)), "cudaStreamSynchronize");
    EXPECT_LT(Clock::now() - begin, Blocker::kKernelLimit) << "by the host, not by the kernel's own limit";
    EXPECT_EQ(queue->end_timing().held, false);
    queue->begin_timing();
    EXPECT_EQ(queue->end_timing().held, true) << "and the next one is held again";
  }
}

TEST_F(OnAGpu, AFullQueueOfLaunchesIsLetGo) {
  const auto queue = device_->make_queue();
  const Event event = make_event();
  queue->begin_timing();
  cudaStream_t stream = cuda_queue(*queue).stream_for(1);  // and more than that follows
  for (int i = 0; i < 3000; ++i) check(cudaEventRecord(event.get(), stream), "cudaEventRecord");
  EXPECT_EQ(queue->end_timing().held, false);
}

TEST_F(OnAGpu, MoreOperationsThanCanBeHeldBackAreNot) {
  const auto queue = device_->make_queue();
  const int64_t most = queue->max_held_operations().value();
  const Event event = make_event();
  for (const int64_t operations : {most, most + 1}) {
    queue->begin_timing();
    for (int64_t i = 0; i < operations; ++i)
      check(cudaEventRecord(event.get(), cuda_queue(*queue).stream_for(1)), "cudaEventRecord");
    const Timing timing = queue->end_timing();
    EXPECT_EQ(timing.held, operations == most);
    EXPECT_EQ(timing.operations, operations);
  }
}

TEST_F(OnAGpu, TheFirstLaunchOfAKernelIsNotHeldBack) {
  const auto queue = device_->make_queue();
  const char kernel = 0;  // nothing is launched
  for (const bool again : {false, true}) {
    queue->begin_timing();
    cuda_queue(*queue).stream_for_kernel(&kernel);
    EXPECT_EQ(queue->end_timing().held, again);
  }
}

TEST_F(OnAGpu, IsBurntInAlthoughItsKernelIsNotLoadedYet) {
  EXPECT_NO_THROW(burn_in(*device_, 1e-3));
}

TEST_F(OnAGpu, MemoryIsFilledToTheLastByte) {
  const std::vector<unsigned char> zeros((size_t{3} << 20) + 5);
  Buffer buffer(*device_, zeros.size());
  buffer.upload(zeros.data(), zeros.size());
  buffer.fill_with_nan();
  std::vector<unsigned char> back(zeros.size());
  buffer.download(back.data(), back.size());
  EXPECT_TRUE(std::all_of(back.begin(), back.end(), [](unsigned char byte) { return byte == 0xff; }));
  EXPECT_TRUE(buffer.guards_intact());
}

TEST_F(OnAGpu, LeavesMemoryForWhatIsLoadedLater) {
  EXPECT_LE(device_->usable_bytes(), device_->info().memory_bytes - (int64_t{1} << 30));
  const int64_t before = device_->usable_bytes();
  const Buffer buffer(*device_, size_t{64} << 20);
  EXPECT_LE(device_->usable_bytes(), before - (int64_t{64} << 20));
}

}  // namespace
}  // namespace convscope::cuda
