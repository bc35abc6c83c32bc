#include "bench/step/network_operations.hpp"

#include <algorithm>
#include <utility>

#include "bench/runner/graph.hpp"
#include "bench/step/network.hpp"
#include "bench/step/step_program.hpp"

namespace convscope {

std::vector<LayerOperations> operations_of_network(const Suite& suite, int64_t batch) {
  std::vector<LayerOperations> all = operations_of(suite, batch);
  const StepProgram program(network_of(suite, batch));
  const std::vector<GraphNode> graph = graph_of(suite);
  for (size_t node = 0; node < graph.size(); ++node) {
    std::vector<OperationProblem>& problems = all[graph[node].layer].problems;
    for (const OperationProblem& addition : program.gradient_additions(node))
      if (std::ranges::find(problems, addition) == problems.end()) problems.push_back(addition);
  }
  return all;
}

std::vector<StepLayer> step_layers_of(const Suite& suite) {
  std::vector<StepLayer> layers;
  for (const Layer& layer : suite.layers)
    layers.push_back({layer.name, layer.shape, layer.count, layer.first && !suite.first_backward_data});
  const StepProgram program(network_of(suite, 1));
  size_t place = 0;  // in the graph, whose order the program has
  for (NodeOperations& node : operations_of_step(suite, 1))
    layers[node.layer].operations.push_back(
        {std::move(node.before), std::move(node.after), program.gradient_additions(place++)});
  return layers;
}

}  // namespace convscope
