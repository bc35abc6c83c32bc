// The questions of NVML that the program asks, answered by the script: the n-th question of a kind in a
// process gets the n-th reading, and from then on the last. The types are declared here, as NVML's header is
// not part of the CUDA toolkit everywhere; they are those of NVML's API reference.
#include <map>
#include <mutex>
#include <string>

#include "bench/standin/libraries/script.hpp"

namespace convscope::standin {
namespace {

enum NvmlStatus { kSuccess = 0, kUninitialised = 1, kInvalidArgument = 2, kNotSupported = 3, kNotFound = 6 };

struct NvmlDevice {};
NvmlDevice the_device;

std::mutex mutex;
int initialised = 0;
std::map<std::string, size_t> asked;

template <typename T>
int answer(const char* function, void* device, const char* reading, T otherwise, T* value) {
  if (const Fault fault = enter(function)) return fault.status;
  const std::lock_guard lock(mutex);
  if (initialised == 0) return kUninitialised;
  if (device != &the_device || value == nullptr) return kInvalidArgument;
  *value = otherwise;
  const nlohmann::json& nvml = section("nvml");
  if (!nvml.is_object() || !nvml.contains(reading)) return kSuccess;
  const nlohmann::json& readings = nvml.at(reading);
  if (readings.is_null() || readings.empty()) return kNotSupported;
  const size_t time = asked[reading]++;
  *value = readings.at(time < readings.size() ? time : readings.size() - 1).get<T>();
  return kSuccess;
}

}  // namespace
}  // namespace convscope::standin

using namespace convscope::standin;

extern "C" {

int nvmlInit_v2() {
  if (const Fault fault = enter("nvmlInit_v2")) return fault.status;
  const std::lock_guard lock(mutex);
  ++initialised;
  return kSuccess;
}
int nvmlShutdown() {
  const std::lock_guard lock(mutex);
  if (initialised == 0) return kUninitialised;
  --initialised;
  return kSuccess;
}
int nvmlDeviceGetHandleByPciBusId_v2(const char* bus_id, void** device) {
  if (const Fault fault = enter("nvmlDeviceGetHandleByPciBusId_v2")) return fault.status;
  const std::lock_guard lock(mutex);
  if (initialised == 0) return kUninitialised;
  if (bus_id == nullptr || device == nullptr) return kInvalidArgument;
  // No other device is known.
  const nlohmann::json& nvml = section("nvml");
  const std::string only = nvml.is_object() ? nvml.value("bus_id", "") : "";
  if (!only.empty() && only != bus_id) return kNotFound;
  *device = &the_device;
  return kSuccess;
}
int nvmlDeviceGetClockInfo(void* device, int clock, unsigned* megahertz) {
  if (clock < 0 || clock > 3) return kInvalidArgument;
  return answer("nvmlDeviceGetClockInfo", device, "clock_mhz", 1980U, megahertz);
}
int nvmlDeviceGetMaxClockInfo(void* device, int clock, unsigned* megahertz) {
  if (clock < 0 || clock > 3) return kInvalidArgument;
  return answer("nvmlDeviceGetMaxClockInfo", device, "max_clock_mhz", 1980U, megahertz);
}
int nvmlDeviceGetEnforcedPowerLimit(void* device, unsigned* milliwatts) {
  return answer("nvmlDeviceGetEnforcedPowerLimit", device, "power_limit_mw", 700000U, milliwatts);
}
int nvmlDeviceGetVbiosVersion(void* device, char* version, unsigned length) {
  if (const Fault fault = enter("nvmlDeviceGetVbiosVersion")) return fault.status;
  if (device != &the_device || version == nullptr || length < 32) return kInvalidArgument;
  const nlohmann::json& nvml = section("nvml");
  const std::string text = nvml.is_object() ? nvml.value("vbios", "96.00.74.00.01") : "96.00.74.00.01";
  version[text.copy(version, length - 1)] = 0;
  return kSuccess;
}
int nvmlDeviceGetTemperature(void* device, int sensor, unsigned* celsius) {
  if (sensor != 0) return kInvalidArgument;
  return answer("nvmlDeviceGetTemperature", device, "temperature_c", 45U, celsius);
}
int nvmlDeviceGetPowerUsage(void* device, unsigned* milliwatts) {
  return answer("nvmlDeviceGetPowerUsage", device, "power_mw", 350000U, milliwatts);
}
int nvmlDeviceGetCurrentClocksEventReasons(void* device, unsigned long long* reasons) {
  return answer("nvmlDeviceGetCurrentClocksEventReasons", device, "reasons", 0ULL, reasons);
}
int nvmlDeviceGetCurrentClocksThrottleReasons(void* device, unsigned long long* reasons) {
  return answer("nvmlDeviceGetCurrentClocksThrottleReasons", device, "reasons", 0ULL, reasons);
}

}  // extern "C"
