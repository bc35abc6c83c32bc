#include "bench/step/rank_sums.hpp"

#include <chrono>
#include <optional>
#include <thread>
#include <utility>

#include "bench/device/cpu/cpu_device.hpp"
#include "bench/measure/gpu_quiet_sampler.hpp"
#include "bench/parallel/allreduce/device_values.hpp"
#include "bench/parallel/fabric/communication_queue.hpp"
#include "bench/parallel/fabric/slowest_rank.hpp"

namespace convscope {
namespace {

// Communication takes a core that compute leaves free; where there is none it shares the first one.
std::function<void()> on_a_free_core(const Device& device, int compute_threads) {
  if (compute_threads >= device.info().cores) return {};
  return [compute_threads] { pin_this_thread(compute_threads); };
}

class CpuSums final : public RankSums {
 public:
  CpuSums(Fabric& fabric, Device& device, int compute_threads)
      : fabric_(fabric),
        device_(device),
        queue_(device.make_queue()),
        communication_(on_a_free_core(device, compute_threads)) {}

  Fabric& fabric() override { return fabric_; }
  Queue& queue() override { return *queue_; }
  std::unique_ptr<GradientSum> make(const StepCase& of, const TrainingStep& step) override {
    if (!of.by_library) return gradient_sum(of, step, fabric_.rank(), device_, *queue_);
    return gradient_sum_by([this](std::span<float> values) { fabric_.library_all_reduce(values); });
  }
  void begin_after(Queue&, std::function<void()> sum) override { communication_.post(std::move(sum)); }
  void finish() override { communication_.wait(); }
  double slowest(const std::function<void()>& work, int64_t& disturbed) override {
    const auto run = [&] {
      if (work) work();
    };
    return quiet_slowest_rank(fabric_, run, disturbed, work != nullptr);
  }

 private:
  Fabric& fabric_;
  Device& device_;
  std::unique_ptr<Queue> queue_;
  CommunicationQueue communication_;
};

class DeviceSums final : public RankSums {
 public:
  DeviceSums(Fabric& fabric, Device& device, const GpuSums& gpu)
      : ranks_(fabric),
        device_(device),
        gpu_(gpu),
        fabric_(fabric.rank(), fabric.size(), gpu.communicator, device, gpu.queue) {
    gpu.queue.hold_back(false);
  }

  Fabric& fabric() override { return fabric_; }
  Queue& queue() override { return gpu_.queue; }
  std::unique_ptr<GradientSum> make(const StepCase& of, const TrainingStep& step) override {
    if (!of.by_library) return gradient_sum(of, step, fabric_.rank(), device_, gpu_.queue);
    return gradient_sum_by(
        [this](std::span<float> values) { gpu_.communicator.all_reduce(values, gpu_.queue); });
  }
  // A sum is enqueued at once, and the queues run beside each other.
  void begin_after(Queue& compute, std::function<void()> sum) override {
    gpu_.queue.wait_for(compute);
    sum();
  }
  void finish() override { gpu_.communicator.wait(gpu_.queue); }
  double slowest(const std::function<void()>& work, int64_t& disturbed) override {
    // Right before the first sample, when the checks have kept all GPUs busy.
    if (!watch_) watch_.emplace(device_, 0, 0);
    const auto sample = [&] {
      const DeviceState state = state_for_a_sample(work != nullptr);
      const bool was_slowed = work && watch_->is_slowed(state);
      const double seconds = slowest_rank(ranks_, [&](Clock::time_point) {
        if (work) work();
      });
      return std::pair(seconds, was_slowed);
    };
    return quiet_slowest(ranks_, sample, disturbed);
  }

 private:
  // Waits with all ranks while other programs use the GPU of one that works, kPatience in all: a sample that
  // is taken again at once is judged by the same interval of the driver's.
  DeviceState state_for_a_sample(bool works) {
    for (;;) {
      const DeviceState state = works ? device_.state() : DeviceState();
      if (largest_over_ranks(ranks_, is_worth_waiting(state) ? 1 : 0) == 0 || waited_ >= kPatience)
        return state;
      std::this_thread::sleep_for(kPause);
      waited_ += kPause;
    }
  }

  static constexpr std::chrono::milliseconds kPause{50}, kPatience{2000};

  Fabric& ranks_;
  Device& device_;
  GpuSums gpu_;
  std::optional<GpuWatch> watch_;  // never waits by itself
  std::chrono::milliseconds waited_{0};
  DeviceFabric fabric_;
};

}  // namespace

std::unique_ptr<RankSums> sums_on_cpus(Fabric& fabric, Device& device, int compute_threads) {
  return std::make_unique<CpuSums>(fabric, device, compute_threads);
}

std::unique_ptr<RankSums> sums_on_gpus(Fabric& fabric, Device& device, const GpuSums& gpu) {
  return std::make_unique<DeviceSums>(fabric, device, gpu);
}

}  // namespace convscope
