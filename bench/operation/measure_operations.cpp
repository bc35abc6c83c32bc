#include "bench/operation/measure_operations.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <new>
#include <set>
#include <utility>

#include "bench/algorithm/algorithm.hpp"
#include "bench/core/error.hpp"
#include "bench/core/stopwatch.hpp"
#include "bench/device/device_error.hpp"
#include "bench/measure/statistics.hpp"
#include "bench/operation/operation_sampler.hpp"
#include "bench/runner/graph.hpp"
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
    } catch (const Refused& refusal) {  // a library that sees only now that it cannot
      row.note = refusal.what();
      return;
    } catch (const DeviceError& error) {
      found.fault = error.what();
    }
    row.implementation = plan.implementation();
    row.outcome = found.fault           ? OperationOutcome::wrong
                  : sampler_ == nullptr ? OperationOutcome::verified_only
                                        : OperationOutcome::measured;
    row.note = found.fault.value_or("");
  }

  // In rounds, from another candidate each.
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
    const int64_t disturbed = sampler_->disturbed();
    sampler_->begin(problem, data, right);
    std::vector<std::vector<double>> samples(right.size());
    auto begin = Clock::now();
    for (size_t round = 0; round < static_cast<size_t>(kMaxOperationSamples); ++round) {
      if (round >= static_cast<size_t>(kMinOperationSamples) && seconds_since(begin) > options_.seconds)
        break;
      if (round == 1) begin = Clock::now();  // the first makes the tensors and warms up
      for (size_t turn = 0; turn < right.size(); ++turn) {
        const size_t one = (turn + round) % right.size();
        samples[one].push_back(sampler_->take(one));
      }
    }
    for (size_t i = 0; i < right.size(); ++i) rows[row_of[i]].time = summarise(samples[i]);
    for (OperationRow& row : rows) row.disturbed = sampler_->disturbed() - disturbed;
  }

  Device& device_;
  std::unique_ptr<Queue> queue_;
  const OperationOptions& options_;
  std::unique_ptr<OperationSampler> sampler_;
};

// A ReLU behind another operation: also as one pass with it, or in that way only.
enum class Relu { also_fused, fused };

// What stands one after the other behind a tensor of this shape.
std::vector<OperationProblem> operations_behind(Activations shape, std::span<const LayerOperation> after,
                                                Relu relu) {
  std::vector<OperationProblem> problems;
  const auto add = [&](OperationSort sort, const LayerOperation& operation = {}) {
    const OperationProblem forward{sort, false, shape, operation};
    problems.push_back(forward);
    if (!forward.has_directions()) return;
    problems.push_back(forward);
    problems.back().backward = true;
  };
  for (size_t i = 0; i < after.size(); ++i) {
    const bool before_relu = i + 1 < after.size() && after[i + 1].kind == OperationKind::relu;
    const auto add_with_relu = [&](OperationSort alone, OperationSort with_relu) {
      const bool is_fused = before_relu && relu == Relu::fused;
      if (!is_fused) add(alone);
      if (before_relu) add(with_relu);
      if (!is_fused) return;
      ++i;  // past the ReLU, which is an addition's backward
      if (alone == OperationSort::add) problems.push_back({OperationSort::relu, true, shape, {}});
    };
    switch (after[i].kind) {
      case OperationKind::bias:
        add_with_relu(OperationSort::bias, OperationSort::bias_relu);
        break;
      case OperationKind::relu:
        add(OperationSort::relu);
        break;
      case OperationKind::lrn:
        add(OperationSort::lrn);
        break;
      case OperationKind::pool:
      case OperationKind::mean: {
        add(after[i].kind == OperationKind::pool ? OperationSort::pool : OperationSort::mean, after[i]);
        const Extent2 out = after[i].output({shape.h, shape.w});
        shape = {shape.n, shape.c, out.h, out.w};
        break;
      }
      case OperationKind::batch_norm:
        add_with_relu(OperationSort::batch_norm, OperationSort::batch_norm_relu);
        break;
      case OperationKind::add:
        add_with_relu(OperationSort::add, OperationSort::add_relu);
        break;
    }
  }
  return problems;
}

// Those of `more` that are not there.
void add_new(const std::vector<OperationProblem>& more, std::vector<OperationProblem>& problems) {
  for (const OperationProblem& problem : more)
    if (std::ranges::find(problems, problem) == problems.end()) problems.push_back(problem);
}

// The pools that nodes of a graph read through or have before them, each once, though several share it.
class PoolsOfWhatIsRead {
 public:
  PoolsOfWhatIsRead(const Suite& suite, std::span<const GraphNode> graph) : suite_(suite), graph_(graph) {}

  void add(const GraphNode& node, int64_t images, std::vector<OperationProblem>& problems) {
    for (size_t i = 0; i < node.reads.size(); ++i) {
      const GraphNode& read = graph_[node.reads[i]];
      const ConvProblem& of = suite_.layers[read.layer].shape;
      Extent2 image = of.output();
      for (const LayerOperation& operation : read.after) image = operation.output(image);
      add({{node.reads[i], {}}}, {images, of.out_channels, image.h, image.w}, node.through[i], problems);
    }
    Parts parts;
    for (size_t i = 0; i < node.reads.size(); ++i) parts.emplace_back(node.reads[i], node.through[i]);
    const int64_t channels = suite_.layers[node.layer].shape.in_channels;
    add(std::move(parts), {images, channels, node.image.h, node.image.w}, node.before, problems);
  }

 private:
  using Parts = std::vector<std::pair<size_t, std::vector<LayerOperation>>>;

  void add(Parts parts, Activations shape, const std::vector<LayerOperation>& pools,
           std::vector<OperationProblem>& problems) {
    for (size_t i = 0; i < pools.size(); ++i) {
      const auto until = pools.begin() + static_cast<std::ptrdiff_t>(i) + 1;
      if (pooled_.emplace(parts, std::vector(pools.begin(), until)).second)
        std::ranges::copy(operations_behind(shape, {&pools[i], 1}, Relu::fused),
                          std::back_inserter(problems));
      const Extent2 image = pools[i].output({shape.h, shape.w});
      shape = {shape.n, shape.c, image.h, image.w};
    }
  }

  const Suite& suite_;
  std::span<const GraphNode> graph_;
  std::set<std::pair<Parts, std::vector<LayerOperation>>> pooled_;
};

// Its parameters are the filter, the biases, and the scales and shifts of a normalisation.
OperationProblem update_of(const Layer& layer, bool is_normalised) {
  const int64_t parameters =
      layer.shape.elements(Role::filter) + (is_normalised ? 3 : 1) * layer.shape.out_channels;
  return {OperationSort::update, false, {1, 1, 1, parameters}, {}};
}

}  // namespace

std::vector<NodeOperations> operations_of_step(const Suite& suite, int64_t batch) {
  const std::vector<GraphNode> graph = graph_of(suite);
  PoolsOfWhatIsRead pools(suite, graph);
  std::vector<NodeOperations> all;
  for (const GraphNode& node : graph) {
    const Layer& layer = suite.layers[node.layer];
    NodeOperations& operations = all.emplace_back();
    operations.layer = node.layer;
    const int64_t images = layer.batch.value_or(batch);
    pools.add(node, images, operations.before);
    const Extent2 image = layer.shape.output();
    operations.after =
        operations_behind({images, layer.shape.out_channels, image.h, image.w}, node.after, Relu::fused);
    operations.after.push_back(update_of(layer, has(node.after, OperationKind::batch_norm)));
  }
  return all;
}

std::vector<LayerOperations> operations_of(const Suite& suite, int64_t batch) {
  const std::vector<GraphNode> graph = graph_of(suite, 2);  // copies are followed by the same
  PoolsOfWhatIsRead pools(suite, graph);
  std::vector<LayerOperations> all;
  for (size_t i = 0; i < suite.layers.size(); ++i) {
    const Layer& layer = suite.layers[i];
    LayerOperations operations{layer.name, {}};
    bool is_normalised = false;
    const ConvProblem& of = layer.shape;
    const int64_t images = layer.batch.value_or(batch);
    for (const GraphNode& node : graph) {
      if (node.layer != i) continue;
      std::vector<OperationProblem> read;
      pools.add(node, images, read);
      add_new(read, operations.problems);
      const Extent2 image = of.output();
      add_new(operations_behind({images, of.out_channels, image.h, image.w}, node.after, Relu::also_fused),
              operations.problems);
      is_normalised = is_normalised || has(node.after, OperationKind::batch_norm);
    }
    operations.problems.push_back(update_of(layer, is_normalised));
    const int64_t channels = layer.shape.out_channels;
    operations.problems.push_back(
        {OperationSort::one_bit, false, {channels, 1, 1, layer.shape.elements(Role::filter) / channels}, {}});
    all.push_back(std::move(operations));
  }
  return all;
}

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
