// What stands between convolutions, by the legacy API: one or two functions of cuDNN each, on f32 in nchw.
#include <utility>

#include "algorithms/cudnn/backend/legacy.hpp"
#include "algorithms/cudnn/backend/plans.hpp"
#include "algorithms/cudnn/library.hpp"
#include "bench/core/local_response.hpp"
#include "bench/core/rounding.hpp"

namespace convscope::cudnn {
namespace {

constexpr float kOne = 1, kZero = 0;

// cuDNN divides its alpha by the number of channels around.
constexpr unsigned kLrnChannels = local_response::kChannels;
constexpr double kLrnAlpha = local_response::kAlpha * kLrnChannels;

TensorDescriptor dense(const Activations& shape) {
  auto descriptor = make_descriptor(api().create_tensor, api().destroy_tensor, "cudnnCreateTensorDescriptor");
  check(api().set_tensor(descriptor.get(), CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, to_int(shape.n),
                         to_int(shape.c), to_int(shape.h), to_int(shape.w)),
        "cudnnSetTensor4dDescriptor");
  return descriptor;
}

Descriptor<cudnnActivationStruct> described_relu() {
  auto relu =
      make_descriptor(api().create_activation, api().destroy_activation, "cudnnCreateActivationDescriptor");
  check(api().set_activation(relu.get(), CUDNN_ACTIVATION_RELU, CUDNN_NOT_PROPAGATE_NAN, 0),
        "cudnnSetActivationDescriptor");
  return relu;
}

class LibraryPlan : public OperationPlan {
 public:
  explicit LibraryPlan(const OperationProblem& problem)
      : problem_(problem), in_(dense(problem.in)), out_(dense(problem.out())) {}

  void use(Handle handle) { handle_ = std::move(handle); }

  void run(const OperationTensors& tensors, void* kept, Queue& queue) override {
    if (problem_.backward)
      backward(tensors, kept, queue);
    else
      forward(tensors, kept, queue);
  }

 protected:
  virtual void forward(const OperationTensors& tensors, void* kept, Queue& queue) = 0;
  virtual void backward(const OperationTensors& tensors, void* kept, Queue& queue) = 0;
  void relu_forward(cudnnActivationDescriptor_t relu, float* y, Queue& queue) const {
    check(api().activation_forward(on(queue), relu, &kOne, out(), y, &kZero, out(), y),
          "cudnnActivationForward");
  }
  // It asks for x and y; what ReLU left in place of x has the same signs.
  void relu_backward(cudnnActivationDescriptor_t relu, const float* y, const float* dy, float* dx,
                     Queue& queue) const {
    check(api().activation_backward(on(queue), relu, &kOne, out(), y, out(), dy, out(), y, &kZero, out(), dx),
          "cudnnActivationBackward");
  }

  const OperationProblem& problem() const { return problem_; }
  cudnnTensorDescriptor_t in() const { return in_.get(); }
  cudnnTensorDescriptor_t out() const { return out_.get(); }
  // The handle, for one call.
  cudnnHandle_t on(Queue& queue) const {
    use_queue(handle_, queue);
    return handle_.get();
  }

 private:
  OperationProblem problem_;
  Handle handle_;
  TensorDescriptor in_, out_;
};

// In place, as ours.
class BiasReluPlan final : public LibraryPlan {
 public:
  explicit BiasReluPlan(const OperationProblem& problem)
      : LibraryPlan(problem), bias_(dense({1, problem.in.c, 1, 1})), relu_(described_relu()) {}

  std::string implementation() const override {
    const bool backward = problem().backward;
    const std::string bias = backward ? "cudnnConvolutionBackwardBias" : "cudnnAddTensor";
    const std::string relu = backward ? "cudnnActivationBackward" : "cudnnActivationForward";
    if (!problem().has_bias()) return relu;
    if (!problem().has_relu()) return bias;
    return backward ? relu + ", " + bias : bias + ", " + relu;
  }

 private:
  void forward(const OperationTensors& t, void*, Queue& queue) override {
    if (problem().has_bias())
      check(api().add_tensor(on(queue), &kOne, bias_.get(), t[Slot::parameter], &kOne, out(), t[Slot::y]),
            "cudnnAddTensor");
    if (problem().has_relu()) relu_forward(relu_.get(), t[Slot::y], queue);
  }

  void backward(const OperationTensors& t, void*, Queue& queue) override {
    if (problem().has_relu()) relu_backward(relu_.get(), t[Slot::y], t[Slot::dy], t[Slot::dy], queue);
    if (problem().has_bias())
      check(api().backward_bias(on(queue), &kOne, out(), t[Slot::dy], &kZero, bias_.get(),
                                t[Slot::parameter_gradient]),
            "cudnnConvolutionBackwardBias");
  }

  TensorDescriptor bias_;
  Descriptor<cudnnActivationStruct> relu_;
};

class LrnPlan final : public LibraryPlan {
 public:
  explicit LrnPlan(const OperationProblem& problem)
      : LibraryPlan(problem),
        lrn_(make_descriptor(api().create_lrn, api().destroy_lrn, "cudnnCreateLRNDescriptor")) {
    check(api().set_lrn(lrn_.get(), kLrnChannels, kLrnAlpha, local_response::kBeta, local_response::kBias),
          "cudnnSetLRNDescriptor");
  }

  std::string implementation() const override {
    return problem().backward ? "cudnnLRNCrossChannelBackward" : "cudnnLRNCrossChannelForward";
  }

 private:
  void forward(const OperationTensors& t, void*, Queue& queue) override {
    check(api().lrn_forward(on(queue), lrn_.get(), CUDNN_LRN_CROSS_CHANNEL_DIM1, &kOne, in(), t[Slot::x],
                            &kZero, out(), t[Slot::y]),
          "cudnnLRNCrossChannelForward");
  }

  void backward(const OperationTensors& t, void*, Queue& queue) override {
    check(api().lrn_backward(on(queue), lrn_.get(), CUDNN_LRN_CROSS_CHANNEL_DIM1, &kOne, out(), t[Slot::y],
                             out(), t[Slot::dy], in(), t[Slot::x], &kZero, in(), t[Slot::dx]),
          "cudnnLRNCrossChannelBackward");
  }

  Descriptor<cudnnLRNStruct> lrn_;
};

cudnnPoolingMode_t pooling_of(const OperationProblem& problem) {
  if (problem.sort == OperationSort::pool) return CUDNN_POOLING_MAX;
  return problem.pool.counts_padding ? CUDNN_POOLING_AVERAGE_COUNT_INCLUDE_PADDING
                                     : CUDNN_POOLING_AVERAGE_COUNT_EXCLUDE_PADDING;
}

// Its backward keeps nothing and is given forward's x and y instead.
class PoolPlan final : public LibraryPlan {
 public:
  explicit PoolPlan(const OperationProblem& problem)
      : LibraryPlan(problem),
        pool_(make_descriptor(api().create_pooling, api().destroy_pooling, "cudnnCreatePoolingDescriptor")) {
    const LayerOperation& pool = problem.pool;
    check(api().set_pooling(pool_.get(), pooling_of(problem), CUDNN_NOT_PROPAGATE_NAN, to_int(pool.window.h),
                            to_int(pool.window.w), to_int(pool.pad.h), to_int(pool.pad.w),
                            to_int(pool.stride.h), to_int(pool.stride.w)),
          "cudnnSetPooling2dDescriptor");
  }

  std::string implementation() const override {
    return problem().backward ? "cudnnPoolingBackward" : "cudnnPoolingForward";
  }

  void prepare(const OperationTensors& tensors, void* kept, Queue& queue) override {
    forward(tensors, kept, queue);
  }

 private:
  void forward(const OperationTensors& t, void*, Queue& queue) override {
    check(api().pooling_forward(on(queue), pool_.get(), &kOne, in(), t[Slot::x], &kZero, out(), t[Slot::y]),
          "cudnnPoolingForward");
  }

  void backward(const OperationTensors& t, void*, Queue& queue) override {
    check(api().pooling_backward(on(queue), pool_.get(), &kOne, out(), t[Slot::y], out(), t[Slot::dy], in(),
                                 t[Slot::x], &kZero, in(), t[Slot::dx]),
          "cudnnPoolingBackward");
  }

  Descriptor<cudnnPoolingStruct> pool_;
};

// Keeps means and reciprocal deviations. ReLU is a pass of its own; its backward reads forward's y and, as dy
// is only read, leaves what it lets pass in scratch behind the statistics.
class BatchNormPlan final : public LibraryPlan {
 public:
  explicit BatchNormPlan(const OperationProblem& problem)
      : LibraryPlan(problem), channels_(dense({1, problem.in.c, 1, 1})), relu_(described_relu()) {}

  std::string implementation() const override {
    if (!problem().backward)
      return std::string("cudnnBatchNormalizationForwardTraining") +
             (problem().has_relu() ? ", cudnnActivationForward" : "");
    return std::string(problem().has_relu() ? "cudnnActivationBackward, " : "") +
           "cudnnBatchNormalizationBackward";
  }
  int64_t kept_bytes() const override {
    const bool has_scratch = problem().has_relu() && problem().backward;
    return static_cast<int64_t>(sizeof(float)) *
           (scratch_begin() + (has_scratch ? problem().in.elements() : 0));
  }
  void prepare(const OperationTensors& tensors, void* kept, Queue& queue) override {
    forward(tensors, kept, queue);
  }

 private:
  // Values; what is there begins on a cache line, too.
  int64_t scratch_begin() const { return round_up(2 * problem().in.c, int64_t{16}); }

  void forward(const OperationTensors& t, void* kept, Queue& queue) override {
    const int64_t channels = problem().in.c;
    auto* const means = static_cast<float*>(kept);
    const float* const scales = t[Slot::parameter];
    check(api().batch_norm_forward(on(queue), CUDNN_BATCHNORM_SPATIAL, &kOne, &kZero, in(), t[Slot::x], out(),
                                   t[Slot::y], channels_.get(), scales, scales + channels, 1, nullptr,
                                   nullptr, kBatchNormEpsilon, means, means + channels),
          "cudnnBatchNormalizationForwardTraining");
    if (problem().has_relu()) relu_forward(relu_.get(), t[Slot::y], queue);
  }

  void backward(const OperationTensors& t, void* kept, Queue& queue) override {
    const int64_t channels = problem().in.c;
    auto* const means = static_cast<float*>(kept);
    float* const passed = problem().has_relu() ? means + scratch_begin() : t[Slot::dy];
    if (problem().has_relu()) relu_backward(relu_.get(), t[Slot::y], t[Slot::dy], passed, queue);
    float* const gradients = t[Slot::parameter_gradient];
    check(api().batch_norm_backward(on(queue), CUDNN_BATCHNORM_SPATIAL, &kOne, &kZero, &kOne, &kZero, in(),
                                    t[Slot::x], out(), passed, in(), t[Slot::dx], channels_.get(),
                                    t[Slot::parameter], gradients, gradients + channels, kBatchNormEpsilon,
                                    means, means + channels),
          "cudnnBatchNormalizationBackward");
  }

  TensorDescriptor channels_;
  Descriptor<cudnnActivationStruct> relu_;
};

class AdditionPlan final : public LibraryPlan {
 public:
  explicit AdditionPlan(const OperationProblem& problem) : LibraryPlan(problem), relu_(described_relu()) {}

  std::string implementation() const override {
    return problem().has_relu() ? "cudnnAddTensor, cudnnActivationForward" : "cudnnAddTensor";
  }

 private:
  void forward(const OperationTensors& t, void*, Queue& queue) override {
    check(api().add_tensor(on(queue), &kOne, in(), t[Slot::x], &kOne, out(), t[Slot::y]), "cudnnAddTensor");
    if (problem().has_relu()) relu_forward(relu_.get(), t[Slot::y], queue);
  }
  void backward(const OperationTensors&, void*, Queue&) override {}  // it has none

  Descriptor<cudnnActivationStruct> relu_;
};

std::unique_ptr<LibraryPlan> described(const OperationProblem& problem) {
  switch (problem.sort) {
    case OperationSort::bias:
    case OperationSort::relu:
    case OperationSort::bias_relu:
      return std::make_unique<BiasReluPlan>(problem);
    case OperationSort::lrn:
      return std::make_unique<LrnPlan>(problem);
    case OperationSort::pool:
    case OperationSort::mean:
      return std::make_unique<PoolPlan>(problem);
    case OperationSort::batch_norm:
    case OperationSort::batch_norm_relu:
      return std::make_unique<BatchNormPlan>(problem);
    case OperationSort::add:
    case OperationSort::add_relu:
      return std::make_unique<AdditionPlan>(problem);
    case OperationSort::copy:
    case OperationSort::update:
    case OperationSort::one_bit:
      break;
  }
  throw std::logic_error("cuDNN has no " + to_text(problem));
}

}  // namespace

// The descriptors come first, as they need no device.
std::unique_ptr<OperationPlan> make_operation_plan(const OperationProblem& problem) {
  auto plan = described(problem);
  plan->use(shared_handle());
  return plan;
}

}  // namespace convscope::cudnn
