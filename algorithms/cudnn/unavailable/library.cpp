// library.hpp where the build has no CUDA or no headers of cuDNN: every variant is listed and refuses.
#include "algorithms/cudnn/library.hpp"

#include "bench/device/device_error.hpp"

namespace convscope::cudnn {
namespace {

constexpr const char* kMissing =
    "this program was built without cuDNN: its headers (cudnn.h of cuDNN 9, or the Python package "
    "nvidia-cudnn-cu13) and CUDA must be there when it is configured";

}  // namespace

std::string unusable_because() {
  return kMissing;
}

std::string version() {
  return "";
}

std::unique_ptr<Plan> make_plan(const Variant&, const ConvProblem&, Device&, const PlanOptions&) {
  throw DeviceError(kMissing);
}

std::unique_ptr<OperationPlan> make_operation_plan(const OperationProblem&) {
  throw DeviceError(kMissing);
}

}  // namespace convscope::cudnn
