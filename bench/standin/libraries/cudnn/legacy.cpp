// Get, Find, workspaces and the convolutions of the legacy API.
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "bench/standin/libraries/cudnn/answers.hpp"
#include "bench/standin/libraries/cudnn/legacy_descriptors.hpp"
#include "bench/standin/libraries/runtime.hpp"

namespace convscope::standin {
namespace {

constexpr const char* kMathNames[] = {"DEFAULT_MATH", "TENSOR_OP_MATH", "TENSOR_OP_MATH_ALLOW_CONVERSION",
                                      "FMA_MATH"};

MathMode math_mode(cudnnDataType_t type, cudnnMathType_t math) {
  if (type == CUDNN_DATA_HALF) return MathMode::fp16;
  if (type == CUDNN_DATA_BFLOAT16) return MathMode::bf16;
  return math == CUDNN_FMA_MATH ? MathMode::fp32 : MathMode::tf32;
}

// The three tensors and the convolution of a call, checked.
struct Asked {
  cudnnStatus_t status = CUDNN_STATUS_SUCCESS;
  Convolution convolution;
  std::string math;
};

Asked describe(Pass pass, cudnnHandle_t handle, cudnnTensorDescriptor_t input, cudnnFilterDescriptor_t filter,
               cudnnConvolutionDescriptor_t how, cudnnTensorDescriptor_t output) {
  Asked asked;
  const auto refuse = [&](cudnnStatus_t status, const char* words) {
    asked.status = failed(status, words);
    return asked;
  };
  if (handle == nullptr || input == nullptr || filter == nullptr || how == nullptr || output == nullptr)
    return refuse(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "a handle or descriptor is null");
  if (!input->is_set || !filter->is_set || !how->is_set || !output->is_set)
    return refuse(CUDNN_STATUS_BAD_PARAM, "a descriptor was never set");
  if (how->mode != CUDNN_CROSS_CORRELATION || how->compute_type != CUDNN_DATA_FLOAT)
    return refuse(CUDNN_STATUS_NOT_SUPPORTED, "the stand-in only knows cross-correlation with sums in FP32");
  if (input->format != filter->format || input->format != output->format)
    return refuse(CUDNN_STATUS_NOT_SUPPORTED_LAYOUT, "the tensors differ in their format");
  ConvProblem& p = asked.convolution.problem = problem_of_shapes(input->view.shape, filter->view.shape);
  p.pass = pass;
  p.math = math_mode(input->view.type, how->math);
  p.layout = input->format == CUDNN_TENSOR_NHWC ? Layout::nhwc : Layout::nchw;
  p.groups = how->groups;
  p.stride = how->stride;
  p.pad = how->pad;
  p.dilation = how->dilation;
  asked.convolution.input = input->view;
  asked.convolution.filter = filter->view;
  asked.convolution.output = output->view;
  asked.math = kMathNames[how->math];
  asked.status = check_shapes(asked.convolution);
  return asked;
}

// Get and Find, which have offers of their own. Both tell all algorithms, those that cannot be run with their
// status.
template <typename Perf>
cudnnStatus_t answer(const char* function, std::vector<Offer> (*offers_of)(const ConvProblem&),
                     const Asked& asked, int room, int* returned, Perf* perfs) {
  if (const Fault fault = enter_cudnn(function)) return failed(fault);
  if (asked.status != CUDNN_STATUS_SUCCESS) return asked.status;
  if (returned == nullptr || perfs == nullptr)
    return failed(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "nowhere to put the answer");
  if (room < 1) return failed(CUDNN_STATUS_BAD_PARAM, "requestedAlgoCount is below 1");
  const auto names = algorithm_names(asked.convolution.problem.pass);
  *returned = 0;
  for (const Offer& offer : offers_of(asked.convolution.problem)) {
    if (*returned == room) break;
    Perf& perf = perfs[(*returned)++] = Perf{};
    perf.algo =
        static_cast<decltype(perf.algo)>(std::find(names.begin(), names.end(), offer.name) - names.begin());
    perf.status = status_in(offer.refusal);
    perf.time = offer.seconds ? static_cast<float>(1e3 * *offer.seconds) : -1;
    perf.memory = static_cast<size_t>(offer.workspace_bytes);
    perf.determinism = CUDNN_DETERMINISTIC;
    for (const std::string& note : offer.notes) {
      if (note == "NONDETERMINISTIC") perf.determinism = CUDNN_NON_DETERMINISTIC;
      for (int math = 0; math < static_cast<int>(std::size(kMathNames)); ++math)
        if (note == kMathNames[math]) perf.mathType = static_cast<cudnnMathType_t>(math);
    }
  }
  return CUDNN_STATUS_SUCCESS;
}

// What the script or the rules say of the algorithm, or why it is none.
cudnnStatus_t look_up(const Asked& asked, int algorithm, Offer& offer) {
  if (asked.status != CUDNN_STATUS_SUCCESS) return asked.status;
  const auto names = algorithm_names(asked.convolution.problem.pass);
  if (algorithm < 0 || static_cast<size_t>(algorithm) >= names.size())
    return failed(CUDNN_STATUS_BAD_PARAM, fmt::format("there is no algorithm {}", algorithm));
  offer = forced_offer(asked.convolution.problem, names[static_cast<size_t>(algorithm)], asked.math);
  const cudnnStatus_t status = status_in(offer.refusal);
  return status == CUDNN_STATUS_SUCCESS ? status
                                        : failed(status, fmt::format("{} in {}", offer.name, asked.math));
}

cudnnStatus_t workspace(const char* function, const Asked& asked, int algorithm, size_t* bytes) {
  if (const Fault fault = enter_cudnn(function)) return failed(fault);
  if (bytes == nullptr) return failed(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, function);
  Offer offer;
  const cudnnStatus_t status = look_up(asked, algorithm, offer);
  if (status == CUDNN_STATUS_SUCCESS) *bytes = static_cast<size_t>(offer.workspace_bytes);
  return status;
}

struct Pointers {
  const void *alpha, *beta;
  void *input, *filter, *output, *workspace;
  size_t workspace_bytes;
};

cudnnStatus_t run(const char* function, cudnnHandle_t handle, const Asked& asked, int algorithm,
                  const Pointers& at) {
  if (const Fault fault = enter_cudnn(function)) return failed(fault);
  Offer offer;
  if (const cudnnStatus_t status = look_up(asked, algorithm, offer); status != CUDNN_STATUS_SUCCESS)
    return status;
  if (at.alpha == nullptr || at.beta == nullptr || at.input == nullptr || at.filter == nullptr ||
      at.output == nullptr)
    return failed(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, function);
  const auto needed = static_cast<size_t>(offer.workspace_bytes);
  if (at.workspace_bytes < needed || (needed > 0 && at.workspace == nullptr))
    return failed(CUDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT,
                  fmt::format("a workspace of {} bytes, {} are needed", at.workspace_bytes, needed));
  load_kernels(algorithm_names(asked.convolution.problem.pass).data() + algorithm);
  const double alpha = *static_cast<const float*>(at.alpha), beta = *static_cast<const float*>(at.beta);
  const cudaError_t code =
      enqueue(handle->stream, [=, convolution = asked.convolution, seconds = scripted_time(offer.seconds)] {
        scribble(at.workspace, needed);
        compute(convolution, at.input, at.filter, at.output, alpha, beta);
        take(seconds);
      });
  if (code == cudaSuccess) return CUDNN_STATUS_SUCCESS;
  return failed(CUDNN_STATUS_EXECUTION_FAILED_CUDART, function);
}

void* changeable(const void* data) {
  return const_cast<void*>(data);
}

}  // namespace
}  // namespace convscope::standin

using namespace convscope::standin;
using convscope::Pass;

extern "C" {

size_t cudnnGetVersion() {
  return section("cudnn").value("version", size_t{CUDNN_VERSION});
}

cudnnStatus_t cudnnGetConvolutionForwardAlgorithm_v7(cudnnHandle_t handle, const cudnnTensorDescriptor_t x,
                                                     const cudnnFilterDescriptor_t w,
                                                     const cudnnConvolutionDescriptor_t how,
                                                     const cudnnTensorDescriptor_t y, const int room,
                                                     int* returned, cudnnConvolutionFwdAlgoPerf_t* perfs) {
  return answer("cudnnGetConvolutionForwardAlgorithm_v7", get_offers,
                describe(Pass::forward, handle, x, w, how, y), room, returned, perfs);
}
cudnnStatus_t cudnnGetConvolutionBackwardDataAlgorithm_v7(
    cudnnHandle_t handle, const cudnnFilterDescriptor_t w, const cudnnTensorDescriptor_t dy,
    const cudnnConvolutionDescriptor_t how, const cudnnTensorDescriptor_t dx, const int room, int* returned,
    cudnnConvolutionBwdDataAlgoPerf_t* perfs) {
  return answer("cudnnGetConvolutionBackwardDataAlgorithm_v7", get_offers,
                describe(Pass::backward_data, handle, dx, w, how, dy), room, returned, perfs);
}
cudnnStatus_t cudnnGetConvolutionBackwardFilterAlgorithm_v7(
    cudnnHandle_t handle, const cudnnTensorDescriptor_t x, const cudnnTensorDescriptor_t dy,
    const cudnnConvolutionDescriptor_t how, const cudnnFilterDescriptor_t dw, const int room, int* returned,
    cudnnConvolutionBwdFilterAlgoPerf_t* perfs) {
  return answer("cudnnGetConvolutionBackwardFilterAlgorithm_v7", get_offers,
                describe(Pass::backward_filter, handle, x, dw, how, dy), room, returned, perfs);
}

cudnnStatus_t cudnnFindConvolutionForwardAlgorithm(cudnnHandle_t handle, const cudnnTensorDescriptor_t x,
                                                   const cudnnFilterDescriptor_t w,
                                                   const cudnnConvolutionDescriptor_t how,
                                                   const cudnnTensorDescriptor_t y, const int room,
                                                   int* returned, cudnnConvolutionFwdAlgoPerf_t* perfs) {
  return answer("cudnnFindConvolutionForwardAlgorithm", find_offers,
                describe(Pass::forward, handle, x, w, how, y), room, returned, perfs);
}
cudnnStatus_t cudnnFindConvolutionBackwardDataAlgorithm(cudnnHandle_t handle, const cudnnFilterDescriptor_t w,
                                                        const cudnnTensorDescriptor_t dy,
                                                        const cudnnConvolutionDescriptor_t how,
                                                        const cudnnTensorDescriptor_t dx, const int room,
                                                        int* returned,
                                                        cudnnConvolutionBwdDataAlgoPerf_t* perfs) {
  return answer("cudnnFindConvolutionBackwardDataAlgorithm", find_offers,
                describe(Pass::backward_data, handle, dx, w, how, dy), room, returned, perfs);
}
cudnnStatus_t cudnnFindConvolutionBackwardFilterAlgorithm(
    cudnnHandle_t handle, const cudnnTensorDescriptor_t x, const cudnnTensorDescriptor_t dy,
    const cudnnConvolutionDescriptor_t how, const cudnnFilterDescriptor_t dw, const int room, int* returned,
    cudnnConvolutionBwdFilterAlgoPerf_t* perfs) {
  return answer("cudnnFindConvolutionBackwardFilterAlgorithm", find_offers,
                describe(Pass::backward_filter, handle, x, dw, how, dy), room, returned, perfs);
}

cudnnStatus_t cudnnGetConvolutionForwardWorkspaceSize(cudnnHandle_t handle, const cudnnTensorDescriptor_t x,
                                                      const cudnnFilterDescriptor_t w,
                                                      const cudnnConvolutionDescriptor_t how,
                                                      const cudnnTensorDescriptor_t y,
                                                      cudnnConvolutionFwdAlgo_t algorithm, size_t* bytes) {
  return workspace("cudnnGetConvolutionForwardWorkspaceSize", describe(Pass::forward, handle, x, w, how, y),
                   algorithm, bytes);
}
cudnnStatus_t cudnnGetConvolutionBackwardDataWorkspaceSize(
    cudnnHandle_t handle, const cudnnFilterDescriptor_t w, const cudnnTensorDescriptor_t dy,
    const cudnnConvolutionDescriptor_t how, const cudnnTensorDescriptor_t dx,
    cudnnConvolutionBwdDataAlgo_t algorithm, size_t* bytes) {
  return workspace("cudnnGetConvolutionBackwardDataWorkspaceSize",
                   describe(Pass::backward_data, handle, dx, w, how, dy), algorithm, bytes);
}
cudnnStatus_t cudnnGetConvolutionBackwardFilterWorkspaceSize(
    cudnnHandle_t handle, const cudnnTensorDescriptor_t x, const cudnnTensorDescriptor_t dy,
    const cudnnConvolutionDescriptor_t how, const cudnnFilterDescriptor_t dw,
    cudnnConvolutionBwdFilterAlgo_t algorithm, size_t* bytes) {
  return workspace("cudnnGetConvolutionBackwardFilterWorkspaceSize",
                   describe(Pass::backward_filter, handle, x, dw, how, dy), algorithm, bytes);
}

cudnnStatus_t cudnnConvolutionForward(cudnnHandle_t handle, const void* alpha,
                                      const cudnnTensorDescriptor_t x, const void* x_data,
                                      const cudnnFilterDescriptor_t w, const void* w_data,
                                      const cudnnConvolutionDescriptor_t how,
                                      cudnnConvolutionFwdAlgo_t algorithm, void* space, size_t space_bytes,
                                      const void* beta, const cudnnTensorDescriptor_t y, void* y_data) {
  return run("cudnnConvolutionForward", handle, describe(Pass::forward, handle, x, w, how, y), algorithm,
             {alpha, beta, changeable(x_data), changeable(w_data), y_data, space, space_bytes});
}
cudnnStatus_t cudnnConvolutionBackwardData(cudnnHandle_t handle, const void* alpha,
                                           const cudnnFilterDescriptor_t w, const void* w_data,
                                           const cudnnTensorDescriptor_t dy, const void* dy_data,
                                           const cudnnConvolutionDescriptor_t how,
                                           cudnnConvolutionBwdDataAlgo_t algorithm, void* space,
                                           size_t space_bytes, const void* beta,
                                           const cudnnTensorDescriptor_t dx, void* dx_data) {
  return run("cudnnConvolutionBackwardData", handle, describe(Pass::backward_data, handle, dx, w, how, dy),
             algorithm, {alpha, beta, dx_data, changeable(w_data), changeable(dy_data), space, space_bytes});
}
cudnnStatus_t cudnnConvolutionBackwardFilter(cudnnHandle_t handle, const void* alpha,
                                             const cudnnTensorDescriptor_t x, const void* x_data,
                                             const cudnnTensorDescriptor_t dy, const void* dy_data,
                                             const cudnnConvolutionDescriptor_t how,
                                             cudnnConvolutionBwdFilterAlgo_t algorithm, void* space,
                                             size_t space_bytes, const void* beta,
                                             const cudnnFilterDescriptor_t dw, void* dw_data) {
  return run("cudnnConvolutionBackwardFilter", handle,
             describe(Pass::backward_filter, handle, x, dw, how, dy), algorithm,
             {alpha, beta, changeable(x_data), dw_data, changeable(dy_data), space, space_bytes});
}

}  // extern "C"
