#include "bench/step/network.hpp"

#include <algorithm>
#include <utility>

#include "bench/runner/graph.hpp"

namespace convscope {
namespace {

// Of the bias, which is first if at all, and the ReLU that these operations begin with.
Epilogue leading_epilogue(const std::vector<LayerOperation>& after) {
  const auto is_at = [&](size_t i, OperationKind kind) { return i < after.size() && after[i].kind == kind; };
  const bool bias = is_at(0, OperationKind::bias), relu = is_at(bias ? 1 : 0, OperationKind::relu);
  return bias && relu ? Epilogue::bias_relu : bias ? Epilogue::bias : relu ? Epilogue::relu : Epilogue::none;
}

}  // namespace

Activations NetworkLayer::output() const {
  Extent2 image = problem.output();
  for (const LayerOperation& operation : after) image = operation.output(image);
  return {problem.batch, problem.out_channels, image.h, image.w};
}

int64_t StepNetwork::chains() const {
  return std::ranges::count_if(layers, &NetworkLayer::begins_chain);
}

StepNetwork network_of(const Suite& suite, int64_t batch, bool fuse, int64_t most_copies) {
  StepNetwork network{suite.name, {}};
  for (GraphNode& node : graph_of(suite, most_copies)) {
    const Layer& layer = suite.layers[node.layer];
    NetworkLayer one{std::move(node.name),
                     node.layer,
                     layer.shape,
                     std::move(node.reads),
                     std::move(node.through),
                     std::move(node.before),
                     std::move(node.after),
                     std::move(node.added)};
    one.problem.batch = layer.batch.value_or(batch);
    if (fuse) one.problem.epilogue = leading_epilogue(one.after);
    one.needs_input_gradient = suite.needs_backward_data(layer);
    one.ends_chain = true;
    for (size_t other : one.reads) network.layers[other].ends_chain = false;
    for (size_t other : one.added) network.layers[other].ends_chain = false;
    network.layers.push_back(std::move(one));
  }
  return network;
}

}  // namespace convscope
