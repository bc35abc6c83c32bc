#include "bench/step/network.hpp"

#include <algorithm>

namespace convscope {
namespace {

bool is_pool(const LayerOperation& operation) {
  return operation.kind == OperationKind::pool;
}

// Of the bias, which is first if at all, and the ReLU that these operations begin with.
Epilogue leading_epilogue(const std::vector<LayerOperation>& after) {
  const auto is_at = [&](size_t i, OperationKind kind) { return i < after.size() && after[i].kind == kind; };
  const bool bias = is_at(0, OperationKind::bias), relu = is_at(bias ? 1 : 0, OperationKind::relu);
  return bias && relu ? Epilogue::bias_relu : bias ? Epilogue::bias : relu ? Epilogue::relu : Epilogue::none;
}

Activations input_of(const ConvProblem& problem) {
  return {problem.batch, problem.in_channels, problem.input.h, problem.input.w};
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

StepNetwork network_of(const Suite& suite, int64_t batch, bool fuse) {
  StepNetwork network{suite.name, {}};
  for (const Layer& layer : suite.layers)
    for (int64_t copy = 1; copy <= layer.count; ++copy) {
      NetworkLayer one{layer.name + (layer.count == 1 ? "" : "#" + std::to_string(copy)), layer.shape,
                       layer.after};
      one.problem.batch = layer.batch.value_or(batch);
      if (fuse) one.problem.epilogue = leading_epilogue(layer.after);
      if (copy < layer.count) std::erase_if(one.after, is_pool);
      one.needs_input_gradient = !layer.first || suite.first_backward_data;
      one.begins_chain = network.layers.empty() || network.layers.back().output() != input_of(one.problem);
      if (one.begins_chain && !network.layers.empty()) network.layers.back().ends_chain = true;
      network.layers.push_back(std::move(one));
    }
  network.layers.back().ends_chain = true;
  return network;
}

}  // namespace convscope
