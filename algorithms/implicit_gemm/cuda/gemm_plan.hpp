// The plan of the variants simt and tensor: one product for each index map, and where its depth is split a
// sum of the partial results. Knows no kernel.
#pragma once

#include <vector>

#include "algorithms/implicit_gemm/cuda/product.hpp"
#include "bench/algorithm/algorithm.hpp"

namespace convscope::implicit_gemm {

// The products of a problem, in tiles that a kernel exists for, with partial sums that fit into
// `workspace_bytes`.
std::vector<Product> products(const ConvProblem& problem, int64_t workspace_bytes);

class GemmPlan final : public Plan {
 public:
  // `device`: cuda or the emulator.
  GemmPlan(const ConvProblem& problem, std::vector<Product> products, DeviceKind device);

  int64_t workspace_bytes() const override;
  std::string implementation() const override;
  // Padding to whole tiles included; 3xtf32 counts each of its three products.
  std::optional<OperationCount> operations() const override;
  double longest_sum() const override;
  double truncation_error() const override;
  void run(const ConvArgs& args, Queue& queue) override;

 private:
  ConvProblem problem_;
  std::vector<Product> products_;
  DeviceKind device_;
};

}  // namespace convscope::implicit_gemm
