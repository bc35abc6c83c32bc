#include "algorithms/cudnn/backend/graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>

#include "algorithms/cudnn/backend/legacy.hpp"
#include "algorithms/cudnn/names/notes.hpp"
#include "algorithms/cudnn/offers.hpp"
#include "bench/device/device_error.hpp"

namespace convscope::cudnn {
namespace {

// Every tensor of a problem starts on a cache line at least.
constexpr int64_t kAlignment = 16;

// Combinations of knobs that are tried for each that is asked for: many are none that an engine has.
constexpr size_t kTriesPerVariant = 32;

int64_t uid(Role role) {
  return role == Role::input ? 'x' : role == Role::filter ? 'w' : 'y';
}
constexpr int64_t kBias = 'b';

// Names of the device's properties, which headers before cuDNN 9.8 do not have.
constexpr auto kPropertiesDescriptor = static_cast<cudnnBackendDescriptorType_t>(38);
constexpr auto kPropertiesJson = static_cast<cudnnBackendAttributeName_t>(2702);
constexpr auto kPropertiesOfHeuristic = static_cast<cudnnBackendAttributeName_t>(204);
constexpr auto kPropertiesOfPlan = static_cast<cudnnBackendAttributeName_t>(407);
constexpr auto kPropertiesOfEngine = static_cast<cudnnBackendAttributeName_t>(1307);
constexpr auto kTypeChar = static_cast<cudnnBackendAttributeType_t>(24);

// A note that a later cuDNN has and these headers do not is named by its number.
template <typename Note, size_t N>
void add_notes(const BackendDescriptor& engine, cudnnBackendAttributeName_t name,
               cudnnBackendAttributeType_t type, const NoteName (&names)[N], const char* kind,
               std::vector<std::string>& notes) {
  for (Note note : engine.values<Note>(name, type)) {
    const auto* known =
        std::find_if(std::begin(names), std::end(names), [&](const NoteName& n) { return n.value == note; });
    notes.push_back(known != std::end(names) ? known->name
                                             : fmt::format("{}_{}", kind, static_cast<int>(note)));
  }
}

// Name and notes of a config, whose engine and knobs cuDNN tells.
Offer describe(const BackendDescriptor& config) {
  const auto engines = config.descriptors(CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_BACKEND_ENGINE_DESCRIPTOR, 1);
  Offer offer;
  if (engines.empty()) return offer;
  const BackendDescriptor& engine = engines.front();
  offer.name = fmt::format("engine {}", engine.number(CUDNN_ATTR_ENGINE_GLOBAL_INDEX));
  for (const BackendDescriptor& choice : config.descriptors(
           CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR, CUDNN_KNOB_TYPE_COUNTS)) {
    const auto type =
        choice.values<cudnnBackendKnobType_t>(CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE, 1);
    if (type.empty()) continue;
    offer.name += fmt::format(" k{}={}", static_cast<int>(type.front()),
                              choice.number(CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE));
  }
  add_notes<cudnnBackendNumericalNote_t>(engine, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE,
                                         kNumericalNotes, "NUMERICAL_NOTE", offer.notes);
  add_notes<cudnnBackendBehaviorNote_t>(engine, CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE, CUDNN_TYPE_BEHAVIOR_NOTE,
                                        kBehaviourNotes, "BEHAVIOR_NOTE", offer.notes);
  return offer;
}

// What an operation of a pass is called, and its tensors.
struct OperationNames {
  cudnnBackendDescriptorType_t type;
  cudnnBackendAttributeName_t alpha, beta, convolution, input, filter, output;
};

const OperationNames& operation_names(Pass pass) {
  static constexpr OperationNames forward = {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
                                             CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
                                             CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA,
                                             CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
                                             CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
                                             CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
                                             CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y};
  static constexpr OperationNames backward_data = {
      CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY};
  static constexpr OperationNames backward_filter = {
      CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY};
  return pass == Pass::forward ? forward : pass == Pass::backward_data ? backward_data : backward_filter;
}

BackendDescriptor operation_graph(const ConvProblem& problem, const Target& target) {
  BackendDescriptor graph(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  target.tell(graph, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, std::nullopt);
  const std::vector<BackendDescriptor> all = operations(problem);
  graph.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, std::span<const BackendDescriptor>(all));
  graph.finalize();
  return graph;
}

// What a tensor is besides its sizes. A virtual one is handed from one operation to the next and never
// stored.
struct TensorKind {
  int64_t uid;
  cudnnDataType_t type;
  bool is_virtual = false;
};

BackendDescriptor tensor(const TensorShape& shape, const TensorKind& kind) {
  BackendDescriptor descriptor(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  descriptor.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, kind.uid);
  descriptor.set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &kind.type);
  descriptor.set(CUDNN_ATTR_TENSOR_DIMENSIONS, std::span<const int64_t>(shape.size));
  descriptor.set(CUDNN_ATTR_TENSOR_STRIDES, std::span<const int64_t>(shape.stride));
  descriptor.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, kAlignment);
  if (kind.is_virtual) descriptor.set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1, &kind.is_virtual);
  descriptor.finalize();
  return descriptor;
}

// The output before the epilogue, or before its ReLU, in FP32.
BackendDescriptor unfinished(const ConvProblem& problem, int64_t unique_id) {
  return tensor(problem.shape(Role::output), {unique_id, CUDNN_DATA_FLOAT, true});
}

BackendDescriptor bias_tensor(const ConvProblem& problem) {
  const int64_t channels = problem.out_channels;
  return tensor({{1, channels, 1, 1}, {channels, 1, channels, channels}}, {kBias, CUDNN_DATA_FLOAT});
}

BackendDescriptor convolution_to(const ConvProblem& problem, const BackendDescriptor& output) {
  const OperationNames& names = operation_names(problem.pass);
  BackendDescriptor descriptor(names.type);
  descriptor.set(names.convolution, convolution(problem));
  descriptor.set(names.input, cudnn::tensor(problem, Role::input));
  descriptor.set(names.filter, cudnn::tensor(problem, Role::filter));
  descriptor.set(names.output, output);
  descriptor.set(names.alpha, 1.0f);
  descriptor.set(names.beta, 0.0f);
  descriptor.finalize();
  return descriptor;
}

// Of each element of `from`, and where it is given of `other`, which is repeated along axes of size 1.
BackendDescriptor pointwise(cudnnPointwiseMode_t mode, const BackendDescriptor& from,
                            const BackendDescriptor* other, const BackendDescriptor& to) {
  const cudnnDataType_t type = CUDNN_DATA_FLOAT;
  BackendDescriptor how(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
  how.set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, &mode);
  how.set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, 1, &type);
  how.finalize();
  BackendDescriptor descriptor(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
  descriptor.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, how);
  descriptor.set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, from);
  if (other != nullptr) descriptor.set(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, *other);
  descriptor.set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, to);
  descriptor.finalize();
  return descriptor;
}

BackendDescriptor knob_choice(cudnnBackendKnobType_t type, int64_t value) {
  BackendDescriptor choice(CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR);
  choice.set(CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE, 1, &type);
  choice.set(CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, value);
  choice.finalize();
  return choice;
}

}  // namespace

BackendDescriptor tensor(const ConvProblem& problem, Role role) {
  return tensor(problem.shape(role), {uid(role), data_type(problem.math)});
}

BackendDescriptor convolution(const ConvProblem& problem) {
  const auto pair = [](const Extent2& extent) { return std::array{extent.h, extent.w}; };
  const auto dilation = pair(problem.dilation), stride = pair(problem.stride), pad = pair(problem.pad);
  const cudnnDataType_t type = CUDNN_DATA_FLOAT;
  const cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;
  BackendDescriptor descriptor(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  descriptor.set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, int64_t{2});
  descriptor.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type);
  descriptor.set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1, &mode);
  descriptor.set(CUDNN_ATTR_CONVOLUTION_DILATIONS, std::span<const int64_t>(dilation));
  descriptor.set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, std::span<const int64_t>(stride));
  descriptor.set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, std::span<const int64_t>(pad));
  descriptor.set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, std::span<const int64_t>(pad));
  descriptor.finalize();
  return descriptor;
}

std::vector<BackendDescriptor> operations(const ConvProblem& problem) {
  std::vector<BackendDescriptor> all;
  const BackendDescriptor output = tensor(problem, Role::output);
  if (problem.epilogue == Epilogue::none) {
    all.push_back(convolution_to(problem, output));
    return all;
  }
  const BackendDescriptor sums = unfinished(problem, 's'), biased = unfinished(problem, 'p');
  all.push_back(convolution_to(problem, sums));
  if (has_bias(problem.epilogue)) {
    const BackendDescriptor bias = bias_tensor(problem);
    all.push_back(pointwise(CUDNN_POINTWISE_ADD, sums, &bias, has_relu(problem.epilogue) ? biased : output));
  }
  if (has_relu(problem.epilogue))
    all.push_back(
        pointwise(CUDNN_POINTWISE_RELU_FWD, has_bias(problem.epilogue) ? biased : sums, nullptr, output));
  return all;
}

Target Target::with_properties(const std::string& json) {
  auto properties = std::make_shared<BackendDescriptor>(kPropertiesDescriptor);
  properties->set(kPropertiesJson, kTypeChar, static_cast<int64_t>(json.size()), json.data());
  properties->finalize();
  Target target(nullptr);
  target.properties_ = std::move(properties);
  return target;
}

void Target::tell(BackendDescriptor& descriptor, std::optional<cudnnBackendAttributeName_t> handle_name,
                  std::optional<cudnnBackendAttributeName_t> properties_name) const {
  if (properties_ == nullptr) {
    if (handle_name) descriptor.set(*handle_name, CUDNN_TYPE_HANDLE, 1, &handle_);
  } else if (properties_name) {
    descriptor.set(*properties_name, *properties_);
  }
}

ConvolutionGraph::ConvolutionGraph(const ConvProblem& problem, const Target& target)
    : target_(target), graph_(operation_graph(problem, target)) {}

int64_t ConvolutionGraph::engine_count() const {
  return graph_.number(CUDNN_ATTR_OPERATIONGRAPH_ENGINE_GLOBAL_COUNT);
}

std::vector<EngineConfig> ConvolutionGraph::ranked(cudnnBackendHeurMode_t mode) const {
  BackendDescriptor heuristic(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  heuristic.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph_);
  heuristic.set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode);
  target_.tell(heuristic, std::nullopt, kPropertiesOfHeuristic);
  heuristic.finalize();
  std::vector<EngineConfig> configs;
  for (BackendDescriptor& config :
       heuristic.descriptors(CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR)) {
    try {
      Offer offer = describe(config);
      configs.push_back({std::move(config), std::move(offer)});
    } catch (const DeviceLost&) {
      throw;
    } catch (const std::runtime_error& error) {  // the others may do
      Offer refused;
      refused.name = fmt::format("configuration {}", configs.size());
      refused.refusal = error.what();
      configs.push_back({std::move(config), std::move(refused)});
    }
  }
  return configs;
}

BackendDescriptor ConvolutionGraph::engine_descriptor(int64_t index) const {
  if (const int64_t engines = engine_count(); index >= engines)
    throw Refused(Reason::library_refused,
                  fmt::format("cuDNN's graph of this problem has {} engines, 0 to {}", engines, engines - 1));
  BackendDescriptor engine(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  engine.set(CUDNN_ATTR_ENGINE_OPERATION_GRAPH, graph_);
  engine.set(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, index);
  target_.tell(engine, std::nullopt, kPropertiesOfEngine);
  engine.finalize();
  return engine;
}

EngineConfig ConvolutionGraph::engine(int64_t index) const {
  BackendDescriptor config(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
  config.set(CUDNN_ATTR_ENGINECFG_ENGINE, engine_descriptor(index));
  config.finalize();
  Offer offer = describe(config);
  return {std::move(config), std::move(offer)};
}

std::vector<EngineConfig> ConvolutionGraph::knob_variants(int64_t index, size_t limit) const {
  if (limit == 0) return {};
  const BackendDescriptor engine = engine_descriptor(index);
  std::vector<cudnnBackendKnobType_t> types;
  std::vector<std::vector<int64_t>> values;
  for (const BackendDescriptor& knob : engine.descriptors(
           CUDNN_ATTR_ENGINE_KNOB_INFO, CUDNN_BACKEND_KNOB_INFO_DESCRIPTOR, CUDNN_KNOB_TYPE_COUNTS)) {
    const auto type = knob.values<cudnnBackendKnobType_t>(CUDNN_ATTR_KNOB_INFO_TYPE, CUDNN_TYPE_KNOB_TYPE, 1);
    if (type.empty()) continue;
    types.push_back(type.front());
    const int64_t step = std::max<int64_t>(1, knob.number(CUDNN_ATTR_KNOB_INFO_STRIDE));
    std::vector<int64_t>& all = values.emplace_back();
    for (int64_t value = knob.number(CUDNN_ATTR_KNOB_INFO_MINIMUM_VALUE);
         value <= knob.number(CUDNN_ATTR_KNOB_INFO_MAXIMUM_VALUE) && all.size() < kTriesPerVariant * limit;
         value += step)
      all.push_back(value);
  }
  std::vector<EngineConfig> variants;
  if (types.empty()) return variants;
  for (const std::vector<int64_t>& combination : combinations(values, kTriesPerVariant * limit)) {
    if (variants.size() == limit) break;
    try {
      std::vector<BackendDescriptor> choices;
      for (size_t i = 0; i < types.size(); ++i) choices.push_back(knob_choice(types[i], combination[i]));
      BackendDescriptor config(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
      config.set(CUDNN_ATTR_ENGINECFG_ENGINE, engine);
      config.set(CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, std::span<const BackendDescriptor>(choices));
      config.finalize();
      Offer offer = describe(config);
      variants.push_back({std::move(config), std::move(offer)});
    } catch (const DeviceLost&) {
      throw;
    } catch (const std::runtime_error&) {
      continue;  // not every combination is one that the engine has
    }
  }
  return variants;
}

ExecutionPlan::ExecutionPlan(const EngineConfig& config, const Target& target)
    : plan_(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR) {
  target.tell(plan_, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, kPropertiesOfPlan);
  plan_.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, config.config);
  plan_.finalize();
}

const BackendDescriptor& ExecutionPlan::variant_pack(const ConvArgs& args) const {
  constexpr size_t most_packs = 4096;  // more than there are copies of the tensors, usually
  const std::array<const void*, 5> operands{args.input, args.filter, args.output, args.bias, args.workspace};
  if (const auto found = packs_.find(operands); found != packs_.end()) return found->second;
  const std::array<int64_t, 4> uids{uid(Role::input), uid(Role::filter), uid(Role::output), kBias};
  const size_t tensors = args.bias == nullptr ? 3 : 4;
  BackendDescriptor pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  pack.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, std::span(uids).first(tensors));
  pack.set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, static_cast<int64_t>(tensors),
           operands.data());
  pack.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &operands[4]);
  pack.finalize();
  if (packs_.size() >= most_packs) packs_.clear();
  return packs_.emplace(operands, std::move(pack)).first->second;
}

void ExecutionPlan::run(cudnnHandle_t handle, const ConvArgs& args) const {
  check(api().execute(handle, plan_.get(), variant_pack(args).get()), "cudnnBackendExecute");
}

}  // namespace convscope::cudnn
