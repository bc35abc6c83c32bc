// Base of the tests that run kernels on every device of test_devices(): memory to and from, skipping without
// a GPU.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "bench/device/buffer.hpp"
#include "bench/device/device_error.hpp"
#include "bench/emulator/test_devices.hpp"

namespace convscope {

class KernelTest : public ::testing::TestWithParam<TestDevice> {
 protected:
  // A GPU that a kernel has lost stays lost in this process: the first test after it fails, the others skip.
  void SetUp() override {
    static std::string lost;
    if (GetParam().is_gpu && !lost.empty()) GTEST_SKIP() << lost;
    try {
      device_ = GetParam().make();
      if (device_ == nullptr) GTEST_SKIP() << "no GPU here";
      queue_ = device_->make_queue();
    } catch (const DeviceError& error) {
      if (!GetParam().is_gpu) throw;
      lost = std::string("the GPU can no longer be used: ") + error.what();
      FAIL() << lost;
    }
  }
  template <typename T>
  Buffer to_device(const std::vector<T>& values) {
    Buffer buffer(*device_, values.size() * sizeof(T));
    buffer.upload(values.data(), buffer.bytes());
    return buffer;
  }
  // Waits for the queue.
  template <typename T>
  std::vector<T> to_host(const Buffer& buffer) {
    queue_->synchronize();
    std::vector<T> values(buffer.bytes() / sizeof(T));
    buffer.download(values.data(), buffer.bytes());
    return values;
  }
  // A device buffer of n floats that nobody wrote.
  Buffer floats(size_t n) {
    Buffer buffer(*device_, n * sizeof(float));
    buffer.fill_with_nan();
    return buffer;
  }
  // Whole numbers from -4 to 4: sums of their products are exact in every type that the kernels use.
  static std::vector<float> whole_numbers(size_t n, unsigned seed) {
    std::mt19937 random(seed);
    std::uniform_int_distribution<int> number(-4, 4);
    std::vector<float> values(n);
    for (float& value : values) value = static_cast<float>(number(random));
    return values;
  }

  std::unique_ptr<Device> device_;
  std::unique_ptr<Queue> queue_;
};

inline std::string device_name(const ::testing::TestParamInfo<TestDevice>& info) {
  return info.param.name;
}

}  // namespace convscope
