// The queue of the emulated device: runs launches as they come, block after block. Not here: what a block
// does (block_runner.hpp).
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bench/device/device.hpp"
#include "bench/emulator/block_runner.hpp"
#include "bench/emulator/emulator_device.hpp"
#include "bench/emulator/options.hpp"

namespace convscope::emulated {

// All blocks of a launch, in forward order, on this thread and without a queue; what went wrong, or an empty
// string.
std::string run_grid(dim3 grid, dim3 block, size_t smem_bytes, const std::function<void()>& body);

// Is told of the work that a queue is given, and says how much of it is done. For tests at sizes for which
// the emulator has no time: they look at the launches alone, or run some blocks of each.
class LaunchWatch {
 public:
  virtual ~LaunchWatch() = default;
  // A launch that a GPU accepts, before it runs: the numbers of the blocks that are to run.
  virtual std::vector<size_t> blocks(const CallSite& site, const dim3& grid) = 0;
  // A call of cuBLAS or cuFFT with good operands: whether it is to be computed.
  virtual bool computes(const char* library) = 0;
  virtual void waited() = 0;
};

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
  // Throws DeviceError where a range is not device memory.
  void copy_rows(void* to, size_t to_step, const void* from, size_t from_step, size_t bytes,
                 size_t rows) override;
  void wait_for(Queue&) override {}
  void mark_phases(bool on) override { marks_phases_ = on; }
  void begin_timing() override { timing_ = Timing{}; }
  void phase(Phase phase) override {
    if (timing_ && marks_phases_) timing_->phase_seconds[static_cast<size_t>(phase)] = 0;
  }
  void end_phase() override {}
  void lap() override {
    if (timing_) timing_->lap_seconds.push_back(0);
  }
  // 0 for the whole, each lap and each phase that was marked.
  Timing end_timing() override { return std::exchange(timing_, {}).value_or(Timing{}); }

 private:
  std::vector<size_t> block_order(size_t blocks) const;

  DeviceMemory& memory_;
  EmulatorOptions options_;
  LaunchWatch* watch_;
  std::optional<Timing> timing_;
  bool marks_phases_ = true;
};

}  // namespace convscope::emulated
