// Where work runs: memory, a queue of work with a clock in it, and what the machine is. The CPU lives in
// cpu/. Not here: thread counts of a run (CpuDevice::set_threads) and ceilings (bench/measure).
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/core/device_info.hpp"

namespace convscope {

// The clock's reading over one begin_timing / end_timing pair, in seconds. A phase that was never marked is
// null.
struct Timing {
  double seconds = 0;
  std::array<std::optional<double>, kPhaseCount> phase_seconds;
  std::vector<double> lap_seconds;  // of each lap(): since begin_timing or the lap() before
  // On a GPU: false where the work began before all of it was enqueued, so that gaps of the host may be in
  // the seconds. Null where work is never held back.
  std::optional<bool> held;
  // Places in the device's queue of launches that the work took; 0 where there is no such queue.
  int64_t operations = 0;
};

// What other programs had of a device in the last interval that its driver counted.
struct OthersUse {
  double share = 0;  // of its time: the sum over programs, or before this one uses it that of all together
  std::string programs;  // "python (pid 4242) 60%, pid 4243 20%"; empty where they are not known

  // "60% of the time: python (pid 4242) 60%"
  std::string text() const;
};

// The device's condition right now; what cannot be read is null.
struct DeviceState {
  std::optional<double> clock_mhz, power_watts, temperature_celsius;
  std::string throttle_reasons;  // the driver's, with commas: "power cap, hot"; empty where there are none
  // One of the reasons is heat or a fault. The power cap is not: it belongs to the device.
  bool is_held_down = false;
  std::optional<OthersUse> others = std::nullopt;  // null where nobody counts
};

// Work is enqueued in order; on a CPU it is done when the call returns. Not thread-safe.
class Queue {
 public:
  virtual ~Queue() = default;
  virtual void synchronize() = 0;
  // Enqueues a copy within the device's memory of `rows` ranges of `bytes` each, whose beginnings are
  // `to_step` and `from_step` bytes apart. Ranges do not overlap.
  virtual void copy_rows(void* to, size_t to_step, const void* from, size_t from_step, size_t bytes,
                         size_t rows) = 0;
  // The same of one range.
  virtual void copy(void* to, const void* from, size_t bytes) { copy_rows(to, bytes, from, bytes, bytes, 1); }

  // What is enqueued from here on begins when all is done that `other`, a queue of the same device, was given
  // before.
  virtual void wait_for(Queue& other) = 0;

  // Whether phase() counts in the timings from here on, as it does at first. On a GPU each mark costs time of
  // its own; the CPU marks always.
  virtual void mark_phases(bool) {}
  // Whether the timings that begin from here on hold their work back until all of it is enqueued, as a GPU's
  // do at first. What runs for the first time may load kernels, allocate or initialise a library, each of
  // which can wait for the device: such work is timed with `false`. (A queue lets go by itself of a kernel
  // that it has not launched before, and of whatever takes too long: Timing::held is then false.)
  virtual void hold_back(bool) {}
  // The most Timing::operations that can be held back; null where any number can.
  virtual std::optional<int64_t> max_held_operations() const { return std::nullopt; }
  virtual void begin_timing() = 0;
  // Work enqueued from here to the next phase(), end_phase() or end_timing() counts as `phase`. Cheap (one
  // clock reading), allowed outside a timing (ignored), and to be called outside parallel regions only. An
  // algorithm whose phases are fused simply marks none.
  virtual void phase(Phase phase) = 0;
  virtual void end_phase() = 0;
  // Ends a lap of the timing: Timing::lap_seconds. Costs as much as phase(); outside a timing it is ignored.
  virtual void lap() = 0;
  // Waits for the work and returns the time since begin_timing.
  virtual Timing end_timing() = 0;
};

// One device of the machine, its allocator included. allocate throws std::bad_alloc.
class Device {
 public:
  virtual ~Device() = default;
  virtual const DeviceInfo& info() const = 0;
  virtual std::unique_ptr<Queue> make_queue() = 0;

  virtual void* allocate(size_t bytes) = 0;  // aligned to a page, on a GPU to 256 bytes
  virtual void release(void* data) noexcept = 0;
  virtual void copy_to_device(void* to, const void* from, size_t bytes) = 0;
  virtual void copy_to_host(void* to, const void* from, size_t bytes) = 0;
  // Sets every byte; done when it returns, as the copies are.
  virtual void fill(void* data, unsigned char byte, size_t bytes);

  // What can still be allocated without leaving too little for what the device itself loads and keeps.
  virtual int64_t usable_bytes() { return info().memory_bytes; }

  // From here on nothing but copies may touch these bytes of an allocation. The emulator tells the address
  // sanitizer so; other devices have no means.
  virtual void protect(const void*, size_t) {}

  virtual DeviceState state() { return {}; }
};

}  // namespace convscope
