#include "bench/device/cuda/nvml.hpp"

#include <utility>

namespace convscope::cuda {
namespace {

constexpr int kSuccess = 0;
constexpr int kSmClock = 1;         // NVML_CLOCK_SM
constexpr int kGpuTemperature = 0;  // NVML_TEMPERATURE_GPU

}  // namespace

Nvml::Nvml(const std::string& bus_id) : library_({"libnvidia-ml.so.1"}, "") {
  const auto initialise = library_.function<int()>("nvmlInit_v2");
  const auto find = library_.function<int(const char*, void**)>("nvmlDeviceGetHandleByPciBusId_v2");
  if (initialise == nullptr || find == nullptr || initialise() != kSuccess) return;
  void* device = nullptr;
  if (find(bus_id.c_str(), &device) == kSuccess)
    device_ = device;
  else if (const auto shut_down = library_.function<int()>("nvmlShutdown"))
    shut_down();
}

Nvml::~Nvml() {
  const auto shut_down = library_.function<int()>("nvmlShutdown");
  if (device_ != nullptr && shut_down != nullptr) shut_down();
}

std::optional<double> Nvml::ask(const char* function, double unit) const {
  const auto question = library_.function<Question>(function);
  unsigned answer = 0;
  if (question == nullptr || question(device_, &answer) != kSuccess) return std::nullopt;
  return unit * answer;
}

std::optional<double> Nvml::ask(const char* function, int kind) const {
  const auto question = library_.function<int(void*, int, unsigned*)>(function);
  unsigned answer = 0;
  if (question == nullptr || question(device_, kind, &answer) != kSuccess) return std::nullopt;
  return answer;
}

DeviceState Nvml::state() const {
  DeviceState state;
  if (device_ == nullptr) return state;
  state.clock_mhz = ask("nvmlDeviceGetClockInfo", kSmClock);
  state.temperature_celsius = ask("nvmlDeviceGetTemperature", kGpuTemperature);
  state.power_watts = ask("nvmlDeviceGetPowerUsage", 1e-3);
  // Drivers before 535 know the same by its older name.
  using Reasons = int(void*, unsigned long long*);
  auto reasons = library_.function<Reasons>("nvmlDeviceGetCurrentClocksEventReasons");
  if (reasons == nullptr) reasons = library_.function<Reasons>("nvmlDeviceGetCurrentClocksThrottleReasons");
  unsigned long long bits = 0;
  if (reasons != nullptr && reasons(device_, &bits) == kSuccess)
    state.throttle_reasons = throttle_reasons(bits);
  return state;
}

std::string throttle_reasons(unsigned long long bits) {
  constexpr std::pair<unsigned long long, const char*> kNames[] = {{0x04, "power cap"},
                                                                   {0x08, "hardware slowdown"},
                                                                   {0x20, "hot (software)"},
                                                                   {0x40, "hot (hardware)"},
                                                                   {0x80, "power brake"}};
  std::string text;
  for (const auto& [bit, name] : kNames)
    if ((bits & bit) != 0) text += (text.empty() ? "" : ", ") + std::string(name);
  return text;
}

}  // namespace convscope::cuda
