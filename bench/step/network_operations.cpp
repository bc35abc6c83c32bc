#include "bench/step/network_operations.hpp"

#include <algorithm>
#include <utility>

#include "bench/runner/graph.hpp"
#include "bench/step/network.hpp"
#include "bench/step/step_program.hpp"

namespace convscope {

std::vector<LayerOperations> operations_of_network(const Suite& suite, int64_t batch) {
  constexpr int64_t kCopies = 2;  // all others are like them
  std::vector<LayerOperations> all = operations_of(suite, batch);
  const std::vector<GraphNode> graph = graph_of(suite, kCopies);
  const auto additions = StepProgram(network_of(suite, batch, false, kCopies)).gradient_additions();
  for (size_t node = 0; node < graph.size(); ++node) {
    std::vector<OperationProblem>& problems = all[graph[node].layer].problems;
    for (const auto* some : {&additions[node].before, &additions[node].behind})
      for (const OperationProblem& addition : *some)
        if (std::ranges::find(problems, addition) == problems.end()) problems.push_back(addition);
  }
  return all;
}

std::vector<StepLayer> step_layers_of(const Suite& suite) {
  std::vector<StepLayer> layers;
  for (const Layer& layer : suite.layers)
    layers.push_back({layer.name, layer.shape, layer.count, layer.first && !suite.first_backward_data});
  std::vector<GradientAdditions> additions = StepProgram(network_of(suite, 1)).gradient_additions();
  size_t place = 0;  // in the graph, whose order the program has
  for (NodeOperations& node : operations_of_step(suite, 1)) {
    GradientAdditions& added = additions[place++];
    layers[node.layer].operations.push_back(
        {std::move(node.before), std::move(node.after), std::move(added.before), std::move(added.behind)});
  }
  return layers;
}

}  // namespace convscope
