#include "bench/operation/measure_operations.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "bench/core/stopwatch.hpp"
#include "bench/measure/cache_eviction.hpp"
#include "bench/measure/quiet_sampler.hpp"
#include "bench/measure/statistics.hpp"
#include "bench/verify/operation_reference.hpp"

namespace convscope {
namespace {

// A provider's plan of one problem, while it is timed.
struct Candidate {
  std::unique_ptr<OperationPlan> plan;
  Buffer kept;
  std::vector<double> samples;
};

class OperationMeasurement {
 public:
  OperationMeasurement(Device& device, const OperationOptions& options)
      : device_(device),
        options_(options),
        eviction_(device),
        sampler_(options.known_cores, options.core_patience_seconds) {}

  // Fills in rows that have everything but what is measured.
  void measure(const OperationProblem& problem, std::span<const OperationAlgorithm* const> providers,
               std::span<OperationRow> rows) {
    const BySlot<float> data = operation_data(problem, options_.seed);
    const BySlot<double> expected = operation_reference(problem, data);
    OperationBuffers buffers(data, device_);
    std::vector<Candidate> candidates(rows.size());
    for (size_t i = 0; i < rows.size(); ++i) {
      check(problem, *providers[i], buffers, data, expected, rows[i], candidates[i]);
      if (rows[i].outcome != OperationOutcome::measured) candidates[i].plan.reset();
    }
    const int64_t disturbed = sampler_.disturbed();
    time_in_turn(problem, buffers, data, candidates);
    for (size_t i = 0; i < rows.size(); ++i) {
      if (!candidates[i].samples.empty()) rows[i].time = summarise(candidates[i].samples);
      rows[i].disturbed = sampler_.disturbed() - disturbed;
    }
  }

 private:
  void check(const OperationProblem& problem, const OperationAlgorithm& provider, OperationBuffers& buffers,
             const BySlot<float>& data, const BySlot<double>& expected, OperationRow& row,
             Candidate& candidate) {
    if (const auto refusal = provider.refusal(problem)) {
      row.note = *refusal;
      return;
    }
    try {
      candidate.plan = provider.plan(problem, row.of.threads);
    } catch (const std::exception& fault) {
      row.note = fault.what();
      return;
    }
    candidate.kept = Buffer(device_, static_cast<size_t>(candidate.plan->kept_bytes()));
    const OperationCheck found =
        check_operation(problem, *candidate.plan, buffers, candidate.kept, data, expected);
    row.implementation = candidate.plan->implementation();
    row.relative_l2 = found.relative_l2;
    row.outcome = found.fault ? OperationOutcome::wrong : OperationOutcome::measured;
    row.note = found.fault.value_or("");
  }

  void evict(const OperationBuffers& buffers, const Candidate& candidate) {
    std::vector<std::span<const std::byte>> memory;
    const auto add = [&](const Buffer& buffer) {
      if (buffer.bytes() > 0) memory.emplace_back(buffer.as<const std::byte>(), buffer.bytes());
    };
    for (Slot slot : kSlots) add(buffers[slot]);
    add(candidate.kept);
    eviction_.evict(memory);
  }

  // In rounds, from another candidate each: fresh data every time would cost more than all else, and what is
  // updated again and again stays finite.
  void time_in_turn(const OperationProblem& problem, OperationBuffers& buffers, const BySlot<float>& data,
                    std::vector<Candidate>& candidates) {
    const auto begin = Clock::now();
    for (int64_t round = 0; round < kMostOperationSamples; ++round) {
      if (round >= kFewestOperationSamples && seconds_since(begin) > options_.seconds) return;
      for (size_t turn = 0; turn < candidates.size(); ++turn) {
        Candidate& one = candidates[(turn + static_cast<size_t>(round)) % candidates.size()];
        if (!one.plan) continue;
        if (round == 0) {
          buffers.fill(data);
          if (problem.backward) one.plan->prepare(buffers.tensors(), one.kept.data());
        }
        one.samples.push_back(sampler_.take([&] { evict(buffers, one); },
                                            [&] {
                                              const auto start = Clock::now();
                                              one.plan->run(buffers.tensors(), one.kept.data());
                                              return seconds_since(start);
                                            }));
      }
    }
  }

  Device& device_;
  const OperationOptions& options_;
  CacheEviction eviction_;
  QuietSampler sampler_;
};

}  // namespace

std::vector<LayerOperations> operations_of(const Suite& suite, int64_t batch) {
  std::vector<LayerOperations> all;
  for (const Layer& layer : suite.layers) {
    LayerOperations operations{layer.name, {}};
    const Extent2 image = layer.shape.output();
    Activations shape{layer.batch.value_or(batch), layer.shape.out_channels, image.h, image.w};
    const auto add = [&](OperationSort sort, const LayerOperation& operation) {
      for (bool backward : {false, true}) operations.problems.push_back({sort, backward, shape, operation});
    };
    for (size_t i = 0; i < layer.after.size(); ++i) {
      const LayerOperation& operation = layer.after[i];
      switch (operation.kind) {
        case OperationKind::bias:
          add(OperationSort::bias, {});
          if (i + 1 < layer.after.size() && layer.after[i + 1].kind == OperationKind::relu)
            add(OperationSort::bias_relu, {});
          break;
        case OperationKind::relu:
          add(OperationSort::relu, {});
          break;
        case OperationKind::lrn:
          add(OperationSort::lrn, {});
          break;
        case OperationKind::pool: {
          add(OperationSort::pool, operation);
          const Extent2 out = operation.output({shape.h, shape.w});
          shape = {shape.n, shape.c, out.h, out.w};
        }
      }
    }
    const int64_t parameters = layer.shape.elements(Role::filter) + layer.shape.out_channels;
    operations.problems.push_back({OperationSort::update, false, {1, 1, 1, parameters}, {}});
    all.push_back(std::move(operations));
  }
  return all;
}

void measure_operations(const OperationRun& of, std::span<const LayerOperations> layers,
                        std::span<const OperationAlgorithm* const> providers, Device& device,
                        const OperationOptions& options,
                        const std::function<void(std::span<const OperationRow>)>& done) {
  OperationMeasurement measurement(device, options);
  for (const LayerOperations& layer : layers)
    for (const OperationProblem& problem : layer.problems) {
      if (options.stopped()) return;
      options.progress(fmt::format("{} {}", layer.layer, to_text(problem)));
      std::vector<OperationRow> rows;
      for (const OperationAlgorithm* provider : providers) {
        OperationRow row;
        row.of = of;
        row.layer = layer.layer;
        row.problem = problem;
        row.provider = provider->provider();
        row.version = provider->version();
        rows.push_back(std::move(row));
      }
      measurement.measure(problem, providers, rows);
      done(rows);
    }
}

}  // namespace convscope
