#include "algorithms/cudnn/operations.hpp"

#include "algorithms/cudnn/library.hpp"

namespace convscope::cudnn {
namespace {

class LibraryOperations final : public OperationAlgorithm {
 public:
  std::string provider() const override { return "cudnn"; }
  std::string version() const override { return cudnn::version(); }
  bool runs_on(DeviceKind kind) const override { return kind == DeviceKind::cuda; }
  std::optional<std::string> refusal(const OperationProblem& problem) const override {
    if (problem.sort == OperationSort::copy) return "a plain copy is the CUDA runtime's, as ours is";
    if (problem.sort == OperationSort::update) return "cuDNN has no update of parameters";
    if (problem.sort == OperationSort::one_bit) return "cuDNN has no 1-bit codec";
    if (const std::string why = unusable_because(); !why.empty()) return why;
    return {};
  }
  std::unique_ptr<OperationPlan> plan(const OperationProblem& problem, Device&) const override {
    return make_operation_plan(problem);
  }
};

}  // namespace

std::unique_ptr<OperationAlgorithm> operations() {
  return std::make_unique<LibraryOperations>();
}

}  // namespace convscope::cudnn
