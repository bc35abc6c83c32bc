// The devices that the tests of kernels run on: the emulator in each order and, where the build has it, the
// GPU.
#pragma once

#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "bench/device/device.hpp"
#include "bench/emulator/options.hpp"

namespace convscope {

struct TestDevice {
  std::string name;  // a word: gtest's parameter name
  bool is_gpu = false;
  EmulatorOptions options;

  DeviceKind kind() const { return is_gpu ? DeviceKind::cuda : DeviceKind::emulator; }
  // Null where there is no such GPU; the test then skips itself. DeviceError where a kernel has lost it.
  std::unique_ptr<Device> make() const;

  friend std::ostream& operator<<(std::ostream& out, const TestDevice& device) { return out << device.name; }
};

// emulator_forward, emulator_reverse, emulator_random, and cuda in builds with it.
const std::vector<TestDevice>& test_devices();

}  // namespace convscope
