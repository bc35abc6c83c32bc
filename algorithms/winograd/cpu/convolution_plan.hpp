// The base of the plans of forward and backward-data. For a block of strips, plane (i, j) holds
//   tiles[row][depth]  *  filters[depth][column]  ->  products[row][column]
// with a row for each tile, the channels read as depth and the channels written as columns. The schedules
// differ in when filters are transformed, and where to: pretransformed.cpp, half_transformed.cpp,
// filters_on_the_fly.cpp.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "algorithms/common/packed_gemm.hpp"
#include "algorithms/winograd/cpu/block_plan.hpp"
#include "algorithms/winograd/cpu/filter_transform.hpp"
#include "algorithms/winograd/cpu/plans.hpp"

namespace convscope::winograd {

class ConvolutionPlan : public Plan {
 public:
  int64_t workspace_bytes() const override { return arena_.bytes(); }
  std::string implementation() const override { return geometry_.describe(); }
  double longest_sum() const override {
    return static_cast<double>(std::min(depth_, kLongestRun) + ceil_div(depth_, kLongestRun));
  }

 protected:
  // Lanes that are summed in registers before they are added to the products: rounding errors grow with the
  // number of additions that follow one another.
  static constexpr int64_t kLongestRun = 768;
  ConvolutionPlan(const Geometry& geometry, const PlanOptions& options);

  // One group's block: its tensors, and the planes of its tiles and products.
  struct Work {
    const Block& block;
    const float* read;
    const float* bias;  // of the group's first channel, or null
    float* written;
    float *tiles, *products;
    Scratch scratch;
  };
  Work work(const ConvArgs& args, int64_t group, const Block& block, float* planes) const;
  // Transformed filters of one panel of columns: the planes from `first_plane` on, the depths [first, end).
  struct FilterPanel {
    const float* data;
    int64_t plane, first, end;
    int64_t first_plane = 0;
  };
  // Sets the planes of a block like this one.
  void shape_planes(const Block& block);
  // The steps of a block. The first and the last are of so many units that can be done in any order.
  int64_t units_read(const Block& block) const { return units(block, together_) * read_vectors_; }
  int64_t units_written(const Block& block) const { return units(block, together_) * written_vectors_; }
  void read(const Work& work, int64_t index) const;
  // One panel of columns in one plane: the tiles that have this point, the residues that are not zero in it.
  // Depths after the first of the plane are added.
  void multiply(const Work& work, int64_t plane, int64_t panel, const FilterPanel& filters,
                Prefetch prefetch = {}) const;
  void write(const Work& work, const VectorUnit& unit) const;
  void write_panel(const Work& work, int64_t panel) const;
  // The vectors of a panel are [2 * panel, this).
  int64_t vectors_end(int64_t panel) const { return std::min(2 * panel + 2, written_vectors_); }
  // The counts of what no schedule changes: products, transforms of the tiles, the tensors' bytes.
  OperationCount count_tiles() const;
  // Filters in whole vectors of columns: those that are transformed.
  double transformed_filters() const {
    return static_cast<double>(groups_ * depth_ * written_vectors_ * kernels_.lanes);
  }
  // Bytes of all planes, of all groups and images.
  double tile_bytes() const { return plane_bytes(read_vectors_); }
  double product_bytes() const { return plane_bytes(written_vectors_); }
  double filter_bytes() const {
    return sizeof(float) * transformed_filters() * static_cast<double>(geometry_.planes());
  }
  // The filters of one group in ConvArgs.
  const float* filter_of(const ConvArgs& args, int64_t group) const {
    return static_cast<const float*>(args.filter) +
           group * (geometry_.problem.elements(Role::filter) / groups_);
  }
  // Transformed filters of a group, in whole panels: one plane, and all.
  int64_t filter_plane_floats() const { return odd_lines(panels_ * depth_ * panel_columns_); }
  int64_t filter_floats() const { return filter_plane_floats() * geometry_.planes(); }

  const Geometry geometry_;
  const bool forward_;
  const TensorView &read_view_, &written_view_;  // of geometry_
  const VectorKernels& kernels_;
  const FilterTransform filter_transform_;
  const int threads_;
  const int64_t groups_, depth_, columns_, read_vectors_, written_vectors_, panel_columns_, panels_;
  PlaneLayout tiles_, products_;
  int64_t planes_floats_ = 0;  // of the tiles and products of one block
  const int64_t together_;
  Arena arena_;
  ScratchPart scratch_;
  std::vector<Block> blocks_;  // the first is as large as any

 private:
  double plane_bytes(int64_t vectors) const;
};

}  // namespace convscope::winograd
