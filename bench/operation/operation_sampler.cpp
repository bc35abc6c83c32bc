#include "bench/operation/operation_sampler.hpp"

#include <algorithm>

#include "bench/measure/cache_eviction.hpp"
#include "bench/measure/ceilings.hpp"
#include "bench/measure/gpu_quiet_sampler.hpp"
#include "bench/measure/measure_group.hpp"
#include "bench/measure/quiet_sampler.hpp"
#include "bench/measure/sampler.hpp"
#include "bench/measure/tensor_copies.hpp"

namespace convscope {
namespace {

class CpuSampler final : public OperationSampler {
 public:
  CpuSampler(Device& device, Queue& queue, const OperationOptions& options)
      : device_(device), queue_(queue), quiet_(options.known_cores, options.core_patience_seconds) {}

  void begin(const OperationProblem& problem, const BySlot<float>& data,
             std::span<OperationPlan* const> plans) override {
    problem_ = problem;
    timed_.reset();
    timed_.emplace(data, plans, 1, device_);
    is_prepared_.assign(plans.size(), false);
  }

  // Fresh data every time would cost more than all else, and what is updated again and again stays finite.
  double take(size_t plan) override {
    if (!is_prepared_[plan]) timed_->prepare(problem_, plan, queue_);
    is_prepared_[plan] = true;
    return quiet_.take([&] { evict(plan); },
                       [&] {
                         queue_.begin_timing();
                         timed_->plans[plan]->run(timed_->tensors.tensors(0), timed_->kept[plan].at(0),
                                                  queue_);
                         return queue_.end_timing().seconds;
                       });
  }

  int64_t disturbed() const override { return quiet_.disturbed(); }

 private:
  void evict(size_t plan) {
    std::vector<std::span<const std::byte>> memory;
    const auto add = [&](const CopiedBuffer& copied) {
      if (copied.all().bytes() > 0)
        memory.emplace_back(copied.all().as<const std::byte>(), copied.all().bytes());
    };
    for (Slot slot : kSlots) add(timed_->tensors[slot]);
    add(timed_->kept[plan]);
    evict_from_caches(memory);
  }

  Device& device_;
  Queue& queue_;
  QuietSampler quiet_;
  OperationProblem problem_;
  std::optional<TimedPlans> timed_;
  std::vector<bool> is_prepared_;
};

// The fastest of them sizes the samples: one that was held up would make them too short.
constexpr int kPilots = 3;

class GpuSampler final : public OperationSampler {
 public:
  GpuSampler(Device& device, Queue& queue, const OperationOptions& options)
      : device_(device), queue_(queue), quiet_(device, std::min(kBurnInSeconds, options.seconds)) {
    adapt_to_gpu(rule_);
  }

  void begin(const OperationProblem& problem, const BySlot<float>& data,
             std::span<OperationPlan* const> plans) override {
    problem_ = problem;
    timed_.reset();
    int64_t bytes = 0;
    for (const SlotUse& use : problem.slots())
      bytes += problem.elements(use.slot) * static_cast<int64_t>(sizeof(float));
    timed_.emplace(data, plans, cold_copies(bytes, device_.info()), device_);
    iterations_.assign(plans.size(), 0);
  }

  double take(size_t plan) override {
    if (iterations_[plan] == 0) {
      timed_->prepare(problem_, plan, queue_);
      iterations_[plan] = iterations_after_warm_up(plan);
    }
    const Timing timing = quiet_.take([&] { return run(plan, iterations_[plan]); },
                                      [](const Timing& taken) { return taken.held.value_or(true); });
    return timing.seconds / static_cast<double>(iterations_[plan]);
  }

  int64_t disturbed() const override { return quiet_.disturbed(); }

 private:
  Timing run(size_t plan, int64_t iterations) {
    queue_.begin_timing();
    for (int64_t i = 0; i < iterations; ++i) {
      timed_->plans[plan]->run(timed_->tensors.tensors(turn_), timed_->kept[plan].at(turn_), queue_);
      turn_ = (turn_ + 1) % timed_->tensors.count();
    }
    return queue_.end_timing();
  }

  // The first run is not held back: it loads kernels and whatever a library loads.
  int64_t iterations_after_warm_up(size_t plan) {
    turn_ = 0;
    queue_.hold_back(false);
    run(plan, 1);
    queue_.hold_back(true);
    Timing pilot = run(plan, 1);
    for (int more = 1; more < kPilots; ++more)
      if (const Timing next = run(plan, 1); next.seconds < pilot.seconds) pilot = next;
    return iterations_of_sample(pilot.seconds, pilot.operations, rule_, queue_);
  }

  Device& device_;
  Queue& queue_;
  GpuQuietSampler quiet_;
  MeasureOptions rule_;
  OperationProblem problem_;
  std::optional<TimedPlans> timed_;
  std::vector<int64_t> iterations_;  // of a sample of each plan; 0 before its first
  int64_t turn_ = 0;
};

}  // namespace

TimedPlans::TimedPlans(const BySlot<float>& data, std::span<OperationPlan* const> all, int64_t copies,
                       Device& device)
    : plans(all.begin(), all.end()), tensors(data, copies, device) {
  for (const OperationPlan* plan : plans) kept.emplace_back(device, plan->kept_bytes(), copies);
}

void TimedPlans::prepare(const OperationProblem& problem, size_t plan, Queue& queue) {
  queue.synchronize();
  tensors.fill();
  if (!problem.backward) return;
  plans[plan]->prepare(tensors.tensors(0), kept[plan].at(0), queue);
  queue.synchronize();
  tensors.spread();
  kept[plan].spread();
}

std::unique_ptr<OperationSampler> make_operation_sampler(Device& device, Queue& queue,
                                                         const OperationOptions& options) {
  if (device.info().kind == DeviceKind::cpu) return std::make_unique<CpuSampler>(device, queue, options);
  if (device.info().kind == DeviceKind::cuda) return std::make_unique<GpuSampler>(device, queue, options);
  return nullptr;
}

}  // namespace convscope
