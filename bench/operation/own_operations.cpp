#include "bench/operation/own_operations.hpp"

#include "bench/operation/operations.hpp"

namespace convscope {
namespace {

class OwnPlan final : public OperationPlan {
 public:
  explicit OwnPlan(const OperationProblem& problem) : problem_(problem) {}

  int64_t kept_bytes() const override {
    const bool keeps = problem_.sort == OperationSort::lrn || problem_.sort == OperationSort::pool;
    return keeps ? problem_.out().elements() * static_cast<int64_t>(sizeof(float)) : 0;
  }

  void prepare(const OperationTensors& tensors, void* kept) override {
    if (problem_.sort == OperationSort::lrn || problem_.sort == OperationSort::pool)
      run_forward(tensors, kept);
  }

  void run(const OperationTensors& tensors, void* kept) override {
    if (problem_.backward)
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
        bias_relu_forward(problem_.in, problem_.sort == OperationSort::relu ? nullptr : t[Slot::parameter],
                          problem_.sort != OperationSort::bias, t[Slot::y]);
        return;
      case OperationSort::lrn:
        lrn_forward(problem_.in, t[Slot::x], t[Slot::y], static_cast<float*>(kept));
        return;
      case OperationSort::pool:
        max_pool_forward(problem_.in, problem_.pool, t[Slot::x], t[Slot::y], static_cast<int32_t*>(kept));
        return;
      case OperationSort::update:
        update(UpdateRule(), problem_.in.elements(), t[Slot::parameter_gradient], t[Slot::velocity],
               t[Slot::parameter]);
    }
  }

  void run_backward(const OperationTensors& t, void* kept) const {
    switch (problem_.sort) {
      case OperationSort::bias:
      case OperationSort::relu:
      case OperationSort::bias_relu:
        bias_relu_backward(problem_.in, t[Slot::y], problem_.sort != OperationSort::bias, t[Slot::dy],
                           problem_.sort == OperationSort::relu ? nullptr : t[Slot::parameter_gradient]);
        return;
      case OperationSort::lrn:
        lrn_backward(problem_.in, t[Slot::x], t[Slot::y], static_cast<const float*>(kept), t[Slot::dy],
                     t[Slot::dx]);
        return;
      case OperationSort::pool:
        max_pool_backward(problem_.in, problem_.pool, static_cast<const int32_t*>(kept), t[Slot::dy],
                          t[Slot::dx]);
        return;
      case OperationSort::update:
        break;
    }
  }

  OperationProblem problem_;
};

class OwnOperations final : public OperationAlgorithm {
 public:
  std::string provider() const override { return "convscope"; }
  std::unique_ptr<OperationPlan> plan(const OperationProblem& problem, int /*threads*/) const override {
    return std::make_unique<OwnPlan>(problem);
  }
};

}  // namespace

std::unique_ptr<OperationAlgorithm> own_operations() {
  return std::make_unique<OwnOperations>();
}

}  // namespace convscope
