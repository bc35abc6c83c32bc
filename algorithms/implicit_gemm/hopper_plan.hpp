// The plan of the Hopper row: repack what TMA cannot read as it lies, then one product or one for each phase
// of the stride. The work itself is described by boxed_product.hpp.
#pragma once

#include "algorithms/implicit_gemm/boxed_product.hpp"
#include "bench/algorithm/algorithm.hpp"

namespace convscope::implicit_gemm {

// Rows and columns of whole tiles, channels of whole wgmma steps; repacking adds bytes.
OperationCount hopper_operations(const ConvProblem& problem);

class HopperPlan final : public Plan {
 public:
  HopperPlan(const ConvProblem& problem, HopperWork work, const HopperLaunchers& launchers);

  int64_t workspace_bytes() const override;
  std::string implementation() const override;
  bool has_prepare() const override;
  void prepare(const ConvArgs& args, Queue& queue) override;
  void run(const ConvArgs& args, Queue& queue) override;

 private:
  void* packed_filter(const ConvArgs& args) const;
  void* packed_image(const ConvArgs& args) const;

  Pass pass_;
  HopperWork work_;
  HopperLaunchers launchers_;
};

}  // namespace convscope::implicit_gemm
