// The plan of one convolution by FFT: workspace layout, blocking, and the three passes over the data
// (transform, product, inverse). The transforms are in transforms.hpp, the tiling in geometry.hpp. Start at
// SpectralPlan::run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "algorithms/fft/cpu/blocking.hpp"
#include "algorithms/fft/geometry.hpp"
#include "bench/algorithm/algorithm.hpp"

namespace convscope::fft {

class SpectralPlan final : public Plan {
 public:
  // `size` is the tile, 16 or 32; `llc_bytes` the last-level cache that blocks should fit in.
  SpectralPlan(const ConvProblem& problem, int size, int64_t llc_bytes, const PlanOptions& options);

  int64_t workspace_bytes() const override;
  std::string implementation() const override;
  // Vectors and panels with their unused lanes and columns; a complex multiply-add is four real ones.
  std::optional<OperationCount> operations() const override;
  bool has_prepare() const override { return blocking_.keep_filters; }
  void prepare(const ConvArgs& args, Queue& queue) override;
  void run(const ConvArgs& args, Queue& queue) override;
  double longest_sum() const override;

 private:
  struct Areas {
    float *a, *b, *y, *scratch;
  };
  // One product of a channel group, and the transforms before and behind it. `tiles` are A's.
  struct Step {
    Block rows, columns, depth, tiles;
    bool transforms_a = false, transforms_b = false, inverts = false;
  };

  // Calls visit(step) for all steps of a channel group in their order.
  template <class Visit>
  void for_steps(const Visit& visit) const;
  // Adds the transforms of lanes [begin, end) up to a multiple of `unit`, for all of `others`.
  void count_transforms(const Operand& operand, Block lanes, int64_t unit, Block others,
                        OperationCount& count) const;

  Areas areas(void* workspace, int64_t group) const;
  // Whether spectra with `bin` floats per bin are written past the caches.
  bool stream(int64_t bin) const;
  // Runs count batches, batch(i) each, in groups that share a call, on all threads.
  template <class MakeBatch, class Run>
  void for_groups(const Operand& operand, int64_t count, const MakeBatch& batch, const Areas& areas,
                  const Run& run) const;
  // A's tiles (rows or depth) and B's columns and depth, into the areas.
  void transform_a(const float* tensor, Block tiles, const Areas& areas) const;
  void transform_b(const float* tensor, Block columns, Block depth, const Areas& areas) const;
  void multiply(Block rows, Block columns, Block depth, const Areas& areas) const;
  void invert(Block rows, Block columns, const Areas& areas, float* tensor) const;
  void run_group(const ConvArgs& args, int64_t group, Queue& queue) const;

  ConvProblem problem_;
  int size_;
  int threads_;
  Geometry geometry_;
  Blocking blocking_;
  int64_t panel_columns_;
  // Floats: from one row of A, one part (real, imaginary), one bin to the next.
  int64_t a_row_, a_part_, a_bin_, b_bin_, y_row_, y_part_, y_bin_;
};

}  // namespace convscope::fft
