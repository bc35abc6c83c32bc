// The pointwise operations behind a convolution in an operation graph: a bias, a ReLU, or a ReLU of the sum
// with a bias, in FP32.
#include <fmt/format.h>

#include "bench/standin/libraries/cudnn/backend.hpp"

namespace convscope::standin {
namespace {

cudnnStatus_t add_bias(Graph& graph, const BackendObject& operation) {
  if (!operation.has(CUDNN_ATTR_OPERATION_POINTWISE_BDESC)) return bad("an addition of one tensor");
  const Object bias = operation.object(CUDNN_ATTR_OPERATION_POINTWISE_BDESC);
  const int64_t channels = graph.convolution.problem.out_channels;
  const std::array<int64_t, 4> sizes{1, channels, 1, 1};
  if (is_virtual(*bias)) return bad("the bias is virtual");
  if (view_of(*bias).shape.size != sizes)
    return bad(fmt::format("the bias is not of 1 x {} x 1 x 1 values", channels));
  graph.convolution.problem.epilogue = Epilogue::bias;
  graph.bias = uid_of(bias);
  graph.alignment[graph.bias] = bias->value<int64_t>(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT);
  graph.is_ranked = view_of(*bias).type == CUDNN_DATA_FLOAT;
  return CUDNN_STATUS_SUCCESS;
}

}  // namespace

bool is_virtual(const BackendObject& tensor) {
  return tensor.has(CUDNN_ATTR_TENSOR_IS_VIRTUAL) && tensor.value<bool>(CUDNN_ATTR_TENSOR_IS_VIRTUAL);
}

cudnnStatus_t add_pointwise(Graph& graph, const BackendObject& operation) {
  const Object from = operation.object(CUDNN_ATTR_OPERATION_POINTWISE_XDESC),
               to = operation.object(CUDNN_ATTR_OPERATION_POINTWISE_YDESC);
  if (uid_of(from) != graph.output) return bad("an operation does not take up what the one before hands on");
  if (!graph.is_output_virtual) return bad("an operation after the one whose output is stored");
  Convolution& convolution = graph.convolution;
  const TensorView output = view_of(*to);
  if (output.shape.size != convolution.output.shape.size ||
      output.shape.stride != convolution.output.shape.stride || output.type != CUDNN_DATA_FLOAT)
    return failed(CUDNN_STATUS_NOT_SUPPORTED, "the stand-in only knows outputs of one layout, in FP32");
  const Epilogue before = convolution.problem.epilogue;
  const auto mode = operation.object(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR)
                        ->value<cudnnPointwiseMode_t>(CUDNN_ATTR_POINTWISE_MODE);
  if (mode == CUDNN_POINTWISE_ADD && before == Epilogue::none) {
    if (const cudnnStatus_t status = add_bias(graph, operation); status != CUDNN_STATUS_SUCCESS)
      return status;
  } else if (mode == CUDNN_POINTWISE_RELU_FWD && !has_relu(before)) {
    // cuDNN 9.19 takes the graph of a convolution and a ReLU, and ranks no engine for it.
    if (before == Epilogue::none) graph.is_ranked = false;
    convolution.problem.epilogue = before == Epilogue::none ? Epilogue::relu : Epilogue::bias_relu;
  } else {
    return failed(CUDNN_STATUS_NOT_SUPPORTED, "the stand-in knows a bias, a ReLU, and one after the other");
  }
  graph.output = uid_of(to);
  graph.is_output_virtual = is_virtual(*to);
  if (!graph.is_output_virtual)
    graph.alignment[graph.output] = to->value<int64_t>(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT);
  return CUDNN_STATUS_SUCCESS;
}

}  // namespace convscope::standin
