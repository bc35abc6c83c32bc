// The variants of this folder: what they are and what they refuse. The work is in gemm_plan.cpp and the
// kernels.
#include "algorithms/implicit_gemm/implicit_gemm.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "algorithms/common/compute_capability.hpp"
#include "algorithms/common/gpu_limits.hpp"
#include "algorithms/implicit_gemm/cuda/gemm_plan.hpp"
#include "algorithms/implicit_gemm/cuda/hopper_plan.hpp"
#include "bench/algorithm/limits.hpp"

namespace convscope {
namespace implicit_gemm {
namespace {

// What all variants refuse alike.
Support common_support(const ConvProblem& problem, const DeviceInfo& device) {
  const auto defect = size_defect(problem), of_stride = residue_defect(problem);
  return first_refusal(
      {require(device.kind != DeviceKind::cpu, Reason::device_missing,
               "device cpu: this algorithm runs on a CUDA device or on the emulator"),
       nchw_or_nhwc(problem),
       require(problem.epilogue == Epilogue::none || storage_type(problem.math) == DataType::f32,
               Reason::unsupported_epilogue,
               "epilogue " + std::string(name(problem.epilogue)) + " in " + std::string(name(problem.math)) +
                   ": this algorithm applies epilogues to FP32 tensors only"),
       require(!of_stride, Reason::unsupported_stride, of_stride.value_or("")),
       require(!defect, Reason::unsupported_size, defect.value_or(""))});
}

AlgorithmInfo variant_info(std::string id, std::string summary) {
  AlgorithmInfo info;
  info.id = std::move(id);
  info.family = "implicit_gemm";
  info.provider = "convscope";
  info.device = DeviceKind::cuda;
  info.summary = std::move(summary);
  info.exact_on_integers = true;
  info.takes_epilogues = true;
  return info;
}

// A variant on tiles of index_map.hpp; its kernels follow from the math mode.
class TiledVariant : public Algorithm {
 public:
  TiledVariant(std::string id, std::string summary)
      : info_(variant_info(std::move(id), std::move(summary))) {}

  const AlgorithmInfo& info() const override { return info_; }

  std::unique_ptr<Plan> plan(const ConvProblem& problem, Device& device,
                             const PlanOptions& options) const override {
    return std::make_unique<GemmPlan>(problem, products(problem, options.workspace_cap), device.info().kind);
  }

 private:
  AlgorithmInfo info_;
};

class Simt final : public TiledVariant {
 public:
  Simt()
      : TiledVariant(
            "implicit_gemm.simt.cuda",
            "implicit GEMM with FP32 multiply-adds in registers; depth split where there are few tiles") {}

  Support takes(const ConvProblem& problem, const DeviceInfo& device) const override {
    return first_refusal({fp32_only(problem), common_support(problem, device)});
  }
};

class Tensor final : public TiledVariant {
 public:
  Tensor()
      : TiledVariant("implicit_gemm.tensor.cuda", "implicit GEMM on tensor cores (mma.sync), sums in FP32") {}

  Support takes(const ConvProblem& problem, const DeviceInfo& device) const override {
    return first_refusal(
        {require_math(problem.math != MathMode::fp32, problem, "tensor cores round; 3xtf32 is the closest"),
         require(
             compute_capability(device) >= 80, Reason::unsupported_math,
             "device " + device.instructions + ": this algorithm needs the tensor cores of sm_80 or later"),
         common_support(problem, device)});
  }
};

class Hopper final : public Algorithm {
 public:
  const AlgorithmInfo& info() const override { return info_; }

  Support takes(const ConvProblem& problem, const DeviceInfo& device) const override {
    const bool gradient = problem.pass == Pass::backward_filter;
    const int64_t step = std::max(problem.stride.h, problem.stride.w);
    return first_refusal(
        {require_math(problem.math != MathMode::fp32 && problem.math != MathMode::tf32x3, problem,
                      "this algorithm multiplies in tf32, bf16 and fp16"),
         require(runs_sm_90a(device), Reason::device_missing,
                 "device " + device.instructions +
                     ": this algorithm needs TMA and wgmma, which only sm_90 has" +
                     (kHasSm90a ? "" : "; and this program was built without code for sm_90a")),
         require(!gradient || problem.math != MathMode::tf32, Reason::unsupported_math,
                 "math tf32 in pass backward_filter: its sums run over pixels, and wgmma takes 4-byte "
                 "operands only with neighbours in memory along the sums"),
         require(problem.pass == Pass::backward_data || step <= kTmaLongestStep, Reason::unsupported_stride,
                 "stride " + std::to_string(step) + ": TMA steps over at most " +
                     std::to_string(kTmaLongestStep) + " pixels"),
         common_support(problem, device)});
  }

  std::unique_ptr<Plan> plan(const ConvProblem& problem, Device& device,
                             const PlanOptions& options) const override {
    if (problem.pass == Pass::backward_filter)
      return std::make_unique<HopperFilterPlan>(problem, gradient_work(problem, options.workspace_cap),
                                                device.info().kind);
    return std::make_unique<HopperPlan>(problem, hopper_work(problem), device.info().kind);
  }

 private:
  AlgorithmInfo info_ =
      variant_info("implicit_gemm.hopper.cuda",
                   "implicit GEMM by TMA and wgmma (sm_90a): runs of pixels, warp-specialised");
};

}  // namespace
}  // namespace implicit_gemm

void add_implicit_gemm(Registry& registry) {
  registry.add(std::make_unique<implicit_gemm::Simt>());
  registry.add(std::make_unique<implicit_gemm::Tensor>());
  registry.add(std::make_unique<implicit_gemm::Hopper>());
}

}  // namespace convscope
