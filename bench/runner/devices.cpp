#include "bench/runner/devices.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "bench/core/counted.hpp"
#include "bench/core/error.hpp"
#include "bench/device/cpu/cpu_device.hpp"
#include "bench/device/cuda/cuda.hpp"
#include "bench/emulator/emulator_device.hpp"
#include "bench/report/format.hpp"

namespace convscope {
namespace {

constexpr const char* kInstead =
    "; --device emulator runs the CUDA kernels on the CPU, for their results, not their time";

// Of CUDA's devices only; the others are always there.
void check_present(DeviceId id) {
  if (id.kind != DeviceKind::cuda || id.index < cuda::device_count()) return;
  throw UsageError(find_devices().why_missing(id));
}

}  // namespace

const DeviceInfo* DeviceList::find(DeviceId id) const {
  const auto found =
      std::find_if(present.begin(), present.end(), [&](const DeviceInfo& info) { return info.id() == id; });
  return found == present.end() ? nullptr : &*found;
}

std::string DeviceList::why_missing(DeviceId id) const {
  for (const MissingDevice& one : missing)
    if (one.kind == id.kind) return one.why + kInstead;
  std::vector<std::string> names;
  for (const DeviceInfo& info : present)
    if (info.kind == id.kind)
      names.push_back(fmt::format("{}:{} {}", name(info.kind), info.index, info.name));
  const std::string_view kind = id.kind == DeviceKind::cuda ? "CUDA" : name(id.kind);
  if (names.empty()) return fmt::format("{}: this machine has no {} device", name(id), kind);
  return fmt::format("{}: this machine has {}: {}", name(id),
                     counted(names.size(), fmt::format("{} device", kind)), comma_list(names));
}

const DeviceTraits& traits(DeviceKind kind) {
  static constexpr DeviceTraits table[] = {
      {.default_batch = 16,
       .flops = 5e10,
       .bytes = 1e10,
       .convolution_flops = 1e10,
       .rates_are_per_thread = true},
      {.default_batch = 256,
       .flops = 1e13,
       .bytes = 3e11,
       .convolution_flops = 1e13,
       .rates_are_per_thread = false},
      {.default_batch = 1,
       .flops = 1e9,
       .bytes = 1e9,
       .convolution_flops = 1e8,
       .rates_are_per_thread = false},
  };
  static_assert(std::size(table) == kDeviceKinds.size());
  return table[static_cast<size_t>(kind)];
}

DeviceList find_devices() {
  DeviceList list;
  list.present.push_back(describe_cpu());
  if (const std::string defect = cuda::device_defect(); defect.empty())
    for (int index = 0; index < cuda::device_count(); ++index)
      list.present.push_back(cuda::describe_device(index));
  else
    list.missing.push_back({DeviceKind::cuda, "no CUDA device: " + defect});
  list.present.push_back(EmulatorDevice().info());
  return list;
}

DeviceInfo describe_device(DeviceId id) {
  check_present(id);
  switch (id.kind) {
    case DeviceKind::cpu:
      return describe_cpu();
    case DeviceKind::cuda:
      return cuda::describe_device(id.index);
    case DeviceKind::emulator:
      return EmulatorDevice().info();
  }
  return {};
}

std::optional<OthersUse> others_on(DeviceId id) {
  const bool is_there = id.kind == DeviceKind::cuda && id.index < cuda::device_count();
  return is_there ? cuda::others_on(id.index) : std::nullopt;
}

int threads_on(const DeviceInfo& device, int asked) {
  if (device.kind != DeviceKind::cpu) return 1;
  if (asked > device.cores)
    throw UsageError(
        fmt::format("--threads: found {}; allowed is 0 (every core) to {}, the cores of this machine", asked,
                    device.cores));
  return asked == 0 ? device.cores : asked;
}

std::unique_ptr<Device> make_device(DeviceId id, const DeviceOptions& options) {
  check_present(id);
  switch (id.kind) {
    case DeviceKind::cpu: {
      auto device = std::make_unique<CpuDevice>();
      device->set_threads(options.threads);
      return device;
    }
    case DeviceKind::cuda:
      return cuda::make_device({.device = id.index, .blocker = options.blocker});
    case DeviceKind::emulator:
      return std::make_unique<EmulatorDevice>();
  }
  return nullptr;
}

bool runs_on(const AlgorithmInfo& algorithm, DeviceKind device) {
  if (device == DeviceKind::emulator) return algorithm.device == DeviceKind::cuda && algorithm.emulated;
  return algorithm.device == device;
}

}  // namespace convscope
