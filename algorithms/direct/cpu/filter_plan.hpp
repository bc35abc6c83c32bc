// Backward-filter: the frame of the plans that sum chunks of both read tensors. It stages a chunk of rows at
// a time and hands out slices of the rows or parts of the filter gradient, so that the order of every sum is
// fixed for a thread count. Derived plans choose what fills the vector lanes. Start at run().
#pragma once

#include <memory>
#include <vector>

#include "algorithms/direct/cpu/direct_plan.hpp"
#include "algorithms/direct/cpu/geometry.hpp"
#include "algorithms/direct/cpu/kernels.hpp"

namespace convscope::direct {

class FilterPlan : public DirectPlan {
 public:
  void run(const ConvArgs& args, Queue& queue) final;
  std::optional<OperationCount> operations() const final;
  double longest_sum() const final {
    return longest_sum_of(chunks_, [&](const Chunk& chunk) { return levels_of(chunk); }) + lanes_added();
  }

 protected:
  virtual double multiply_adds() const = 0;
  // How add_part sums one chunk, and the lanes that finish_part adds.
  virtual SumLevels levels_of(const Chunk& chunk) const = 0;
  virtual double lanes_added() const { return 0; }
  // Sizes in floats of one staged row and of the gradient sums; `parts` of the gradient that can be computed
  // apart, `finish_parts` that can be written apart.
  struct Sizes {
    int64_t input_row = 0, output_row = 0, sums = 0, parts = 0, finish_parts = 0;
  };
  // A chunk's rows: image i of it at input + i * input_floats() and output + i * output_floats().
  struct Staged {
    const float* input = nullptr;   // its first row is `input_rows.begin`
    const float* output = nullptr;  // its first row is `rows.begin`
    int64_t images = 0;
    Range rows, input_rows;  // the latter without those outside the input
    bool first = false;      // the sums hold nothing yet
  };

  FilterPlan(const ConvProblem& problem, const Kernels& kernels, const PlanOptions& options);
  void lay_out(const Sizes& sizes);  // to be called by a derived constructor; the next five need it
  int64_t staged_input_rows() const { return input_rows_; }
  int64_t staged_output_rows() const { return output_rows_; }
  int64_t input_floats() const { return input_floats_; }
  int64_t output_floats() const { return output_floats_; }
  int64_t slices() const { return static_cast<int64_t>(chunks_.size()); }

  // Row h of `image`, which becomes row `to` of the `staged` one.
  virtual void stage_input_row(const float* image, int64_t h, float* staged, int64_t to) const = 0;
  virtual void stage_output_row(const float* image, int64_t p, float* staged, int64_t to) const = 0;
  // Rows of `image` that become the first rows of the `staged` one.
  virtual void stage_output_rows(const float* image, Range rows, float* staged) const;
  // Adds the chunk to the part's sums; starts the sums where staged.first.
  virtual void add_part(int64_t part, const Staged& staged, float* sums) const = 0;
  virtual void finish_part(int64_t part, const float* sums, float* filter) const = 0;

  Axis rows_;  // of the forward correlation

 private:
  void set_chunk_rows(int64_t rows);
  int64_t output_at() const { return images_ * input_floats_; }  // in a chunk's memory
  Range inside(Range input_rows) const;
  int64_t rows_of(const Chunk& chunk) const {
    return chunk.images * (inside(chunk.input_rows).size() + chunk.rows.size());
  }
  Staged staged(const Chunk& chunk, const float* memory, bool first) const {
    return {memory, memory + output_at(), chunk.images, chunk.rows, inside(chunk.input_rows), first};
  }
  void stage_row(const ConvArgs& args, const Chunk& chunk, int64_t index, float* memory) const;
  void stage_chunk(const ConvArgs& args, const Chunk& chunk, float* memory) const;
  void run_by_slice(const ConvArgs& args, float* memory, float* sums) const;
  void run_together(const ConvArgs& args, float* memory, float* sums) const;

  Sizes sizes_;
  bool by_slice_ = false;
  std::vector<std::vector<Chunk>> chunks_;        // [slice]
  int64_t images_ = 1;                            // staged at once
  int64_t input_rows_ = 0, output_rows_ = 0;      // of one of them
  int64_t input_floats_ = 0, output_floats_ = 0;  // of one of them
  int64_t staged_floats_ = 0, sums_at_ = 0;       // of a chunk; where the sums begin
};

// Lanes over output channels.
std::unique_ptr<DirectPlan> make_channel_filter_plan(const ConvProblem& problem, const Kernels& kernels,
                                                     const PlanOptions& options);
// Lanes over the columns of a row, as dot products: for few output channels per group.
std::unique_ptr<DirectPlan> make_dot_filter_plan(const ConvProblem& problem, const Kernels& kernels,
                                                 const PlanOptions& options);
// Lanes over channels that have a filter each: depthwise with as many output as input channels.
std::unique_ptr<DirectPlan> make_depthwise_filter_plan(const ConvProblem& problem, const Kernels& kernels,
                                                       const PlanOptions& options);
// Lanes over the columns of a row, plane by plane: depthwise, NCHW.
std::unique_ptr<DirectPlan> make_plane_filter_plan(const ConvProblem& problem, const Kernels& kernels,
                                                   const PlanOptions& options);

}  // namespace convscope::direct
