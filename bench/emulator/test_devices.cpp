#include "bench/emulator/test_devices.hpp"

#include "bench/device/cuda/cuda.hpp"
#include "bench/emulator/emulator_device.hpp"

namespace convscope {

std::unique_ptr<Device> TestDevice::make() const {
  if (!is_gpu) return std::make_unique<EmulatorDevice>(options);
  static const bool has_gpu = cuda::device_defect().empty();  // asked once: a lost GPU is no missing one
  return has_gpu ? cuda::make_device({}) : nullptr;
}

const std::vector<TestDevice>& test_devices() {
  static const std::vector<TestDevice> devices {
    {"emulator_forward", false, {EmulatorOrder::forward}},
        {"emulator_reverse", false, {EmulatorOrder::reverse}},
        {"emulator_random", false, {EmulatorOrder::random, 7}},
#if defined(CONVSCOPE_HAS_CUDA)
        {"cuda", true, {}},
#endif
  };
  return devices;
}

}  // namespace convscope
