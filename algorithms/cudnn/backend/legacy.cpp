#include "algorithms/cudnn/backend/legacy.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "algorithms/cudnn/variants.hpp"

namespace convscope::cudnn {
namespace {

// legacy_algorithms() names cuDNN's enums by their values.
static_assert(CUDNN_CONVOLUTION_FWD_ALGO_COUNT == 8 && CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD_NONFUSED == 7 &&
              CUDNN_CONVOLUTION_FWD_ALGO_FFT == 4 && CUDNN_CONVOLUTION_FWD_ALGO_GEMM == 2);
static_assert(CUDNN_CONVOLUTION_BWD_DATA_ALGO_COUNT == 6 && CUDNN_CONVOLUTION_BWD_DATA_ALGO_FFT == 2 &&
              CUDNN_CONVOLUTION_BWD_DATA_ALGO_WINOGRAD_NONFUSED == 5);
static_assert(CUDNN_CONVOLUTION_BWD_FILTER_ALGO_COUNT == 7 && CUDNN_CONVOLUTION_BWD_FILTER_ALGO_3 == 3 &&
              CUDNN_CONVOLUTION_BWD_FILTER_ALGO_FFT_TILING == 6);

constexpr float kOne = 1, kZero = 0;

cudnnTensorFormat_t format(Layout layout) {
  return layout == Layout::nhwc ? CUDNN_TENSOR_NHWC : CUDNN_TENSOR_NCHW;
}

// The math type that a problem is described with, before an algorithm is chosen.
cudnnMathType_t math_type(MathMode math) {
  switch (math) {
    case MathMode::fp32:
    case MathMode::tf32x3:
      return CUDNN_FMA_MATH;
    case MathMode::tf32:
      return CUDNN_DEFAULT_MATH;
    default:
      return CUDNN_TENSOR_OP_MATH;
  }
}

struct MathName {
  cudnnMathType_t type;
  const char* name;
};
constexpr MathName kMathNames[] = {{CUDNN_DEFAULT_MATH, "DEFAULT_MATH"},
                                   {CUDNN_TENSOR_OP_MATH, "TENSOR_OP_MATH"},
                                   {CUDNN_TENSOR_OP_MATH_ALLOW_CONVERSION, "TENSOR_OP_MATH_ALLOW_CONVERSION"},
                                   {CUDNN_FMA_MATH, "FMA_MATH"}};

const char* math_name(cudnnMathType_t type) {
  for (const MathName& math : kMathNames)
    if (math.type == type) return math.name;
  return "";
}

template <typename Perf>
Offer offer_in(Pass pass, const Perf& perf) {
  Offer offer;
  const auto names = legacy_algorithms(pass);
  const auto index = static_cast<size_t>(perf.algo);
  offer.name = index < names.size() ? std::string(names[index]) : "algorithm " + std::to_string(index);
  for (const MathName& math : kMathNames)
    if (math.type == perf.mathType) offer.notes.emplace_back(math.name);
  if (perf.determinism == CUDNN_NON_DETERMINISTIC) offer.notes.emplace_back("NONDETERMINISTIC");
  if (perf.status != CUDNN_STATUS_SUCCESS)
    offer.refusal = offer.name + ": " + api().error_string(perf.status);
  offer.workspace_bytes = static_cast<int64_t>(perf.memory);
  if (perf.time >= 0) offer.seconds = 1e-3 * static_cast<double>(perf.time);
  return offer;
}

// Calls ask(count, &returned, rows) with room for every algorithm in every math type.
template <typename Perf, typename Ask>
std::vector<Offer> offers_of(Pass pass, const char* call, Ask ask) {
  std::vector<Perf> rows(legacy_algorithms(pass).size() * std::size(kMathNames));
  int returned = 0;
  check(ask(static_cast<int>(rows.size()), &returned, rows.data()), call);
  std::vector<Offer> offers;
  for (int i = 0; i < returned; ++i) offers.push_back(offer_of(rows[static_cast<size_t>(i)]));
  return offers;
}

}  // namespace

int to_int(int64_t size) {
  if (size > INT32_MAX)
    throw Refused(Reason::unsupported_size,
                  "a size of " + std::to_string(size) + ": cuDNN's legacy API takes sizes below 2^31");
  return static_cast<int>(size);
}

std::vector<Offer> forced_offers(MathMode math, const std::string& algorithm) {
  std::vector<cudnnMathType_t> types{math_type(math)};
  if (storage_type(math) != DataType::f32) types.insert(types.end(), {CUDNN_DEFAULT_MATH, CUDNN_FMA_MATH});
  std::vector<Offer> offers;
  for (const cudnnMathType_t type : types) {
    Offer& offer = offers.emplace_back();
    offer.name = algorithm;
    offer.notes.emplace_back(math_name(type));
  }
  return offers;
}

Offer offer_of(const cudnnConvolutionFwdAlgoPerf_t& row) {
  return offer_in(Pass::forward, row);
}
Offer offer_of(const cudnnConvolutionBwdDataAlgoPerf_t& row) {
  return offer_in(Pass::backward_data, row);
}
Offer offer_of(const cudnnConvolutionBwdFilterAlgoPerf_t& row) {
  return offer_in(Pass::backward_filter, row);
}

cudnnDataType_t data_type(MathMode math) {
  switch (storage_type(math)) {
    case DataType::bf16:
      return CUDNN_DATA_BFLOAT16;
    case DataType::f16:
      return CUDNN_DATA_HALF;
    default:
      return CUDNN_DATA_FLOAT;
  }
}

TensorDescriptor tensor_descriptor(const ConvProblem& problem, Role role) {
  auto descriptor = make_descriptor(api().create_tensor, api().destroy_tensor, "cudnnCreateTensorDescriptor");
  const auto size = problem.shape(role).size;
  check(api().set_tensor(descriptor.get(), format(problem.layout), data_type(problem.math), to_int(size[0]),
                         to_int(size[1]), to_int(size[2]), to_int(size[3])),
        "cudnnSetTensor4dDescriptor");
  return descriptor;
}

LegacyConvolution::LegacyConvolution(const ConvProblem& problem)
    : problem_(problem),
      input_(tensor_descriptor(problem, Role::input)),
      output_(tensor_descriptor(problem, Role::output)),
      filter_(make_descriptor(api().create_filter, api().destroy_filter, "cudnnCreateFilterDescriptor")),
      convolution_(make_descriptor(api().create_convolution, api().destroy_convolution,
                                   "cudnnCreateConvolutionDescriptor")) {
  const auto size = problem.shape(Role::filter).size;
  check(api().set_filter(filter_.get(), data_type(problem.math), format(problem.layout), to_int(size[0]),
                         to_int(size[1]), to_int(size[2]), to_int(size[3])),
        "cudnnSetFilter4dDescriptor");
  check(api().set_convolution(convolution_.get(), to_int(problem.pad.h), to_int(problem.pad.w),
                              to_int(problem.stride.h), to_int(problem.stride.w), to_int(problem.dilation.h),
                              to_int(problem.dilation.w), CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT),
        "cudnnSetConvolution2dDescriptor");
  check(api().set_group_count(convolution_.get(), to_int(problem.groups)), "cudnnSetConvolutionGroupCount");
  set_math(math_type(problem.math));
}

void LegacyConvolution::set_math(cudnnMathType_t math) const {
  check(api().set_math_type(convolution_.get(), math), "cudnnSetConvolutionMathType");
}

// Get and Find of a pass take the same arguments. Both look at the math type for what they may offer, which a
// choice before has perhaps changed.
std::vector<Offer> LegacyConvolution::ask(cudnnHandle_t handle, bool find) const {
  set_math(math_type(problem_.math));
  const Pass pass = problem_.pass;
  if (pass == Pass::forward)
    return offers_of<cudnnConvolutionFwdAlgoPerf_t>(
        pass, find ? "cudnnFindConvolutionForwardAlgorithm" : "cudnnGetConvolutionForwardAlgorithm_v7",
        [&](int count, int* returned, auto* rows) {
          return (find ? api().find_forward : api().get_forward)(
              handle, input_.get(), filter_.get(), convolution_.get(), output_.get(), count, returned, rows);
        });
  if (pass == Pass::backward_data)
    return offers_of<cudnnConvolutionBwdDataAlgoPerf_t>(
        pass,
        find ? "cudnnFindConvolutionBackwardDataAlgorithm" : "cudnnGetConvolutionBackwardDataAlgorithm_v7",
        [&](int count, int* returned, auto* rows) {
          return (find ? api().find_backward_data : api().get_backward_data)(
              handle, filter_.get(), output_.get(), convolution_.get(), input_.get(), count, returned, rows);
        });
  return offers_of<cudnnConvolutionBwdFilterAlgoPerf_t>(
      pass,
      find ? "cudnnFindConvolutionBackwardFilterAlgorithm" : "cudnnGetConvolutionBackwardFilterAlgorithm_v7",
      [&](int count, int* returned, auto* rows) {
        return (find ? api().find_backward_filter : api().get_backward_filter)(
            handle, input_.get(), output_.get(), convolution_.get(), filter_.get(), count, returned, rows);
      });
}

void LegacyConvolution::choose(const Offer& offer) {
  const auto index = legacy_index(problem_.pass, offer.name);
  if (!index) throw std::logic_error("cuDNN has no algorithm " + offer.name + " in this pass");
  algorithm_ = *index;
  if (problem_.math == MathMode::fp32) return;
  for (const MathName& math : kMathNames)
    if (std::find(offer.notes.begin(), offer.notes.end(), math.name) != offer.notes.end())
      set_math(math.type);
}

size_t LegacyConvolution::workspace_bytes(cudnnHandle_t handle) const {
  size_t bytes = 0;
  switch (problem_.pass) {
    case Pass::forward:
      check(api().workspace_forward(handle, input_.get(), filter_.get(), convolution_.get(), output_.get(),
                                    static_cast<cudnnConvolutionFwdAlgo_t>(algorithm_), &bytes),
            "cudnnGetConvolutionForwardWorkspaceSize");
      break;
    case Pass::backward_data:
      check(api().workspace_backward_data(handle, filter_.get(), output_.get(), convolution_.get(),
                                          input_.get(),
                                          static_cast<cudnnConvolutionBwdDataAlgo_t>(algorithm_), &bytes),
            "cudnnGetConvolutionBackwardDataWorkspaceSize");
      break;
    case Pass::backward_filter:
      check(api().workspace_backward_filter(handle, input_.get(), output_.get(), convolution_.get(),
                                            filter_.get(),
                                            static_cast<cudnnConvolutionBwdFilterAlgo_t>(algorithm_), &bytes),
            "cudnnGetConvolutionBackwardFilterWorkspaceSize");
  }
  return bytes;
}

void LegacyConvolution::run(cudnnHandle_t handle, const ConvArgs& args, size_t workspace_bytes) const {
  switch (problem_.pass) {
    case Pass::forward:
      return check(api().forward(handle, &kOne, input_.get(), args.input, filter_.get(), args.filter,
                                 convolution_.get(), static_cast<cudnnConvolutionFwdAlgo_t>(algorithm_),
                                 args.workspace, workspace_bytes, &kZero, output_.get(), args.output),
                   "cudnnConvolutionForward");
    case Pass::backward_data:
      return check(
          api().backward_data(handle, &kOne, filter_.get(), args.filter, output_.get(), args.output,
                              convolution_.get(), static_cast<cudnnConvolutionBwdDataAlgo_t>(algorithm_),
                              args.workspace, workspace_bytes, &kZero, input_.get(), args.input),
          "cudnnConvolutionBackwardData");
    case Pass::backward_filter:
      return check(
          api().backward_filter(handle, &kOne, input_.get(), args.input, output_.get(), args.output,
                                convolution_.get(), static_cast<cudnnConvolutionBwdFilterAlgo_t>(algorithm_),
                                args.workspace, workspace_bytes, &kZero, filter_.get(), args.filter),
          "cudnnConvolutionBackwardFilter");
  }
}

}  // namespace convscope::cudnn
