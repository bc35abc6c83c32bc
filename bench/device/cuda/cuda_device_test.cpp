// What can be tested on a machine without a GPU, and with one the device itself. The kernels' arithmetic is
// tested on the emulator, beside each algorithm.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "bench/device/buffer.hpp"
#include "bench/device/cuda/check.hpp"
#include "bench/device/cuda/cuda.hpp"
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

}  // namespace
}  // namespace convscope::cuda
