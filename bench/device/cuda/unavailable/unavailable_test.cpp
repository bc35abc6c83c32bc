#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/device/communicator.hpp"
#include "bench/device/cuda/cuda.hpp"
#include "bench/device/device_error.hpp"

namespace convscope {
namespace {

using ::testing::HasSubstr;

TEST(CudaInABuildWithoutIt, SaysSo) {
  EXPECT_THAT(cuda::device_defect(), HasSubstr("without CUDA"));
}

TEST(CudaInABuildWithoutIt, HasNoDevices) {
  EXPECT_EQ(cuda::device_count(), 0);
}

TEST(CudaInABuildWithoutIt, RefusesEverythingWithThatSentence) {
  for (const auto& ask : {+[] { cuda::describe_device(1); }, +[] { cuda::make_device({}); },
                          +[] { cuda::communication_library(); }, +[] { cuda::make_communicator_id(); }})
    try {
      ask();
      ADD_FAILURE() << "nothing was thrown";
    } catch (const DeviceError& error) {
      EXPECT_THAT(error.what(), HasSubstr("no CUDA device: this build is without CUDA"));
    }
}

}  // namespace
}  // namespace convscope
