#include "bench/runner/devices.hpp"

#include "bench/core/error.hpp"
#include "bench/device/cpu/cpu_device.hpp"
#include "bench/device/cuda/cuda.hpp"
#include "bench/device/device_error.hpp"
#include "bench/device/emulator/emulator_device.hpp"

namespace convscope {
namespace {

[[noreturn]] void refuse(const DeviceError& error) {
  throw UsageError(std::string(error.what()) +
                   "; --device emulator runs the CUDA kernels on the CPU, for their results, not their time");
}

}  // namespace

DeviceList find_devices() {
  DeviceList list;
  list.present.push_back(describe_cpu());
  if (const std::string defect = cuda::device_defect(); defect.empty())
    list.present.push_back(cuda::describe_device());
  else
    list.missing.push_back({DeviceKind::cuda, "no CUDA device: " + defect});
  list.present.push_back(describe_device(DeviceKind::emulator));
  return list;
}

DeviceInfo describe_device(DeviceKind kind) try {
  switch (kind) {
    case DeviceKind::cpu:
      return describe_cpu();
    case DeviceKind::cuda:
      return cuda::describe_device();
    case DeviceKind::emulator:
      return EmulatorDevice().info();
  }
  return {};
} catch (const DeviceError& error) {
  refuse(error);
}

std::unique_ptr<Device> make_device(DeviceKind kind, const DeviceOptions& options) try {
  switch (kind) {
    case DeviceKind::cpu: {
      auto device = std::make_unique<CpuDevice>();
      device->set_threads(options.threads);
      return device;
    }
    case DeviceKind::cuda:
      return cuda::make_device({.blocker = options.blocker});
    case DeviceKind::emulator:
      return std::make_unique<EmulatorDevice>();
  }
  return nullptr;
} catch (const DeviceError& error) {
  refuse(error);
}

bool runs_on(const AlgorithmInfo& algorithm, DeviceKind device) {
  if (device == DeviceKind::emulator) return algorithm.device == DeviceKind::cuda && algorithm.emulated;
  return algorithm.device == device;
}

}  // namespace convscope
