// What each type of descriptor checks and works out when it is finalised. Attributes that are required are
// set here.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "algorithms/cudnn/names/notes.hpp"
#include "bench/standin/libraries/cudnn/backend.hpp"

namespace convscope::standin {
namespace {

using cudnn::kBehaviourNotes;
using cudnn::kNumericalNotes;
using cudnn::NoteName;

// Those of the kind, and of a later cuDNN by number ("NUMERICAL_NOTE_10").
template <size_t N>
std::vector<int> notes_of(const std::vector<std::string>& notes, const NoteName (&names)[N],
                          const std::string& kind) {
  std::vector<int> numbers;
  for (const std::string& note : notes) {
    for (const NoteName& known : names)
      if (note == known.name) numbers.push_back(known.value);
    if (note.starts_with(kind + "_")) numbers.push_back(std::stoi(note.substr(kind.size() + 1)));
  }
  return numbers;
}

bool all_at_least(const std::vector<int64_t>& values, int64_t min) {
  return std::all_of(values.begin(), values.end(), [&](int64_t value) { return value >= min; });
}

int64_t bytes_of(cudnnDataType_t type) {
  return type == CUDNN_DATA_FLOAT ? 4 : type == CUDNN_DATA_HALF || type == CUDNN_DATA_BFLOAT16 ? 2 : 0;
}

cudnnStatus_t finalize_tensor(BackendObject& tensor) {
  const auto type = tensor.value<cudnnDataType_t>(CUDNN_ATTR_TENSOR_DATA_TYPE);
  const auto alignment = tensor.value<int64_t>(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT);
  if (bytes_of(type) == 0)
    return failed(CUDNN_STATUS_NOT_SUPPORTED_DATA_TYPE,
                  fmt::format("data type {} in a convolution of the stand-in", static_cast<int>(type)));
  if (alignment <= 0 || alignment % bytes_of(type) != 0)
    return bad(fmt::format("an alignment of {}", alignment));
  if (!all_at_least(tensor.values<int64_t>(CUDNN_ATTR_TENSOR_DIMENSIONS), 1) ||
      !all_at_least(tensor.values<int64_t>(CUDNN_ATTR_TENSOR_STRIDES), 1))
    return bad("a size or stride of a tensor is below 1");
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t finalize_convolution(BackendObject& object) {
  if (object.value<int64_t>(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS) != 2) return bad("spatial dimensions but 2");
  if (object.value<cudnnDataType_t>(CUDNN_ATTR_CONVOLUTION_COMP_TYPE) != CUDNN_DATA_FLOAT ||
      object.value<cudnnConvolutionMode_t>(CUDNN_ATTR_CONVOLUTION_CONV_MODE) != CUDNN_CROSS_CORRELATION)
    return failed(CUDNN_STATUS_NOT_SUPPORTED, "the stand-in only knows cross-correlation with sums in FP32");
  if (!all_at_least(object.values<int64_t>(CUDNN_ATTR_CONVOLUTION_DILATIONS), 1) ||
      !all_at_least(object.values<int64_t>(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES), 1) ||
      !all_at_least(object.values<int64_t>(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS), 0))
    return bad("a dilation or stride below 1, or a padding below 0");
  if (object.values<int64_t>(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS) !=
      object.values<int64_t>(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS))
    return failed(CUDNN_STATUS_NOT_SUPPORTED_PADDING, "the paddings before and after differ");
  return CUDNN_STATUS_SUCCESS;
}

// The attributes of an operation.
struct OperationNames {
  Pass pass;
  cudnnBackendAttributeName_t convolution, input, filter, output, alpha, beta;
};
OperationNames names_of(cudnnBackendDescriptorType_t type) {
  if (type == CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR)
    return {Pass::forward,
            CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
            CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
            CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
            CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
            CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
            CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA};
  if (type == CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR)
    return {Pass::backward_data,
            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA};
  return {Pass::backward_filter,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA};
}

Extent2 extent(const BackendObject& object, cudnnBackendAttributeName_t name) {
  const auto values = object.values<int64_t>(name);
  return {values[0], values[1]};
}

ConvProblem problem_of(Pass pass, const BackendObject& how, const Convolution& tensors) {
  ConvProblem p = problem_of_shapes(tensors.input.shape, tensors.filter.shape);
  p.pass = pass;
  p.math = tensors.input.type == CUDNN_DATA_FLOAT  ? MathMode::fp32
           : tensors.input.type == CUDNN_DATA_HALF ? MathMode::fp16
                                                   : MathMode::bf16;
  p.groups = tensors.input.shape.size[1] / tensors.filter.shape.size[1];
  p.stride = extent(how, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES);
  p.pad = extent(how, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS);
  p.dilation = extent(how, CUDNN_ATTR_CONVOLUTION_DILATIONS);
  for (const Layout layout : {Layout::nchw, Layout::nhwc}) {
    p.layout = layout;
    if (p.shape(Role::input).stride == tensors.input.shape.stride &&
        p.shape(Role::filter).stride == tensors.filter.shape.stride &&
        p.shape(Role::output).stride == tensors.output.shape.stride)
      return p;
  }
  p.layout = Layout::chwn;  // stands for none that cuDNN knows
  return p;
}

cudnnStatus_t finalize_operation(BackendObject& operation) {
  const OperationNames names = names_of(operation.type);
  auto graph = std::make_shared<Graph>();
  const Object input = operation.object(names.input), filter = operation.object(names.filter),
               output = operation.object(names.output);
  Convolution& convolution = graph->convolution;
  convolution.input = view_of(*input);
  convolution.filter = view_of(*filter);
  convolution.output = view_of(*output);
  const auto &x = convolution.input.shape.size, &w = convolution.filter.shape.size;
  if (x[1] % w[1] != 0 || w[0] % (x[1] / w[1]) != 0) return bad("the channels are no groups of the filter's");
  convolution.problem = problem_of(names.pass, *operation.object(names.convolution), convolution);
  if (const cudnnStatus_t status = check_shapes(convolution); status != CUDNN_STATUS_SUCCESS) return status;
  if (convolution.problem.layout == Layout::chwn)
    return failed(CUDNN_STATUS_NOT_SUPPORTED_LAYOUT, "the strides are neither those of NCHW nor of NHWC");
  std::set<int64_t> ids;
  for (const Object& tensor : {input, filter, output}) {
    ids.insert(uid_of(tensor));
    if (is_virtual(*tensor)) continue;
    graph->alignment[uid_of(tensor)] = tensor->value<int64_t>(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT);
  }
  if (ids.size() != 3) return bad("tensors share a unique id");
  if (is_virtual(*input) || is_virtual(*filter)) return bad("what is convolved is virtual");
  graph->is_output_virtual = is_virtual(*output);
  graph->input = uid_of(input);
  graph->filter = uid_of(filter);
  graph->output = uid_of(output);
  graph->alpha = operation.value<float>(names.alpha);
  graph->beta = operation.value<float>(names.beta);
  operation.graph = graph;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t finalize_graph(BackendObject& object) {
  const std::vector<Object>& operations = object.objects(CUDNN_ATTR_OPERATIONGRAPH_OPS);
  if (operations.front()->graph == nullptr)
    return failed(CUDNN_STATUS_NOT_SUPPORTED, "the stand-in only knows graphs that begin with a convolution");
  auto graph = std::make_shared<Graph>(*operations.front()->graph);
  for (const Object& operation : std::span(operations).subspan(1)) {
    if (operation->type != CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR)
      return failed(CUDNN_STATUS_NOT_SUPPORTED, "the stand-in only knows graphs of one convolution");
    if (const cudnnStatus_t status = add_pointwise(*graph, *operation); status != CUDNN_STATUS_SUCCESS)
      return status;
  }
  if (graph->is_output_virtual) return bad("the output of the last operation is virtual");
  graph->answers = graph_answers(graph->convolution.problem);
  if (!graph->is_ranked) graph->answers.ranked = {};
  object.put(CUDNN_ATTR_OPERATIONGRAPH_ENGINE_GLOBAL_COUNT,
             std::vector<int64_t>{graph->answers.engine_count});
  object.graph = graph;
  return CUDNN_STATUS_SUCCESS;
}

template <typename T>
void put_one(BackendObject& object, cudnnBackendAttributeName_t name, T value) {
  object.put(name, std::vector<T>{value});
}

Object make_object(cudnnBackendDescriptorType_t type) {
  auto object = std::make_shared<BackendObject>();
  object->type = type;
  object->is_final = true;
  return object;
}

Object knob_info(const KnobRange& knob) {
  const Object info = make_object(CUDNN_BACKEND_KNOB_INFO_DESCRIPTOR);
  put_one(*info, CUDNN_ATTR_KNOB_INFO_TYPE, knob.type);
  put_one(*info, CUDNN_ATTR_KNOB_INFO_MINIMUM_VALUE, knob.min);
  put_one(*info, CUDNN_ATTR_KNOB_INFO_MAXIMUM_VALUE, knob.max);
  put_one(*info, CUDNN_ATTR_KNOB_INFO_STRIDE, knob.step);
  return info;
}

Object knob_choice(int type, int64_t value) {
  const Object choice = make_object(CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR);
  put_one(*choice, CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, type);
  put_one(*choice, CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, value);
  return choice;
}

cudnnStatus_t finalize_engine(BackendObject& object) {
  object.graph = object.object(CUDNN_ATTR_ENGINE_OPERATION_GRAPH)->graph;
  const auto number = object.value<int64_t>(CUDNN_ATTR_ENGINE_GLOBAL_INDEX);
  const auto& engines = object.graph->answers.engines;
  const auto found = engines.find(number);
  if (found == engines.end())
    return failed(CUDNN_STATUS_NOT_SUPPORTED, fmt::format("engine {} is none of this graph", number));
  const Engine& engine = found->second;
  if (!engine.refusal.empty()) return failed(status_in(engine.refusal), fmt::format("engine {}", number));
  object.put(CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, notes_of(engine.notes, kNumericalNotes, "NUMERICAL_NOTE"));
  object.put(CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE, notes_of(engine.notes, kBehaviourNotes, "BEHAVIOR_NOTE"));
  std::vector<Object> knobs;
  for (const KnobRange& knob : engine.knobs) knobs.push_back(knob_info(knob));
  object.put(CUDNN_ATTR_ENGINE_KNOB_INFO, std::move(knobs));
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t finalize_config(BackendObject& object) {
  const Object engine = object.object(CUDNN_ATTR_ENGINECFG_ENGINE);
  object.graph = engine->graph;
  Knobs knobs;
  std::set<int> types;
  for (const Object& choice : object.objects(CUDNN_ATTR_ENGINECFG_KNOB_CHOICES)) {
    knobs.emplace_back(choice->value<int>(CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE),
                       choice->value<int64_t>(CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE));
    if (!types.insert(knobs.back().first).second) return bad("two choices of one knob");
  }
  const std::string name = config_name(engine->value<int64_t>(CUDNN_ATTR_ENGINE_GLOBAL_INDEX), knobs);
  const auto& configs = object.graph->answers.configs;
  const auto found = configs.find(name);
  if (found == configs.end()) return failed(CUDNN_STATUS_NOT_SUPPORTED, name + " is no configuration");
  object.config = found->second;
  return CUDNN_STATUS_SUCCESS;
}

// A configuration as a heuristic gives it out; null where its engine is none.
Object make_config(const Object& graph, const std::string& name) {
  const auto parsed = parse_config(name);
  const Object engine = make_object(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  engine->put(CUDNN_ATTR_ENGINE_OPERATION_GRAPH, std::vector<Object>{graph});
  put_one(*engine, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, parsed->engine);
  engine->is_final = finalize_engine(*engine) == CUDNN_STATUS_SUCCESS;
  const Object config = make_object(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
  config->put(CUDNN_ATTR_ENGINECFG_ENGINE, std::vector<Object>{engine});
  std::vector<Object> choices;
  for (const auto& [type, value] : parsed->knobs) choices.push_back(knob_choice(type, value));
  if (!choices.empty()) config->put(CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, std::move(choices));
  config->is_final = engine->is_final && finalize_config(*config) == CUDNN_STATUS_SUCCESS;
  return config->is_final ? config : nullptr;
}

cudnnStatus_t finalize_heuristic(BackendObject& object) {
  const Object graph = object.object(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH);
  object.graph = graph->graph;
  static const std::map<cudnnBackendHeurMode_t, size_t> lists = {{CUDNN_HEUR_MODE_INSTANT, 0},
                                                                 {CUDNN_HEUR_MODE_A, 0},
                                                                 {CUDNN_HEUR_MODE_B, 1},
                                                                 {CUDNN_HEUR_MODE_FALLBACK, 2}};
  const auto list = lists.find(object.value<cudnnBackendHeurMode_t>(CUDNN_ATTR_ENGINEHEUR_MODE));
  if (list == lists.end()) return bad("there is no such mode of the heuristic");
  std::vector<Object> results;
  for (const std::string& name : object.graph->answers.ranked[list->second])
    if (Object config = make_config(graph, name)) results.push_back(std::move(config));
  object.put(CUDNN_ATTR_ENGINEHEUR_RESULTS, std::move(results));
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t finalize_plan(BackendObject& object) {
  const Object config = object.object(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
  object.graph = config->graph;
  object.config = config->config;
  const std::string& refusal = object.config.refusal;
  const bool later = refusal.starts_with("cudnnBackendExecute");
  if (const cudnnStatus_t status = status_in(refusal); status != CUDNN_STATUS_SUCCESS && !later)
    return failed(status, object.config.name);
  put_one(object, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, object.config.workspace_bytes);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t finalize_pack(BackendObject& pack) {
  const auto uids = pack.values<int64_t>(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
  const auto pointers = pack.values<void*>(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
  if (uids.size() != pointers.size()) return bad("as many unique ids as pointers are needed");
  if (std::set<int64_t>(uids.begin(), uids.end()).size() != uids.size())
    return failed(CUDNN_STATUS_BAD_PARAM_DUPLICATED_ENTRIES, "a unique id comes twice");
  return CUDNN_STATUS_SUCCESS;
}

}  // namespace

TensorView view_of(const BackendObject& tensor) {
  TensorView view;
  view.type = tensor.value<cudnnDataType_t>(CUDNN_ATTR_TENSOR_DATA_TYPE);
  const auto sizes = tensor.values<int64_t>(CUDNN_ATTR_TENSOR_DIMENSIONS);
  const auto strides = tensor.values<int64_t>(CUDNN_ATTR_TENSOR_STRIDES);
  std::copy(sizes.begin(), sizes.end(), view.shape.size.begin());
  std::copy(strides.begin(), strides.end(), view.shape.stride.begin());
  return view;
}

cudnnStatus_t finalize(BackendObject& object) {
  static const std::map<cudnnBackendDescriptorType_t, cudnnStatus_t (*)(BackendObject&)> functions = {
      {CUDNN_BACKEND_TENSOR_DESCRIPTOR, finalize_tensor},
      {CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, finalize_convolution},
      {CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, finalize_graph},
      {CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, finalize_heuristic},
      {CUDNN_BACKEND_ENGINE_DESCRIPTOR, finalize_engine},
      {CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, finalize_config},
      {CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, finalize_plan},
      {CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, finalize_pack}};
  const auto found = functions.find(object.type);
  if (found == functions.end() && is_operation(object.type) &&
      object.type != CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR)
    return finalize_operation(object);
  if (object.type == CUDNN_BACKEND_KNOB_INFO_DESCRIPTOR)
    return failed(CUDNN_STATUS_BAD_PARAM, "what is known of a knob is read from an engine");
  return found == functions.end() ? CUDNN_STATUS_SUCCESS : found->second(object);
}

}  // namespace convscope::standin
