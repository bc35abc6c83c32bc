// The devices that have the kernels of test_kernels/hopper.hpp, for the tests that run them.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "bench/emulator/kernel_test.hpp"
#include "bench/emulator/test_kernels/hopper.hpp"

namespace convscope {

inline int bytes_of(TmaElement element) {
  return element == TmaElement::f32 || element == TmaElement::tf32 ? 4 : 2;
}

// Skips GPUs that are no Hopper.
class HopperTest : public KernelTest {
 protected:
  void SetUp() override {
    KernelTest::SetUp();
    if (GetParam().is_gpu && device_ && device_->info().instructions != "sm_90")
      GTEST_SKIP() << "not a Hopper: " << device_->info().instructions;
  }
  HopperKernels kernels_ = CONVSCOPE_BUILDS(hopper_kernels).of(GetParam().kind())();
};

inline std::vector<TestDevice> emulators() {
  std::vector<TestDevice> devices = test_devices();
  std::erase_if(devices, [](const TestDevice& device) { return device.is_gpu; });
  return devices;
}

}  // namespace convscope
