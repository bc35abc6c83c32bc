// The plan of the CPU variants: a list of GEMMs over the chunks of chunks.hpp. Threads share each chunk, or,
// where the GEMMs or the filters are small, each takes chunks of its own; then the phases are those of the
// first thread, and with channel groups none is marked. Start at GemmPlan::run.
#pragma once

#include <memory>

#include "algorithms/im2col_gemm/chunks.hpp"
#include "algorithms/im2col_gemm/cpu/columns.hpp"
#include "algorithms/im2col_gemm/cpu/gemm.hpp"
#include "bench/algorithm/algorithm.hpp"

namespace convscope::im2col_gemm {

class GemmPlan final : public Plan {
 public:
  // `gemm` outlives the plan.
  GemmPlan(const ConvProblem& problem, const Gemm& gemm, const PlanOptions& options);

  int64_t workspace_bytes() const override;
  std::string implementation() const override;
  double longest_sum() const override;
  void run(const ConvArgs& args, Queue& queue) override;
  // Bytes: the tensors, and the column matrix and the gathered output, written once and read once.
  std::optional<OperationCount> operations() const override;

 private:
  // The user's tensors and this worker's part of the workspace.
  struct Work {
    float *input, *filter, *output, *columns, *gathered, *scratch;
    const float* bias;
    Queue* queue;  // null where phases are not marked
  };
  // The column matrix, which in a pointwise convolution is the input itself, and the output of a chunk.
  struct Matrix {
    float* data;
    int64_t stride;
    int64_t image_step;
  };

  Work work(const ConvArgs& args, int64_t worker, Queue* queue) const;
  int64_t elements_per_worker() const;
  // Chunks that must be run in order by one worker, as they add to the same elements.
  int64_t chunks_in_series() const;
  void run_series(const Work& work, int64_t series) const;

  // Sizes and which operand is transposed; not where they are.
  MatrixProduct product_of(const Chunk& chunk) const;
  void forward(const Work& work, const Chunk& chunk, int64_t group) const;
  void backward_data(const Work& work, const Chunk& chunk, int64_t group) const;
  void backward_filter(const Work& work, const Chunk& chunk, int64_t group) const;

  void multiply(const Work& work, const MatrixProduct& product) const;
  // Applies the epilogue to a product of forward, while it is in the caches.
  void finish(const Work& work, const MatrixProduct& product, int64_t group) const;
  Matrix columns_of(const Work& work, const Chunk& chunk, int64_t group) const;
  Matrix output_of(const Work& work, const Chunk& chunk, int64_t group) const;
  void build_columns(const Work& work, const Chunk& chunk, int64_t group) const;
  void gather(const Work& work, const Chunk& chunk, int64_t group) const;

  ConvProblem problem_;
  const Gemm& gemm_;
  Columns movement_;
  Chunks chunks_;
  int threads_;
  int64_t scratch_bytes_;  // of the product, each thread
  bool workers_;           // each thread on chunks of its own
};

}  // namespace convscope::im2col_gemm
