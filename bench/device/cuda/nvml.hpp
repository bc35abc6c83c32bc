// The state of a GPU from NVIDIA's management library, which comes with the driver: clock, power,
// temperature, throttle reasons, and what other programs have of it. Loaded at run time; without it nothing
// is known, and that is no error.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "bench/device/cuda/gpu_programs.hpp"
#include "bench/device/cuda/shared_library.hpp"
#include "bench/device/device.hpp"
#include "bench/device/machine_identity.hpp"

namespace convscope::cuda {

// Of a device of the runtime, as "0000:3b:00.0". Throws DeviceError.
std::string pci_address(int device);

class Nvml {
 public:
  // `address`: a pci_address().
  explicit Nvml(const std::string& address);
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  // What decides the device's speed and only the driver knows: VBIOS, power limit and max clocks; "" where
  // it does not say.
  MachineFacts facts() const;

  // The clock right now; the rest at most 50 ms old, and other programs as GpuPrograms::now() has them. The
  // driver takes its time to answer, and its power is a mean over longer than that.
  DeviceState state();

  // GpuPrograms::before_use().
  std::optional<OthersUse> others_before_use();

 private:
  static constexpr std::chrono::milliseconds kSlowInterval{50};
  // Functions of the library: they write a number about the device, and return 0 for success.
  using Question = int(void* device, unsigned* answer);
  using KindQuestion = int(void* device, int kind, unsigned* answer);
  using Reasons = int(void* device, unsigned long long* bits);
  // The answer of one of the first two sorts; null where there is no such function or it fails.
  template <typename Function, typename... Kind>
  std::optional<unsigned> ask(Function* question, Kind... kind) const;
  // The same of a function's name, as text; "" for null.
  template <typename Function, typename... Kind>
  std::string number(const char* question, Kind... kind) const;

  SharedLibrary library_;
  void* device_ = nullptr;
  KindQuestion *clock_ = nullptr, *temperature_ = nullptr;  // null where the driver has none
  Question* power_ = nullptr;
  Reasons* reasons_ = nullptr;
  std::optional<GpuPrograms> programs_;
  DeviceState last_;
  std::optional<std::chrono::steady_clock::time_point> slow_read_;
};

// The names of the bits of nvmlDeviceGetCurrentClocksEventReasons that slow a device down; idle and
// settings of the user's own choice are not among them.
std::string throttle_reasons(unsigned long long bits);
// Whether one of those is heat or a fault of the hardware or of its power, and not the power cap.
bool is_held_down(unsigned long long bits);

}  // namespace convscope::cuda
