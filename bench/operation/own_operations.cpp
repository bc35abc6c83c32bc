#include "bench/operation/own_operations.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <stdexcept>

#include "bench/device/builds.hpp"
#include "bench/operation/cuda/device_operations.hpp"
#include "bench/operation/operations.hpp"
#include "bench/parallel/reductions/one_bit_codec.hpp"

namespace convscope {
namespace {

void copy(const OperationProblem& problem, const OperationTensors& tensors, Queue& queue) {
  queue.copy(tensors[Slot::y], tensors[Slot::x], static_cast<size_t>(problem.in.elements()) * sizeof(float));
}

class CpuPlan final : public OperationPlan {
 public:
  explicit CpuPlan(const OperationProblem& problem) : problem_(problem) {
    if (problem.sort == OperationSort::pool && problem.in.pixels() > std::numeric_limits<int32_t>::max())
      throw std::runtime_error(
          fmt::format("images of {} pixels: max pooling keeps places below 2^31; take a smaller image",
                      problem.in.pixels()));
  }

  int64_t kept_bytes() const override {
    if (problem_.sort == OperationSort::one_bit) return encoded_bytes(columns_of(problem_));
    if (problem_.is_batch_norm()) return 2 * problem_.in.c * static_cast<int64_t>(sizeof(float));
    const bool keeps = problem_.sort == OperationSort::lrn || problem_.sort == OperationSort::pool;
    return keeps ? problem_.out().elements() * static_cast<int64_t>(sizeof(float)) : 0;
  }

  void prepare(const OperationTensors& tensors, void* kept, Queue&) override {
    if (problem_.sort == OperationSort::lrn || problem_.sort == OperationSort::pool ||
        problem_.is_batch_norm())
      run_forward(tensors, kept);
  }

  void run(const OperationTensors& tensors, void* kept, Queue& queue) override {
    if (problem_.sort == OperationSort::copy)
      copy(problem_, tensors, queue);
    else if (problem_.backward)
      run_backward(tensors, kept);
    else
      run_forward(tensors, kept);
  }

 private:
  void run_forward(const OperationTensors& t, void* kept) const {
    switch (problem_.sort) {
      case OperationSort::bias:
      case OperationSort::relu:
      case OperationSort::bias_relu:
        bias_relu_forward(problem_.in, problem_.has_bias() ? t[Slot::parameter] : nullptr,
                          problem_.has_relu(), t[Slot::y]);
        return;
      case OperationSort::lrn:
        lrn_forward(problem_.in, t[Slot::x], t[Slot::y], static_cast<float*>(kept));
        return;
      case OperationSort::pool:
        max_pool_forward(problem_.in, problem_.pool, t[Slot::x], t[Slot::y], static_cast<int32_t*>(kept));
        return;
      case OperationSort::mean:
        mean_pool_forward(problem_.in, problem_.pool, t[Slot::x], t[Slot::y]);
        return;
      case OperationSort::batch_norm:
      case OperationSort::batch_norm_relu:
        batch_norm_forward(problem_.in, t[Slot::x], t[Slot::parameter], problem_.has_relu(), t[Slot::y],
                           static_cast<float*>(kept));
        return;
      case OperationSort::add:
      case OperationSort::add_relu:
        add_forward(problem_.in.elements(), t[Slot::y], t[Slot::x], problem_.has_relu(), t[Slot::y]);
        return;
      case OperationSort::update:
        update(UpdateRule(), problem_.in.elements(), t[Slot::parameter_gradient], t[Slot::velocity],
               t[Slot::parameter]);
        return;
      case OperationSort::one_bit:
        code_by_one_bit(columns_of(problem_), t[Slot::parameter_gradient], t[Slot::error],
                        static_cast<uint32_t*>(kept));
        return;
      case OperationSort::copy:
        break;
    }
  }

  void run_backward(const OperationTensors& t, void* kept) const {
    switch (problem_.sort) {
      case OperationSort::bias:
      case OperationSort::relu:
      case OperationSort::bias_relu:
        bias_relu_backward(problem_.in, t[Slot::y], problem_.has_relu(), t[Slot::dy],
                           problem_.has_bias() ? t[Slot::parameter_gradient] : nullptr);
        return;
      case OperationSort::lrn:
        lrn_backward(problem_.in, t[Slot::x], t[Slot::y], static_cast<const float*>(kept), t[Slot::dy],
                     t[Slot::dx]);
        return;
      case OperationSort::pool:
        max_pool_backward(problem_.in, problem_.pool, static_cast<const int32_t*>(kept), t[Slot::dy],
                          t[Slot::dx]);
        return;
      case OperationSort::mean:
        mean_pool_backward(problem_.in, problem_.pool, t[Slot::dy], t[Slot::dx]);
        return;
      case OperationSort::batch_norm:
      case OperationSort::batch_norm_relu:
        batch_norm_backward(problem_.in, t[Slot::x], t[Slot::parameter], static_cast<const float*>(kept),
                            problem_.has_relu(), t[Slot::dy], t[Slot::dx], t[Slot::parameter_gradient]);
        return;
      case OperationSort::add:
      case OperationSort::add_relu:
      case OperationSort::copy:
      case OperationSort::update:
      case OperationSort::one_bit:
        break;
    }
  }

  OperationProblem problem_;
};

class DevicePlan final : public OperationPlan {
 public:
  DevicePlan(const OperationProblem& problem, DeviceKind kind) : problem_(problem), kind_(kind) {
    constexpr int64_t limit = int64_t{1} << 30;
    const int64_t pixels = std::max(problem.in.pixels(), problem.out().pixels());
    if (std::max(pixels, problem.in.c) >= limit && problem.has_directions())
      throw std::runtime_error(fmt::format(
          "{} channels of {} pixels: our kernels for GPUs take fewer than 2^30 of each; take a smaller image",
          problem.in.c, pixels));
  }

  int64_t kept_bytes() const override {
    if (problem_.sort == OperationSort::one_bit) return encoded_bytes(columns_of(problem_));
    if (problem_.sort == OperationSort::pool) return problem_.out().elements() * winner_bytes(problem_.pool);
    if (problem_.is_batch_norm())
      return BatchNormSums(problem_.in).kept(problem_.in) * static_cast<int64_t>(sizeof(float));
    if (!problem_.has_bias() || !problem_.backward) return 0;
    const BiasSums sums(problem_.in);
    return sums.slices * problem_.in.c * sums.width * static_cast<int64_t>(sizeof(float));
  }

  void prepare(const OperationTensors& tensors, void* kept, Queue& queue) override {
    OperationProblem forward = problem_;
    forward.backward = false;
    if (problem_.sort == OperationSort::pool)
      CONVSCOPE_BUILDS(enqueue_pool).of(kind_)(forward, tensors, kept, queue);
    if (problem_.is_batch_norm())
      CONVSCOPE_BUILDS(enqueue_batch_norm).of(kind_)(forward, tensors, kept, queue);
  }

  void run(const OperationTensors& tensors, void* kept, Queue& queue) override {
    switch (problem_.sort) {
      case OperationSort::bias:
      case OperationSort::relu:
      case OperationSort::bias_relu:
        return CONVSCOPE_BUILDS(enqueue_bias_relu).of(kind_)(problem_, tensors, kept, queue);
      case OperationSort::lrn:
        return CONVSCOPE_BUILDS(enqueue_lrn).of(kind_)(problem_, tensors, queue);
      case OperationSort::pool:
      case OperationSort::mean:
        return CONVSCOPE_BUILDS(enqueue_pool).of(kind_)(problem_, tensors, kept, queue);
      case OperationSort::update:
        return CONVSCOPE_BUILDS(enqueue_update).of(kind_)(problem_, tensors, queue);
      case OperationSort::one_bit:
        return code(tensors, kept, queue);
      case OperationSort::batch_norm:
      case OperationSort::batch_norm_relu:
        return CONVSCOPE_BUILDS(enqueue_batch_norm).of(kind_)(problem_, tensors, kept, queue);
      case OperationSort::add:
      case OperationSort::add_relu:
        return CONVSCOPE_BUILDS(enqueue_addition).of(kind_)(problem_, tensors, queue);
      case OperationSort::copy:
        return copy(problem_, tensors, queue);
    }
  }

 private:
  // In place, by way of the codes.
  void code(const OperationTensors& tensors, void* kept, Queue& queue) const {
    const Columns columns = columns_of(problem_);
    const std::span gradient(tensors[Slot::parameter_gradient], columns.elements());
    const std::span codes(static_cast<uint32_t*>(kept), columns.encoded_words());
    OneBitCodec codec(kind_, queue);
    codec.encode(columns, gradient, {tensors[Slot::error], columns.elements()}, codes);
    codec.decode(columns, codes, gradient);
  }

  OperationProblem problem_;
  DeviceKind kind_;
};

class OwnOperations final : public OperationAlgorithm {
 public:
  std::string provider() const override { return "convscope"; }
  bool runs_on(DeviceKind) const override { return true; }
  std::unique_ptr<OperationPlan> plan(const OperationProblem& problem, Device& device) const override {
    const DeviceKind kind = device.info().kind;
    if (kind == DeviceKind::cpu) return std::make_unique<CpuPlan>(problem);
    return std::make_unique<DevicePlan>(problem, kind);
  }
};

}  // namespace

std::unique_ptr<OperationAlgorithm> own_operations() {
  return std::make_unique<OwnOperations>();
}

void enqueue_softmax_loss(DeviceKind kind, const Activations& shape, const float* x, const int32_t* labels,
                          double* losses, float* dx, Queue& queue) {
  if (kind == DeviceKind::cpu) return softmax_loss(shape, x, labels, losses, dx);
  CONVSCOPE_BUILDS(enqueue_softmax_loss).of(kind)(shape, x, labels, losses, dx, queue);
}

}  // namespace convscope
