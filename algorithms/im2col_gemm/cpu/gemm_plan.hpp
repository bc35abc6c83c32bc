// The plan of the CPU variants: a list of GEMMs over the chunks of chunks.hpp. Threads share each chunk, or,
// where the GEMMs or the filters are small, each takes chunks of its own; then the phases are those of the
// first thread, and with channel groups none is marked. A filter gradient of very many chunks is summed in
// two levels, by subtotals. Start at GemmPlan::run.
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
    float *input, *filter, *output, *columns, *gathered, *subtotal, *scratch;
    const float* bias;
    Queue* queue;  // null where phases are not marked
  };
  // The column matrix, which in a pointwise convolution is the input itself, and the output of a chunk.
  struct Matrix {
    float* data;
    int64_t stride;
    int64_t image_step;
  };

  struct Cutting {
    Chunks chunks;
    bool workers;               // each thread on chunks of its own
    int64_t subtotal_elements;  // of a worker's workspace, 0 where all chunks are summed in one level
    int64_t chunks_per_subtotal;
  };

  // The chunks of the best plan within the cap, in which each worker keeps room for a subtotal.
  Cutting cut_chunks(int64_t workspace_cap, int64_t subtotal_elements) const;
  Work work(const ConvArgs& args, int64_t worker, Queue* queue) const;
  int64_t filter_elements() const;  // of one group
  int64_t elements_per_worker(const Cutting& cutting) const;
  int64_t workspace_bytes(const Cutting& cutting) const;
  // Chunks that must be run in order by one worker, as they add to the same elements.
  int64_t chunks_in_series(const Cutting& cutting) const;
  int64_t subtotals() const;
  void run_series(const Work& work, int64_t series) const;

  // Sizes and which operand is transposed; not where they are.
  MatrixProduct product_of(const Chunk& chunk) const;
  void forward(const Work& work, const Chunk& chunk, int64_t group) const;
  void backward_data(const Work& work, const Chunk& chunk, int64_t group) const;
  void backward_filter(const Work& work, int64_t index, int64_t group) const;

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
  int threads_;
  int64_t scratch_bytes_;  // of the product, each thread
  Cutting cutting_;
};

}  // namespace convscope::im2col_gemm
