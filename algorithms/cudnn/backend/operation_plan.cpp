// What stands between convolutions, by the legacy API: one or two functions of cuDNN each, on f32 in nchw.
#include <utility>

#include "algorithms/cudnn/backend/legacy.hpp"
#include "algorithms/cudnn/backend/plans.hpp"
#include "algorithms/cudnn/library.hpp"

namespace convscope::cudnn {
namespace {

constexpr float kOne = 1, kZero = 0;

// Krizhevsky et al. 2012, section 3.3. cuDNN divides its alpha by the number of channels around.
constexpr unsigned kLrnChannels = 5;
constexpr double kLrnAlpha = 1e-4 * kLrnChannels, kLrnBeta = 0.75, kLrnBias = 2;

TensorDescriptor dense(const Activations& shape) {
  auto descriptor = make_descriptor(api().create_tensor, api().destroy_tensor, "cudnnCreateTensorDescriptor");
  check(api().set_tensor(descriptor.get(), CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, to_int(shape.n),
                         to_int(shape.c), to_int(shape.h), to_int(shape.w)),
        "cudnnSetTensor4dDescriptor");
  return descriptor;
}

class LibraryPlan : public OperationPlan {
 public:
  explicit LibraryPlan(const OperationProblem& problem)
      : problem_(problem), in_(dense(problem.in)), out_(dense(problem.out())) {}

  void use(Handle handle) { handle_ = std::move(handle); }

  void run(const OperationTensors& tensors, void*, Queue& queue) override {
    if (problem_.backward)
      backward(tensors, queue);
    else
      forward(tensors, queue);
  }

 protected:
  virtual void forward(const OperationTensors& tensors, Queue& queue) = 0;
  virtual void backward(const OperationTensors& tensors, Queue& queue) = 0;

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

// In place, as ours. ReLU's backward asks for x and y; what it left in place of x has the same signs.
class BiasReluPlan final : public LibraryPlan {
 public:
  explicit BiasReluPlan(const OperationProblem& problem)
      : LibraryPlan(problem),
        has_bias_(problem.sort != OperationSort::relu),
        has_relu_(problem.sort != OperationSort::bias),
        bias_(dense({1, problem.in.c, 1, 1})),
        relu_(make_descriptor(api().create_activation, api().destroy_activation,
                              "cudnnCreateActivationDescriptor")) {
    check(api().set_activation(relu_.get(), CUDNN_ACTIVATION_RELU, CUDNN_NOT_PROPAGATE_NAN, 0),
          "cudnnSetActivationDescriptor");
  }

  std::string implementation() const override {
    const bool backward = problem().backward;
    const std::string bias = backward ? "cudnnConvolutionBackwardBias" : "cudnnAddTensor";
    const std::string relu = backward ? "cudnnActivationBackward" : "cudnnActivationForward";
    if (!has_bias_) return relu;
    if (!has_relu_) return bias;
    return backward ? relu + ", " + bias : bias + ", " + relu;
  }

 private:
  void forward(const OperationTensors& t, Queue& queue) override {
    if (has_bias_)
      check(api().add_tensor(on(queue), &kOne, bias_.get(), t[Slot::parameter], &kOne, out(), t[Slot::y]),
            "cudnnAddTensor");
    if (has_relu_)
      check(api().activation_forward(on(queue), relu_.get(), &kOne, out(), t[Slot::y], &kZero, out(),
                                     t[Slot::y]),
            "cudnnActivationForward");
  }

  void backward(const OperationTensors& t, Queue& queue) override {
    if (has_relu_)
      check(api().activation_backward(on(queue), relu_.get(), &kOne, out(), t[Slot::y], out(), t[Slot::dy],
                                      out(), t[Slot::y], &kZero, out(), t[Slot::dy]),
            "cudnnActivationBackward");
    if (has_bias_)
      check(api().backward_bias(on(queue), &kOne, out(), t[Slot::dy], &kZero, bias_.get(),
                                t[Slot::parameter_gradient]),
            "cudnnConvolutionBackwardBias");
  }

  bool has_bias_, has_relu_;
  TensorDescriptor bias_;
  Descriptor<cudnnActivationStruct> relu_;
};

class LrnPlan final : public LibraryPlan {
 public:
  explicit LrnPlan(const OperationProblem& problem)
      : LibraryPlan(problem),
        lrn_(make_descriptor(api().create_lrn, api().destroy_lrn, "cudnnCreateLRNDescriptor")) {
    check(api().set_lrn(lrn_.get(), kLrnChannels, kLrnAlpha, kLrnBeta, kLrnBias), "cudnnSetLRNDescriptor");
  }

  std::string implementation() const override {
    return problem().backward ? "cudnnLRNCrossChannelBackward" : "cudnnLRNCrossChannelForward";
  }

 private:
  void forward(const OperationTensors& t, Queue& queue) override {
    check(api().lrn_forward(on(queue), lrn_.get(), CUDNN_LRN_CROSS_CHANNEL_DIM1, &kOne, in(), t[Slot::x],
                            &kZero, out(), t[Slot::y]),
          "cudnnLRNCrossChannelForward");
  }

  void backward(const OperationTensors& t, Queue& queue) override {
    check(api().lrn_backward(on(queue), lrn_.get(), CUDNN_LRN_CROSS_CHANNEL_DIM1, &kOne, out(), t[Slot::y],
                             out(), t[Slot::dy], in(), t[Slot::x], &kZero, in(), t[Slot::dx]),
          "cudnnLRNCrossChannelBackward");
  }

  Descriptor<cudnnLRNStruct> lrn_;
};

// Its backward keeps nothing and reads forward's x and y instead.
class PoolPlan final : public LibraryPlan {
 public:
  explicit PoolPlan(const OperationProblem& problem)
      : LibraryPlan(problem),
        pool_(make_descriptor(api().create_pooling, api().destroy_pooling, "cudnnCreatePoolingDescriptor")) {
    const LayerOperation& pool = problem.pool;
    check(api().set_pooling(pool_.get(), CUDNN_POOLING_MAX, CUDNN_NOT_PROPAGATE_NAN, to_int(pool.window.h),
                            to_int(pool.window.w), to_int(pool.pad.h), to_int(pool.pad.w),
                            to_int(pool.stride.h), to_int(pool.stride.w)),
          "cudnnSetPooling2dDescriptor");
  }

  std::string implementation() const override {
    return problem().backward ? "cudnnPoolingBackward" : "cudnnPoolingForward";
  }

  void prepare(const OperationTensors& tensors, void*, Queue& queue) override { forward(tensors, queue); }

 private:
  void forward(const OperationTensors& t, Queue& queue) override {
    check(api().pooling_forward(on(queue), pool_.get(), &kOne, in(), t[Slot::x], &kZero, out(), t[Slot::y]),
          "cudnnPoolingForward");
  }

  void backward(const OperationTensors& t, Queue& queue) override {
    check(api().pooling_backward(on(queue), pool_.get(), &kOne, out(), t[Slot::y], out(), t[Slot::dy], in(),
                                 t[Slot::x], &kZero, in(), t[Slot::dx]),
          "cudnnPoolingBackward");
  }

  Descriptor<cudnnPoolingStruct> pool_;
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
      return std::make_unique<PoolPlan>(problem);
    case OperationSort::batch_norm:
    case OperationSort::batch_norm_relu:
    case OperationSort::add:
    case OperationSort::add_relu:
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
