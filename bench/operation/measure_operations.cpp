#include "bench/operation/measure_operations.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <new>
#include <numeric>
#include <utility>

#include "bench/algorithm/algorithm.hpp"
#include "bench/core/error.hpp"
#include "bench/core/random.hpp"
#include "bench/core/stopwatch.hpp"
#include "bench/device/device_error.hpp"
#include "bench/measure/statistics.hpp"
#include "bench/operation/operation_sampler.hpp"
#include "bench/verify/operation_reference.hpp"

namespace convscope {
namespace {

class OperationMeasurement {
 public:
  OperationMeasurement(Device& device, const OperationOptions& options)
      : device_(device),
        queue_(device.make_queue()),
        options_(options),
        sampler_(make_operation_sampler(device, *queue_, options)) {}

  // Fills in rows that have everything but what is measured.
  void measure(const OperationProblem& problem, std::span<const OperationAlgorithm* const> providers,
               std::span<OperationRow> rows) {
    const BySlot<float> data = operation_data(problem, options_.seed);
    std::vector<std::unique_ptr<OperationPlan>> plans(rows.size());
    {
      const BySlot<double> expected = operation_reference(problem, data);
      OperationBuffers buffers(data, device_);
      for (size_t i = 0; i < rows.size(); ++i) {
        plans[i] = plan_of(problem, *providers[i], rows[i]);
        if (plans[i]) check(problem, *plans[i], buffers, data, expected, rows[i]);
      }
    }
    if (sampler_ != nullptr) time_in_turn(problem, data, plans, rows);
  }

 private:
  // Null where there is none, with the reason in the row.
  std::unique_ptr<OperationPlan> plan_of(const OperationProblem& problem, const OperationAlgorithm& provider,
                                         OperationRow& row) {
    if (const auto refusal = provider.refusal(problem)) {
      row.note = *refusal;
      return nullptr;
    }
    try {
      return provider.plan(problem, device_);
    } catch (const DeviceLost&) {
      throw;
    } catch (const std::bad_alloc&) {  // says nothing of the provider
      throw;
    } catch (const std::exception& fault) {
      row.note = fault.what();
      return nullptr;
    }
  }

  void check(const OperationProblem& problem, OperationPlan& plan, OperationBuffers& buffers,
             const BySlot<float>& data, const BySlot<double>& expected, OperationRow& row) {
    const Buffer kept(device_, static_cast<size_t>(plan.kept_bytes()));
    OperationCheck found;
    try {
      found = check_operation(problem, plan, buffers, kept, data, expected, *queue_);
      row.relative_l2 = found.relative_l2;
    } catch (const DeviceLost&) {
      throw;
    } catch (const std::bad_alloc&) {
      throw;
    } catch (const Refused& refusal) {  // a library that sees only now that it cannot
      row.note = refusal.what();
      return;
    } catch (const std::exception& error) {  // each library has its own
      found.fault = error.what();
    }
    row.implementation = plan.implementation();
    row.outcome = found.fault           ? OperationOutcome::wrong
                  : sampler_ == nullptr ? OperationOutcome::verified_only
                                        : OperationOutcome::measured;
    row.note = found.fault.value_or("");
  }

  // In rounds, in another order each, so that none always runs behind the same one.
  void time_in_turn(const OperationProblem& problem, const BySlot<float>& data,
                    std::span<const std::unique_ptr<OperationPlan>> plans, std::span<OperationRow> rows) {
    std::vector<OperationPlan*> right;
    std::vector<size_t> row_of;
    for (size_t i = 0; i < rows.size(); ++i)
      if (rows[i].outcome == OperationOutcome::measured) {
        right.push_back(plans[i].get());
        row_of.push_back(i);
      }
    if (right.empty()) return;
    sampler_->begin(problem, data, right);
    std::vector<std::vector<double>> samples(right.size());
    std::vector<size_t> order(right.size());
    std::iota(order.begin(), order.end(), size_t{0});
    uint64_t draws = 0;
    auto begin = Clock::now();
    for (size_t round = 0; round < static_cast<size_t>(kMaxOperationSamples); ++round) {
      if (round >= static_cast<size_t>(kMinOperationSamples) && seconds_since(begin) > options_.seconds)
        break;
      if (round == 1) begin = Clock::now();  // the first makes the tensors and warms up
      shuffle(order, options_.seed, draws);
      for (const size_t one : order) {
        const int64_t before = sampler_->disturbed();
        samples[one].push_back(sampler_->take(one));
        rows[row_of[one]].disturbed += sampler_->disturbed() - before;
      }
    }
    for (size_t i = 0; i < right.size(); ++i) rows[row_of[i]].time = summarise(samples[i]);
  }

  Device& device_;
  std::unique_ptr<Queue> queue_;
  const OperationOptions& options_;
  std::unique_ptr<OperationSampler> sampler_;
};

}  // namespace

void measure_operations(const OperationRun& of, std::span<const LayerOperations> layers,
                        std::span<const OperationAlgorithm* const> providers, Device& device,
                        const OperationOptions& options,
                        const std::function<void(std::span<const OperationRow>)>& done) {
  std::vector<const OperationAlgorithm*> asked;
  for (const OperationAlgorithm* provider : providers)
    if (provider->runs_on(device.info().kind)) asked.push_back(provider);
  OperationMeasurement measurement(device, options);
  for (const LayerOperations& layer : layers)
    for (const OperationProblem& problem : layer.problems) {
      if (options.stopped()) return;
      options.progress(fmt::format("{} {}", layer.layer, to_text(problem)));
      std::vector<OperationRow> rows;
      for (const OperationAlgorithm* provider : asked) {
        OperationRow row;
        row.of = of;
        row.layer = layer.layer;
        row.problem = problem;
        row.provider = provider->provider();
        row.version = provider->version();
        rows.push_back(std::move(row));
      }
      try {
        measurement.measure(problem, asked, rows);
      } catch (const std::bad_alloc&) {
        throw UsageError(
            fmt::format("{} {}: the memory of {} does not hold its tensors; take a smaller batch",
                        layer.layer, to_text(problem), device.info().name));
      }
      done(rows);
    }
}

}  // namespace convscope
