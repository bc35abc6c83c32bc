// The questions of NVML that the program asks, answered by the script: the n-th question of a kind in a
// process gets the n-th reading, and from then on the last. The types are declared here, as NVML's header is
// not part of the CUDA toolkit everywhere; they are those of NVML's API reference.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <mutex>
#include <string>
#include <thread>

#include "bench/standin/libraries/script.hpp"

namespace convscope::standin {
namespace {

enum NvmlStatus {
  kSuccess = 0,
  kUninitialised = 1,
  kInvalidArgument = 2,
  kNotSupported = 3,
  kNotFound = 6,
  kInsufficientSize = 7
};

struct ProcessSample {  // nvmlProcessUtilizationSample_t
  unsigned pid;
  unsigned long long microseconds;
  unsigned multiprocessors, memory, encoder, decoder;
};
struct Rates {  // nvmlUtilization_t
  unsigned gpu, memory;
};

struct NvmlDevice {};
NvmlDevice the_device;

std::mutex mutex;
int initialised = 0;
std::map<std::string, size_t> asked;

bool has_readings(const char* kind) {
  return section("nvml").contains(kind);
}

// Null where the script says that the device does not support it. Under the lock.
const nlohmann::json* next_reading(const char* kind) {
  const nlohmann::json& readings = section("nvml").at(kind);
  if (readings.is_null() || readings.empty()) return nullptr;
  const size_t time = asked[kind]++;
  return &readings.at(time < readings.size() ? time : readings.size() - 1);
}

template <typename T>
int answer(const char* function, void* device, const char* reading, T otherwise, T* value) {
  if (const Fault fault = enter(function)) return fault.status;
  const std::lock_guard lock(mutex);
  if (initialised == 0) return kUninitialised;
  if (device != &the_device || value == nullptr) return kInvalidArgument;
  *value = otherwise;
  if (!has_readings(reading)) return kSuccess;
  const nlohmann::json* const next = next_reading(reading);
  if (next == nullptr) return kNotSupported;
  *value = next->get<T>();
  return kSuccess;
}

// "self" and "parent" are this process and the one that started it.
unsigned process_id(const nlohmann::json& pid) {
  if (pid == "self") return static_cast<unsigned>(getpid());
  return pid == "parent" ? static_cast<unsigned>(getppid()) : pid.get<unsigned>();
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
  const std::string only = section("nvml").value("bus_id", "");
  if (!only.empty() && only != bus_id) return kNotFound;
  *device = &the_device;
  return kSuccess;
}
int nvmlDeviceGetClockInfo(void* device, int clock, unsigned* megahertz) {
  if (clock < 0 || clock > 3) return kInvalidArgument;
  if (has_readings("clock_milliseconds"))
    std::this_thread::sleep_for(
        std::chrono::duration<double, std::milli>(section("nvml").at("clock_milliseconds").get<double>()));
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
  const std::string text = section("nvml").value("vbios", "96.00.74.00.01");
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
int nvmlDeviceGetUtilizationRates(void* device, Rates* rates) {
  if (rates == nullptr) return kInvalidArgument;
  rates->memory = 0;
  return answer("nvmlDeviceGetUtilizationRates", device, "busy", 0U, &rates->gpu);
}
// Each question is of an interval of its own, which ended at the time of the question.
int nvmlDeviceGetProcessUtilization(void* device, ProcessSample* samples, unsigned* count,
                                    unsigned long long since) {
  if (const Fault fault = enter("nvmlDeviceGetProcessUtilization")) return fault.status;
  const std::lock_guard lock(mutex);
  if (initialised == 0) return kUninitialised;
  if (device != &the_device || count == nullptr) return kInvalidArgument;
  if (!has_readings("processes")) return kNotFound;
  const nlohmann::json* const processes = next_reading("processes");
  if (processes == nullptr) return kNotSupported;
  if (processes->empty()) return kNotFound;
  const unsigned room = samples == nullptr ? 0 : *count;
  *count = static_cast<unsigned>(processes->size());
  if (room < *count) return kInsufficientSize;
  const auto now = std::chrono::duration_cast<std::chrono::microseconds>(
      std::chrono::system_clock::now().time_since_epoch());
  const auto end = std::max(static_cast<unsigned long long>(now.count()), since + 1);
  for (const nlohmann::json& process : *processes)
    *samples++ = {process_id(process.at(0)), end, process.at(1).get<unsigned>(), 0, 0, 0};
  return kSuccess;
}

}  // extern "C"
