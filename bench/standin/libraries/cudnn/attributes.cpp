// The attributes of each type of descriptor: CUDNN_ATTR_* of cudnn_graph.h with the types and counts that
// cuDNN's backend reference gives (docs.nvidia.com, "cuDNN Backend API"), for what one convolution and its
// epilogue need.
#include <algorithm>

#include "bench/standin/libraries/cudnn/backend.hpp"

namespace convscope::standin {
namespace {

constexpr int64_t kDimensions = 4, kSpatial = 2, kOne = 1, kMany = 1 << 20;
constexpr int64_t kOperations = 3;  // a convolution, its bias and its ReLU

// An attribute that the caller sets.
constexpr AttributeRule must(cudnnBackendDescriptorType_t owner, cudnnBackendAttributeName_t name,
                             cudnnBackendAttributeType_t type, int64_t min = 1, int64_t max = 1) {
  return {owner, name, type, min, max, true, true};
}
constexpr AttributeRule may(cudnnBackendDescriptorType_t owner, cudnnBackendAttributeName_t name,
                            cudnnBackendAttributeType_t type, int64_t min = 1, int64_t max = 1) {
  return {owner, name, type, min, max, true, false};
}
// One that it only reads.
constexpr AttributeRule told(cudnnBackendDescriptorType_t owner, cudnnBackendAttributeName_t name,
                             cudnnBackendAttributeType_t type) {
  return {owner, name, type, 0, kMany, false, false};
}
constexpr AttributeRule held(AttributeRule rule, cudnnBackendDescriptorType_t type) {
  rule.holds = type;
  return rule;
}

constexpr auto kTensor = CUDNN_BACKEND_TENSOR_DESCRIPTOR;
constexpr auto kConvolution = CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR;
constexpr auto kForward = CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR;
constexpr auto kBackwardData = CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR;
constexpr auto kBackwardFilter = CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR;
constexpr auto kPointwise = CUDNN_BACKEND_POINTWISE_DESCRIPTOR;
constexpr auto kPointwiseOperation = CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR;
constexpr auto kGraph = CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR;
constexpr auto kHeuristic = CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR;
constexpr auto kEngine = CUDNN_BACKEND_ENGINE_DESCRIPTOR;
constexpr auto kConfig = CUDNN_BACKEND_ENGINECFG_DESCRIPTOR;
constexpr auto kKnobInfo = CUDNN_BACKEND_KNOB_INFO_DESCRIPTOR;
constexpr auto kKnobChoice = CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR;
constexpr auto kPlan = CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR;
constexpr auto kPack = CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR;
constexpr auto kDescriptor = CUDNN_TYPE_BACKEND_DESCRIPTOR;
constexpr auto kInt64 = CUDNN_TYPE_INT64;

const AttributeRule kRules[] = {
    must(kTensor, CUDNN_ATTR_TENSOR_UNIQUE_ID, kInt64),
    must(kTensor, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE),
    must(kTensor, CUDNN_ATTR_TENSOR_DIMENSIONS, kInt64, kDimensions, kDimensions),
    must(kTensor, CUDNN_ATTR_TENSOR_STRIDES, kInt64, kDimensions, kDimensions),
    must(kTensor, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, kInt64),
    may(kTensor, CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN),

    must(kConvolution, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, kInt64),
    must(kConvolution, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE),
    must(kConvolution, CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE),
    must(kConvolution, CUDNN_ATTR_CONVOLUTION_DILATIONS, kInt64, kSpatial, kSpatial),
    must(kConvolution, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, kInt64, kSpatial, kSpatial),
    must(kConvolution, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, kInt64, kSpatial, kSpatial),
    must(kConvolution, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, kInt64, kSpatial, kSpatial),

    held(must(kForward, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, kDescriptor), kConvolution),
    held(must(kForward, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, kDescriptor), kTensor),
    held(must(kForward, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, kDescriptor), kTensor),
    held(must(kForward, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, kDescriptor), kTensor),
    must(kForward, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, CUDNN_TYPE_FLOAT),
    must(kForward, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA, CUDNN_TYPE_FLOAT),
    held(must(kBackwardData, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC, kDescriptor), kConvolution),
    held(must(kBackwardData, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX, kDescriptor), kTensor),
    held(must(kBackwardData, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W, kDescriptor), kTensor),
    held(must(kBackwardData, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY, kDescriptor), kTensor),
    must(kBackwardData, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA, CUDNN_TYPE_FLOAT),
    must(kBackwardData, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA, CUDNN_TYPE_FLOAT),
    held(must(kBackwardFilter, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC, kDescriptor),
         kConvolution),
    held(must(kBackwardFilter, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X, kDescriptor), kTensor),
    held(must(kBackwardFilter, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW, kDescriptor), kTensor),
    held(must(kBackwardFilter, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY, kDescriptor), kTensor),
    must(kBackwardFilter, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA, CUDNN_TYPE_FLOAT),
    must(kBackwardFilter, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA, CUDNN_TYPE_FLOAT),

    must(kPointwise, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE),
    must(kPointwise, CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE),
    held(must(kPointwiseOperation, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, kDescriptor), kPointwise),
    held(must(kPointwiseOperation, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, kDescriptor), kTensor),
    held(may(kPointwiseOperation, CUDNN_ATTR_OPERATION_POINTWISE_BDESC, kDescriptor), kTensor),
    held(must(kPointwiseOperation, CUDNN_ATTR_OPERATION_POINTWISE_YDESC, kDescriptor), kTensor),

    must(kGraph, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE),
    held(must(kGraph, CUDNN_ATTR_OPERATIONGRAPH_OPS, kDescriptor, kOne, kOperations), kForward),
    told(kGraph, CUDNN_ATTR_OPERATIONGRAPH_ENGINE_GLOBAL_COUNT, kInt64),

    held(must(kHeuristic, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, kDescriptor), kGraph),
    must(kHeuristic, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE),
    held(told(kHeuristic, CUDNN_ATTR_ENGINEHEUR_RESULTS, kDescriptor), kConfig),

    held(must(kEngine, CUDNN_ATTR_ENGINE_OPERATION_GRAPH, kDescriptor), kGraph),
    must(kEngine, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, kInt64),
    held(told(kEngine, CUDNN_ATTR_ENGINE_KNOB_INFO, kDescriptor), kKnobInfo),
    told(kEngine, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE),
    told(kEngine, CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE, CUDNN_TYPE_BEHAVIOR_NOTE),

    told(kKnobInfo, CUDNN_ATTR_KNOB_INFO_TYPE, CUDNN_TYPE_KNOB_TYPE),
    told(kKnobInfo, CUDNN_ATTR_KNOB_INFO_MAXIMUM_VALUE, kInt64),
    told(kKnobInfo, CUDNN_ATTR_KNOB_INFO_MINIMUM_VALUE, kInt64),
    told(kKnobInfo, CUDNN_ATTR_KNOB_INFO_STRIDE, kInt64),
    must(kKnobChoice, CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE),
    must(kKnobChoice, CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, kInt64),

    held(must(kConfig, CUDNN_ATTR_ENGINECFG_ENGINE, kDescriptor), kEngine),
    held(may(kConfig, CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, kDescriptor, 0, CUDNN_KNOB_TYPE_COUNTS),
         kKnobChoice),

    must(kPlan, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE),
    held(must(kPlan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, kDescriptor), kConfig),
    told(kPlan, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, kInt64),

    must(kPack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, kInt64, kOne, kMany),
    must(kPack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, kOne, kMany),
    may(kPack, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR),
};

}  // namespace

std::span<const AttributeRule> attribute_rules() {
  return kRules;
}

const AttributeRule* attribute_rule(cudnnBackendDescriptorType_t owner, cudnnBackendAttributeName_t name) {
  for (const AttributeRule& rule : kRules)
    if (rule.owner == owner && rule.name == name) return &rule;
  return nullptr;
}

bool is_known(cudnnBackendDescriptorType_t type) {
  return std::any_of(std::begin(kRules), std::end(kRules),
                     [&](const AttributeRule& rule) { return rule.owner == type; });
}

bool is_operation(cudnnBackendDescriptorType_t type) {
  return type == kForward || type == kBackwardData || type == kBackwardFilter || type == kPointwiseOperation;
}

size_t bytes_of(cudnnBackendAttributeType_t type) {
  const bool is_wide = type == CUDNN_TYPE_HANDLE || type == CUDNN_TYPE_INT64 || type == CUDNN_TYPE_VOID_PTR ||
                       type == CUDNN_TYPE_DOUBLE;
  // The others are cuDNN's enums and float.
  return type == CUDNN_TYPE_BOOLEAN ? sizeof(bool) : is_wide ? sizeof(int64_t) : sizeof(int);
}

}  // namespace convscope::standin
