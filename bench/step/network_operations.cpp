#include "bench/step/network_operations.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "bench/step/network.hpp"
#include "bench/step/step_program.hpp"

namespace convscope {
namespace {

// Of the filter, the biases, and the scales and shifts of a normalisation, without what aligns them.
OperationProblem update_of(const NetworkLayer& layer) {
  const int64_t by_channel = has(layer.after, OperationKind::batch_norm) ? 3 : 1;
  const ConvProblem& of = layer.problem;
  return {
      OperationSort::update, false, {1, 1, 1, of.elements(Role::filter) + by_channel * of.out_channels}, {}};
}

OperationProblem code_of(const ConvProblem& of) {
  return {OperationSort::one_bit,
          false,
          {of.out_channels, 1, 1, of.elements(Role::filter) / of.out_channels},
          {}};
}

// The sort; where it is one pass with a ReLU, both also by themselves.
std::vector<OperationSort> with_parts(OperationSort sort) {
  switch (sort) {
    case OperationSort::bias_relu:
      return {OperationSort::bias, sort, OperationSort::relu};
    case OperationSort::batch_norm_relu:
      return {OperationSort::batch_norm, sort, OperationSort::relu};
    case OperationSort::add_relu:
      return {OperationSort::add, sort, OperationSort::relu};
    default:
      return {sort};
  }
}

void add_new(const OperationProblem& problem, std::vector<OperationProblem>& problems) {
  if (std::ranges::find(problems, problem) == problems.end()) problems.push_back(problem);
}

void add_with_parts(OperationProblem problem, std::vector<OperationProblem>& problems) {
  for (OperationSort sort : with_parts(problem.sort)) {
    problem.sort = sort;
    problem.backward = false;
    add_new(problem, problems);
    problem.backward = problem.has_directions();
    if (problem.backward) add_new(problem, problems);
  }
}

}  // namespace

std::vector<LayerOperations> operations_of_network(const Suite& suite, int64_t batch) {
  constexpr int64_t kCopies = 2;  // all others are like them
  const StepNetwork network = network_of(suite, batch, false, kCopies);
  std::vector<LayerOperations> all;
  for (const Layer& layer : suite.layers) all.push_back({layer.name, {}});
  const StepProgram program(network);
  for (const StepTask& task : program.tasks)
    if (task.kind != TaskKind::update)
      for (const OperationProblem& problem : program.operations_of(task))
        add_with_parts(problem, all[network.layers[task.layer].layer].problems);
  for (const NetworkLayer& layer : network.layers) {
    add_new(update_of(layer), all[layer.layer].problems);
    add_new(code_of(layer.problem), all[layer.layer].problems);
  }
  return all;
}

std::vector<StepLayer> step_layers_of(const Suite& suite) {
  const StepNetwork network = network_of(suite, 1);
  std::vector<StepLayer::Operations> operations(network.layers.size());
  std::vector<bool> has_filter_gradient(network.layers.size());
  const StepProgram program(network);
  bool is_backward = false;
  for (const StepTask& task : program.tasks) {
    StepLayer::Operations& of = operations[task.layer];
    if (task.kind == TaskKind::loss) is_backward = true;
    if (task.kind == TaskKind::backward_filter) has_filter_gradient[task.layer] = true;
    if (task.kind == TaskKind::update) {
      of.updates.push_back(update_of(network.layers[task.layer]));
      continue;
    }
    std::vector<OperationProblem>& place = !is_backward                      ? of.forward
                                           : has_filter_gradient[task.layer] ? of.backward_of_reads
                                                                             : of.backward;
    std::ranges::copy(program.operations_of(task), std::back_inserter(place));
  }
  std::vector<StepLayer> layers;
  for (const Layer& layer : suite.layers)
    layers.push_back({layer.name, layer.shape, layer.count, !suite.needs_backward_data(layer)});
  for (size_t i = 0; i < operations.size(); ++i)
    layers[network.layers[i].layer].operations.push_back(std::move(operations[i]));
  return layers;
}

}  // namespace convscope
