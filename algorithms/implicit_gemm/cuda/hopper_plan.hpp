// The plans of the Hopper variant: repack what TMA cannot read as it lies, then multiply. The work itself is
// described by boxed_product.hpp and, for backward-filter, by boxed_gradient.hpp.
#pragma once

#include "algorithms/implicit_gemm/cuda/hopper_launchers.hpp"
#include "bench/algorithm/algorithm.hpp"

namespace convscope::implicit_gemm {

// Forward and backward-data: one product or one for each residue of the stride.
class HopperPlan final : public Plan {
 public:
  // `device`: cuda or the emulator.
  HopperPlan(const ConvProblem& problem, HopperWork work, DeviceKind device);

  int64_t workspace_bytes() const override;
  std::string implementation() const override;
  // Rows and columns of whole tiles, depth of whole wgmma steps; repacking and partial sums add bytes.
  std::optional<OperationCount> operations() const override;
  double longest_sum() const override { return 1; }  // what is added is added by wgmma
  double truncation_error() const override;
  bool has_prepare() const override;
  void prepare(const ConvArgs& args, Queue& queue) override;
  void run(const ConvArgs& args, Queue& queue) override;

 private:
  ConvProblem problem_;
  HopperWork work_;
  DeviceKind device_;
};

// Backward-filter: one product; with a split depth its partial sums are then added in order.
class HopperFilterPlan final : public Plan {
 public:
  HopperFilterPlan(const ConvProblem& problem, GradientWork work, DeviceKind device);

  int64_t workspace_bytes() const override;
  std::string implementation() const override;
  // Rows and columns of whole tiles, depth of whole wgmma steps; repacking and partial sums add bytes.
  std::optional<OperationCount> operations() const override;
  double longest_sum() const override;
  double truncation_error() const override;
  void run(const ConvArgs& args, Queue& queue) override;

 private:
  ConvProblem problem_;
  GradientWork work_;
  IndexMap map_;  // by which partial sums are added
  DeviceKind device_;
};

}  // namespace convscope::implicit_gemm
