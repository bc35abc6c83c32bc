// The plan of the variants simt and tensor: one product for each index map, and where its depth is split a
// sum of the partial results. Knows no kernel.
#pragma once

#include <vector>

#include "algorithms/implicit_gemm/cuda/product.hpp"
#include "bench/algorithm/algorithm.hpp"

namespace convscope::implicit_gemm {

// The tiles that a kernel exists for and what to weigh when choosing.
struct Choice {
  std::span<const Tile> tiles;
  Machine machine;
  int depth;            // that a block takes at a time
  bool paired = false;  // 16-bit elements in pairs
};

// What the kernels offer for the math and layout of a problem.
Choice choice_for(const ConvProblem& problem);

// The products of a problem, with partial sums that fit into `workspace_bytes`.
std::vector<Product> products(const ConvProblem& problem, const Choice& choice, int64_t workspace_bytes);

class GemmPlan final : public Plan {
 public:
  GemmPlan(const ConvProblem& problem, std::vector<Product> products, const Launchers& launchers);

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
  Launchers launchers_;
};

}  // namespace convscope::implicit_gemm
