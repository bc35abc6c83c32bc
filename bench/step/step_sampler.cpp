#include "bench/step/step_sampler.hpp"

#include <algorithm>

#include "bench/measure/cache_eviction.hpp"
#include "bench/measure/ceilings.hpp"
#include "bench/measure/gpu_quiet_sampler.hpp"
#include "bench/measure/quiet_sampler.hpp"

namespace convscope {
namespace {

class CpuStepSampler final : public StepSampler {
 public:
  CpuStepSampler(const CoreReading& known_cores, double patience_seconds)
      : quiet_(known_cores, patience_seconds) {}

  std::vector<double> take(const std::function<void()>& prepare,
                           const std::function<std::vector<double>()>& sample) override {
    return quiet_.take(prepare, sample);
  }
  void evict(std::span<const std::span<const std::byte>> memory, Queue&) override {
    evict_from_caches(memory);
  }
  std::optional<double> clock_mhz() override { return measured_clock_mhz(); }
  bool has_clock_between_tasks() const override { return true; }
  int64_t disturbed() const override { return quiet_.disturbed(); }

 private:
  QuietSampler quiet_;
};

class GpuStepSampler final : public StepSampler {
 public:
  GpuStepSampler(Device& device, double seconds)
      : device_(device),
        quiet_(device, std::min(kBurnInSeconds, seconds)),
        half_(static_cast<size_t>(device.info().llc_bytes)),
        other_(device, 2 * half_) {
    device.fill(other_.data(), 0, other_.bytes());
  }

  // Whole steps have more operations than can be held back, so that the first of them are, and give the host
  // a head start.
  std::vector<double> take(const std::function<void()>& prepare,
                           const std::function<std::vector<double>()>& sample) override {
    return quiet_.take(
        [&] {
          prepare();
          return sample();
        },
        [](const auto&) { return true; });
  }
  // L2 holds what was read or written last: twice its size of other data.
  void evict(std::span<const std::span<const std::byte>>, Queue& queue) override {
    queue.copy(other_.data(), other_.as<std::byte>() + half_, half_);
  }
  std::optional<double> clock_mhz() override { return device_.state().clock_mhz; }
  bool has_clock_between_tasks() const override { return false; }
  int64_t disturbed() const override { return quiet_.disturbed(); }

 private:
  Device& device_;
  GpuQuietSampler quiet_;
  size_t half_;  // bytes
  Buffer other_;
};

}  // namespace

std::unique_ptr<StepSampler> make_step_sampler(Device& device, const CoreReading& known_cores,
                                               double seconds) {
  if (device.info().kind == DeviceKind::cpu) return std::make_unique<CpuStepSampler>(known_cores, seconds);
  return std::make_unique<GpuStepSampler>(device, seconds);
}

}  // namespace convscope
