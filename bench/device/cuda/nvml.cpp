#include "bench/device/cuda/nvml.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include "bench/device/cuda/check.hpp"

namespace convscope::cuda {
namespace {

constexpr int kSuccess = 0;
constexpr int kSmClock = 1;         // NVML_CLOCK_SM
constexpr int kMemoryClock = 2;     // NVML_CLOCK_MEM
constexpr int kGpuTemperature = 0;  // NVML_TEMPERATURE_GPU

}  // namespace

std::string pci_address(int device) {
  std::array<char, 32> address{};
  check(cudaDeviceGetPCIBusId(address.data(), address.size(), device), "cudaDeviceGetPCIBusId");
  return address.data();
}

Nvml::Nvml(const std::string& address) : library_({"libnvidia-ml.so.1"}, "") {
  const auto initialise = library_.function<int()>("nvmlInit_v2");
  const auto find = library_.function<int(const char*, void**)>("nvmlDeviceGetHandleByPciBusId_v2");
  if (initialise == nullptr || find == nullptr || initialise() != kSuccess) return;
  void* device = nullptr;
  if (find(address.c_str(), &device) == kSuccess)
    device_ = device;
  else if (const auto shut_down = library_.function<int()>("nvmlShutdown"))
    shut_down();
  programs_.emplace(library_, device_);
  clock_ = library_.function<KindQuestion>("nvmlDeviceGetClockInfo");
  temperature_ = library_.function<KindQuestion>("nvmlDeviceGetTemperature");
  power_ = library_.function<Question>("nvmlDeviceGetPowerUsage");
  // Drivers before 535 know the same by its older name.
  reasons_ = library_.function<Reasons>("nvmlDeviceGetCurrentClocksEventReasons");
  if (reasons_ == nullptr) reasons_ = library_.function<Reasons>("nvmlDeviceGetCurrentClocksThrottleReasons");
}

Nvml::~Nvml() {
  const auto shut_down = library_.function<int()>("nvmlShutdown");
  if (device_ != nullptr && shut_down != nullptr) shut_down();
}

template <typename Function, typename... Kind>
std::optional<unsigned> Nvml::ask(Function* question, Kind... kind) const {
  unsigned answer = 0;
  if (question == nullptr || question(device_, kind..., &answer) != kSuccess) return std::nullopt;
  return answer;
}

template <typename Function, typename... Kind>
std::string Nvml::number(const char* question, Kind... kind) const {
  const std::optional<unsigned> answer = ask(library_.function<Function>(question), kind...);
  return answer ? std::to_string(*answer) : "";
}

MachineFacts Nvml::facts() const {
  if (device_ == nullptr) return {};
  std::array<char, 64> vbios{};
  const auto ask = library_.function<int(void*, char*, unsigned)>("nvmlDeviceGetVbiosVersion");
  if (ask == nullptr || ask(device_, vbios.data(), vbios.size()) != kSuccess) vbios[0] = 0;
  return {{"vbios", vbios.data()},
          {"power limit", number<Question>("nvmlDeviceGetEnforcedPowerLimit")},
          {"max sm clock", number<KindQuestion>("nvmlDeviceGetMaxClockInfo", kSmClock)},
          {"max memory clock", number<KindQuestion>("nvmlDeviceGetMaxClockInfo", kMemoryClock)}};
}

DeviceState Nvml::state() {
  if (device_ == nullptr) return {};
  const auto now = std::chrono::steady_clock::now();
  if (!slow_read_ || now - *slow_read_ >= kSlowInterval) {
    slow_read_ = now;
    last_.temperature_celsius = ask(temperature_, kGpuTemperature);
    last_.power_watts = ask(power_);
    if (last_.power_watts) *last_.power_watts *= 1e-3;  // from milliwatts
    unsigned long long bits = 0;
    if (reasons_ == nullptr || reasons_(device_, &bits) != kSuccess) bits = 0;
    last_.throttle_reasons = throttle_reasons(bits);
    last_.is_held_down = is_held_down(bits);
  }
  last_.others = programs_->now();
  last_.clock_mhz = ask(clock_, kSmClock);
  return last_;
}

std::optional<OthersUse> Nvml::others_before_use() {
  return device_ == nullptr ? std::nullopt : programs_->before_use();
}

namespace {

constexpr unsigned long long kPowerCap = 0x04;
constexpr std::pair<unsigned long long, const char*> kNames[] = {{kPowerCap, "power cap"},
                                                                 {0x08, "hardware slowdown"},
                                                                 {0x20, "hot (software)"},
                                                                 {0x40, "hot (hardware)"},
                                                                 {0x80, "power brake"}};

}  // namespace

bool is_held_down(unsigned long long bits) {
  return std::ranges::any_of(
      kNames, [&](const auto& name) { return name.first != kPowerCap && (bits & name.first) != 0; });
}

std::string throttle_reasons(unsigned long long bits) {
  std::string text;
  for (const auto& [bit, name] : kNames)
    if ((bits & bit) != 0) text += (text.empty() ? "" : ", ") + std::string(name);
  return text;
}

}  // namespace convscope::cuda
