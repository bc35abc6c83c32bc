#include "bench/step/rank_sums.hpp"

#include <utility>

#include "bench/device/cpu/cpu_device.hpp"
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
    return quiet_slowest_rank(fabric_, work, disturbed);
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
  double slowest(const std::function<void()>& work, int64_t&) override {
    return slowest_rank(ranks_, [&](Clock::time_point) { work(); });
  }

 private:
  Fabric& ranks_;
  Device& device_;
  GpuSums gpu_;
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
