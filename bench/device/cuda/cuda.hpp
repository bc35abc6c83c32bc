// What the rest of the program may ask of CUDA, in builds with it and without (unavailable/cuda.cpp). Kernels
// are not here: a .cu file includes bench/device/kernel/kernel.hpp.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "bench/core/device_info.hpp"
#include "bench/device/device.hpp"
#include "bench/device/memory_load.hpp"

namespace convscope::cuda {

// Why there is no CUDA device, as the runtime says; empty where there is one.
std::string device_defect();

// How many devices the runtime shows; 0 where device_defect() says why there is none.
int device_count();

// One of them, counted from 0, as make_device() would make it, without taking hold of it. Throws DeviceError
// where there is none.
DeviceInfo describe_device(int device = 0);

// What programs have of it, for a process that does not use it yet: up to 2 s where it is in use. Null where
// the driver does not say.
std::optional<OthersUse> others_on(int device);

struct Options {
  int device = 0;
  // Holds a timing's work back until all of it is enqueued, so that the host's gaps are not in it. Off where
  // every launch must end before the next, as under some profilers.
  bool blocker = true;
};

// Becomes the calling thread's current device. Throws DeviceError where there is none.
std::unique_ptr<Device> make_device(const Options& options);

// The rates of a device that make_device() made; takes about a second. Throws DeviceError.
Ceilings measure_ceilings(Device& device);

// Keeps its multiply-add units busy for `seconds`, to bring an idle device to its clock.
void burn_in(Device& device, double seconds);

// make_memory_load() of a device that make_device() made.
std::unique_ptr<MemoryLoad> make_memory_load(const LoadRate& rate, Device& device);

}  // namespace convscope::cuda
