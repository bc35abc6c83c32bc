// The state of a GPU from NVIDIA's management library, which comes with the driver: clock, power,
// temperature, throttle reasons. Loaded at run time; without it nothing is known, and that is no error.
#pragma once

#include <string>

#include "bench/device/cuda/shared_library.hpp"
#include "bench/device/device.hpp"

namespace convscope::cuda {

class Nvml {
 public:
  // `bus_id` is the device's PCI address, as "0000:3b:00.0".
  explicit Nvml(const std::string& bus_id);
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  DeviceState state() const;

 private:
  // Writes one whole number about the device; 0 is success. The type of most of the library's questions.
  using Question = int(void* device, unsigned* answer);
  std::optional<double> ask(const char* function, double unit) const;
  std::optional<double> ask(const char* function, int kind) const;

  SharedLibrary library_;
  void* device_ = nullptr;
};

// The names of the bits of nvmlDeviceGetCurrentClocksEventReasons that slow a device down; idle and
// settings of the user's own choice are not among them.
std::string throttle_reasons(unsigned long long bits);

}  // namespace convscope::cuda
