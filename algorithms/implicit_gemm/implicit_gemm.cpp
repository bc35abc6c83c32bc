// The rows of this folder: what they are and what they refuse. The work is in gemm_plan.cpp and the kernels.
#include "algorithms/implicit_gemm/implicit_gemm.hpp"

#include <memory>
#include <utility>

#include "algorithms/implicit_gemm/gemm_plan.hpp"

namespace convscope {
namespace implicit_gemm {
namespace {

// What all rows refuse alike.
Support common_support(const ConvProblem& problem, const DeviceInfo& device) {
  if (device.kind == DeviceKind::cpu)
    return Support::no(Reason::device_missing,
                       "device cpu: this row runs on a CUDA device or on the emulator");
  if (problem.layout == Layout::chwn)
    return Support::no(Reason::unsupported_layout, "layout chwn: implicit GEMM takes nchw and nhwc");
  if (const auto defect = size_defect(problem)) return Support::no(Reason::unsupported_size, *defect);
  return Support::yes();
}

class Simt final : public Algorithm {
 public:
  Simt() {
    info_.id = "implicit_gemm.simt.cuda";
    info_.family = "implicit_gemm";
    info_.provider = "convscope";
    info_.device = DeviceKind::cuda;
    info_.summary =
        "implicit GEMM with FP32 multiply-adds, register tiles of 8x8, depth split where few tiles";
    info_.exact_on_integers = true;
  }

  const AlgorithmInfo& info() const override { return info_; }

  Support supports(const ConvProblem& problem, const DeviceInfo& device) const override {
    if (problem.math != MathMode::fp32)
      return Support::no(Reason::unsupported_math, "math " + std::string(name(problem.math)) +
                                                       ": this row multiplies in fp32 without tensor cores");
    return common_support(problem, device);
  }

  std::unique_ptr<Plan> plan(const ConvProblem& problem, Device& device,
                             const PlanOptions& options) const override {
    return std::make_unique<GemmPlan>(problem, products(problem, kChoice, options.workspace_cap),
                                      simt_launchers(device.info().kind));
  }

  OperationCount operations(const ConvProblem& problem) const override {
    return implicit_gemm::operations(problem, kChoice);
  }

 private:
  static constexpr Choice kChoice{kSimtTiles, kSimtMachine, kSimtDepth};
  AlgorithmInfo info_;
};

}  // namespace
}  // namespace implicit_gemm

void add_implicit_gemm(Registry& registry) {
  registry.add(std::make_unique<implicit_gemm::Simt>());
}

}  // namespace convscope
