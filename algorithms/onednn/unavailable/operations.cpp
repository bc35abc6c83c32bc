// operations.hpp when the build found no oneDNN: everything is refused.
#include "algorithms/onednn/operations.hpp"

#include <stdexcept>

#include "algorithms/onednn/unavailable/missing.hpp"

namespace convscope::onednn {
namespace {

class Missing final : public OperationAlgorithm {
 public:
  std::string provider() const override { return "onednn"; }
  bool runs_on(DeviceKind kind) const override { return kind == DeviceKind::cpu; }
  std::optional<std::string> refusal(const OperationProblem&) const override { return kMissing; }
  std::unique_ptr<OperationPlan> plan(const OperationProblem&, Device&) const override {
    throw std::runtime_error(kMissing);
  }
};

}  // namespace

std::unique_ptr<OperationAlgorithm> operations() {
  return std::make_unique<Missing>();
}

}  // namespace convscope::onednn
