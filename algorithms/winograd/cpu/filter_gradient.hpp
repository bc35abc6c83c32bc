// Backward-filter, the same algorithm with the roles exchanged: the output's gradient is the "filter" of a
// correlation with as many outputs as the filter has taps. Plane (i, j) holds, summed over the tiles,
//   data[tile][input lane]^T  *  gradients[tile][k]  ->  products[input lane][k]
// The threads share the work of each block, or each has blocks and products (a slice) of its own, and slices
// are added in a fixed order: a given number of threads always gives the same bits. Where all tiles are one
// block, the products of a few filters and lanes are transformed back as soon as they are made, and never
// leave the private caches. filter_gradient_plan.cpp decides which, and counts; filter_gradient.cpp runs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "algorithms/winograd/cpu/block_plan.hpp"
#include "algorithms/winograd/cpu/filter_transform.hpp"
#include "algorithms/winograd/cpu/plans.hpp"

namespace convscope::winograd {

class FilterGradientPlan final : public Plan {
 public:
  FilterGradientPlan(const Geometry& geometry, const DeviceInfo& device, const PlanOptions& options);

  int64_t workspace_bytes() const override { return arena_.bytes(); }
  std::string implementation() const override { return geometry_.describe(); }
  void run(const ConvArgs& args, Queue& queue) override;
  std::optional<OperationCount> operations() const override;
  double longest_sum() const override;

 private:
  // Tiles that are summed in registers before they are added to the products: rounding errors grow with the
  // number of additions that follow one another.
  static constexpr int64_t kLongestRun = 256;
  // One group's block: its tensors, planes and sums.
  struct Work {
    const Block& block;
    bool first;  // whether its products are the first of a sum
    const float *input, *output;
    float *gradients, *data, *products;
    Scratch scratch;
  };
  Work work(const ConvArgs& args, int64_t group, int64_t slice, int64_t block) const;
  BlockBytes block_bytes() const;
  void cut_blocks(BlockBytes bytes, const DeviceInfo& device, const PlanOptions& options);
  int64_t additions_of_a_block() const;
  int64_t blocks_of_a_slice() const { return ceil_div(static_cast<int64_t>(blocks_.size()), slices_); }
  // Whether products start again with this block of a slice, those before being in the totals.
  bool starts(int64_t slice, int64_t block) const {
    const int64_t number = block - first_block(slice);
    return number == 0 || (together_blocks_ > 0 && number % together_blocks_ == 0);
  }
  // Whether they are added to the totals after this block.
  bool is_total(int64_t slice, int64_t block) const {
    return together_blocks_ > 0 && (block + 1 == first_block(slice + 1) || starts(slice, block + 1));
  }
  void add_to_totals(float* workspace, int64_t slice, int64_t block, int64_t begin, int64_t end) const;
  void shape_products(int64_t rows, int64_t panels);
  void shape_planes(const Block& block);
  bool take_whole(const DeviceInfo& device, const PlanOptions& options);
  // The blocks that are added up in one slice of products: all, or of several slices each thread has its own.
  int64_t first_block(int64_t slice) const { return slice * static_cast<int64_t>(blocks_.size()) / slices_; }
  // The three steps of a block, each of so many units that can be done in any order.
  int64_t units_of_data(const Block& block) const { return units(block, together_) * input_vectors_; }
  int64_t units_of_gradients(const Block& block) const { return units(block, together_) * output_vectors_; }
  int64_t units_multiplied() const { return geometry_.planes() * panels_; }
  // One panel of rows by one of columns, in all planes.
  int64_t units_of_products() const { return row_panels_ * panels_; }
  void transform_data(const Work& work, int64_t index) const;
  void transform_gradients(const Work& work, int64_t index) const;
  void multiply(const Work& work, int64_t plane, int64_t panel, int64_t row_panel, float* c) const;
  void multiply(const Work& work, int64_t index) const;
  void multiply_and_invert(const Work& work, int64_t index, float* filter) const;
  void add_slices(float* products) const;
  // The two schedules of the blocks of a group; called inside a parallel region.
  void run_slices(const ConvArgs& args, int64_t group) const;
  void run_shared(const ConvArgs& args, int64_t group, float* filter) const;
  // Where the sums over all blocks of the slices are.
  int64_t sums_at() const { return together_blocks_ > 0 ? totals_at_ : products_at_; }
  void invert(const float* products, int64_t index, float* filter, const Scratch& scratch) const;

  const Geometry geometry_;
  const VectorKernels& kernels_;
  const FilterTransform filter_transform_;
  const int threads_;
  const int64_t rows_, columns_, input_vectors_, output_vectors_, panel_columns_, panels_, row_panels_;
  PlaneLayout gradients_, data_, products_;
  int64_t planes_at_ = 0, planes_floats_ = 0;  // of the gradients and data of one block
  int64_t products_at_ = 0, product_floats_ = 0;
  int64_t totals_at_ = 0, together_blocks_ = 0;  // blocks whose products are one term of the totals; 0: none
  int64_t together_;
  std::vector<Block> blocks_;
  int64_t slices_ = 1;
  // Whether they fit there: each thread has room for one unit of them, which it inverts at once.
  bool products_in_private_cache_ = false;
  ScratchPart scratch_;
  Arena arena_;
};

}  // namespace convscope::winograd
