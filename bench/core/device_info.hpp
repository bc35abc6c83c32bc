// What a device is and what it can do: its kind and number, its description, its measured ceilings, and the
// phases into which work on it is timed. Plain data.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "bench/core/names.hpp"

namespace convscope {

enum class DeviceKind { cpu, cuda, emulator };
inline constexpr auto kDeviceKinds = enumerators<DeviceKind::emulator>();
inline constexpr std::array<std::string_view, kDeviceKinds.size()> kDeviceKindNames = {"cpu", "cuda",
                                                                                       "emulator"};

// One device of the machine. `index` counts those of its kind from 0; only CUDA has more than one.
struct DeviceId {
  DeviceKind kind = DeviceKind::cpu;
  int index = 0;

  DeviceId() = default;
  DeviceId(DeviceKind the_kind, int the_index = 0) : kind(the_kind), index(the_index) {}
  auto operator<=>(const DeviceId&) const = default;
};

// The parts of one execution. Prepare is Plan::prepare (the filter transform); layout moves between the
// caller's layout and the kernel's own; transform, product and inverse are the arithmetic: im2col | GEMM |
// col2im, or transform | batched product | inverse transform.
enum class Phase { prepare, layout, transform, product, inverse };
inline constexpr auto kPhases = enumerators<Phase::inverse>();
inline constexpr size_t kPhaseCount = kPhases.size();

std::string_view name(DeviceKind);
std::string name(DeviceId);    // "cpu", "cuda" for the first, "cuda:1" for the second
std::string_view name(Phase);  // as spelled above
std::optional<DeviceId> device_from_name(std::string_view);  // a kind is its first device

// One device of this machine, as every record describes it.
struct DeviceInfo {
  DeviceKind kind = DeviceKind::cpu;
  std::string name;          // the processor's own name
  std::string instructions;  // the widest vector set in use: "AVX3", "AVX2"
  int cores = 1;             // usable by this process
  int64_t l1_bytes = 0;      // data cache of one core; of a GPU, shared memory of a multiprocessor
  int64_t l2_bytes = 0;      // of one core; of a GPU all of it
  int64_t llc_bytes = 0;     // last level, all of them that this process's cores have
  int64_t memory_bytes = 0;  // usable by this process
  bool virtualised = false;
  int index = 0;  // among those of its kind
  // bench/device/machine_identity: what decides the speed, and which unit of that class; "" is unknown.
  std::string machine_class{}, machine_unit{};

  DeviceId id() const { return {kind, index}; }
};

// The measured ceilings of one device and thread count; per second, 0 where unknown. See
// bench/measure/ceilings.
struct Ceilings {
  int threads = 1;
  double fma_flops = 0;   // FP32 multiply-adds, 2 per multiply-add
  double copy_bytes = 0;  // read + written
  double read_bytes = 0;
  double cache_read_bytes = 0;  // from the last private cache level; of a GPU from L2
  // Multiply-adds of the tensor cores by operand type, sums in FP32.
  double tf32_flops = 0, bf16_flops = 0, fp16_flops = 0;
  // The time that a cache line takes from one thread of a CPU to the next; 0 with one thread, or if the
  // threads never had cores of their own.
  double core_to_core_latency_seconds = 0;
  DeviceKind device = DeviceKind::cpu;
  int device_index = 0;
};

}  // namespace convscope
