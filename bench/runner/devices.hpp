// The kinds of devices, and the devices of this machine: which are present, why others are missing, how one
// is made. The only place that knows every kind; everything else uses Device.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/device/device.hpp"
#include "bench/record/result.hpp"

namespace convscope {

// What holds of every device of a kind.
struct DeviceTraits {
  int64_t default_batch;     // of a config that sets none
  double flops;              // per second (of a CPU per thread): a low guess where no ceilings are measured
  double bytes;              // per second: likewise
  double convolution_flops;  // per second (of a CPU per thread): what --dry-run estimates with
  bool rates_are_per_thread;
};
const DeviceTraits& traits(DeviceKind kind);

struct MissingDevice {
  DeviceKind kind = DeviceKind::cuda;
  std::string why;  // "no CUDA device: ..." with the runtime's words
};

struct DeviceList {
  std::vector<DeviceInfo> present;  // the CPU first, the emulator last
  std::vector<MissingDevice> missing;

  const DeviceInfo* find(DeviceId id) const;  // null where it is missing
  // The sentence for a device that is missing: why its kind is, or which ones of its kind there are.
  std::string why_missing(DeviceId id) const;
};

// Opens none of them.
DeviceList find_devices();
// Throws UsageError with the reason where this machine or build does not have it.
DeviceInfo describe_device(DeviceId id);

// What other programs have of a GPU before this process uses it; up to 2 s where it is in use. Null of other
// devices, of one that is not there, and where the driver does not say.
std::optional<OthersUse> others_on(DeviceId id);

// On how many threads a device computes for --threads `asked`: a CPU on so many, on every core for 0; others
// on 1, whatever is asked. Throws UsageError for more than the CPU has cores.
int threads_on(const DeviceInfo& device, int asked);

struct DeviceOptions {
  int threads = 1;      // of the CPU; the others do not look at it
  bool blocker = true;  // see bench/device/cuda/cuda.hpp
};

// Throws UsageError with the reason where this machine or build does not have it, or not as many cores;
// DeviceError or std::bad_alloc where it is there and cannot be had now.
std::unique_ptr<Device> make_device(DeviceId id, const DeviceOptions& options);

// The algorithms that a device runs are those of its own kind; the emulator runs CUDA's.
bool runs_on(const AlgorithmInfo& algorithm, DeviceKind device);

}  // namespace convscope
