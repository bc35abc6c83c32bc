// The queue of the emulated device: runs launches as they come, block after block. Not here: what a block
// does (block_runner.hpp).
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bench/device/device.hpp"
#include "bench/emulator/block_runner.hpp"
#include "bench/emulator/device_memory.hpp"
#include "bench/emulator/launch_watch.hpp"
#include "bench/emulator/options.hpp"

namespace convscope::emulated {

// All blocks of a launch, in forward order, on this thread and without a queue; what went wrong, or an empty
// string.
std::string run_grid(dim3 grid, dim3 block, size_t smem_bytes, const std::function<void()>& body);

class EmulatorQueue final : public Queue {
 public:
  // `watch`, if any, must outlive the queue.
  EmulatorQueue(DeviceMemory& memory, EmulatorOptions options, LaunchWatch* watch = nullptr)
      : memory_(memory), options_(options), watch_(watch) {}

  // Throws DeviceError when `queue` is another device's.
  static EmulatorQueue& of(Queue& queue, const char* who);

  // As executor::run. `pointers` are the kernel's arguments that must be device memory or null.
  void launch(const LaunchGrid<dim3>& grid, dim3 block, size_t smem_bytes,
              std::span<const void* const> pointers, const std::function<void()>& body);
  DeviceMemory& memory() { return memory_; }

  // Whether a library's call is to be computed.
  bool computes(const char* library) { return watch_ == nullptr || watch_->computes(library); }

  void synchronize() override {
    if (watch_ != nullptr) watch_->waited();
  }
  void mark_phases(bool on) override { marks_phases_ = on; }
  void begin_timing() override;
  void phase(Phase phase) override;
  void end_phase() override {}
  Timing end_timing() override;  // 0 for the whole and for each phase that was marked

 private:
  std::vector<size_t> block_order(size_t blocks) const;

  DeviceMemory& memory_;
  EmulatorOptions options_;
  LaunchWatch* watch_;
  executor::BlockRunner runner_;
  std::optional<Timing> timing_;
  bool marks_phases_ = true;
};

}  // namespace convscope::emulated
