// Forward and backward-data: the frame of the plans that read a staged copy. It stages the read tensor unit
// by unit (some images, some groups, a band of rows) and hands out tasks; derived plans compute them and
// choose what fills the vector lanes. Start at run().
#pragma once

#include <memory>
#include <vector>

#include "algorithms/direct/cpu/direct_plan.hpp"
#include "algorithms/direct/cpu/geometry.hpp"
#include "algorithms/direct/cpu/kernels.hpp"
#include "algorithms/direct/cpu/staging.hpp"

namespace convscope::direct {

class CorrelationPlan : public DirectPlan {
 public:
  bool has_prepare() const final { return true; }
  void prepare(const ConvArgs& args, Queue& queue) final;
  void run(const ConvArgs& args, Queue& queue) final;
  std::optional<OperationCount> operations() const final;
  double longest_sum() const final {
    return static_cast<double>(longest_sum_of(correlations_, read_channels_));
  }

 protected:
  virtual double multiply_adds() const = 0;
  struct Task {
    int64_t first_image = 0, first_group = 0;
    const float* staged = nullptr;
    int64_t first_row = 0;  // of the read tensor, the first one staged
    size_t correlation = 0;
    int64_t block = 0;  // of written channels
    Range rows;         // of the correlation
  };

  CorrelationPlan(const ConvProblem& problem, const Kernels& kernels, const PlanOptions& options);
  // To be called at the end of a derived constructor, which has made staged_. A unit is as many images as
  // that has side by side, `groups` neighbouring groups of the read tensor, and of those the rows that a band
  // of written rows needs.
  void lay_out(int64_t groups, int64_t packed_floats, int64_t blocks, int64_t thread_floats);

  virtual void pack(const float* filter, float* packed) const = 0;
  // Writes the task's part of the output, with the epilogue applied, whose bias is that of all channels or
  // null. `scratch` has thread_floats and is private to the thread.
  virtual void compute(const Task& task, const float* packed, const float* bias, float* scratch,
                       float* written) const = 0;

  std::vector<Correlation> correlations_;
  bool forward_;
  int64_t read_channels_, written_channels_;  // per group
  TensorShape read_shape_, written_shape_;
  int64_t filter_read_, filter_written_;  // strides of the filter from one such channel to the next
  StagedInput staged_;

 private:
  struct Unit {
    int64_t first_image = 0, first_group = 0, band = 0;
  };
  Unit unit(int64_t index) const;
  Task task(int64_t index, int64_t first_unit, const float* staged) const;
  Task whole_task(const Unit& unit, size_t correlation, int64_t block, const float* staged) const;
  // What one thread works on: `staged` is shared, `scratch` private.
  struct Memory {
    const float* read = nullptr;
    const float* packed = nullptr;
    const float* bias = nullptr;
    float* staged = nullptr;
    float* scratch = nullptr;
    float* written = nullptr;
  };
  void stage_unit_row(const float* read, const Unit& unit, int64_t row, float* staged) const;
  void run_by_unit(const Memory& memory) const;
  void run_together(const Memory& memory) const;
  void choose_bands(int64_t max_unit_floats, int64_t min_bands);

  int64_t unit_groups_ = 1;
  int64_t bands_ = 1, band_rows_ = 0;  // read rows of the largest band
  std::vector<Range> read_rows_;       // [band], none outside
  int64_t units_ = 0, units_at_once_ = 1;
  bool by_unit_ = false;  // a thread computes the units that it stages
  int64_t unit_floats_ = 0, thread_floats_ = 0;
  int64_t blocks_ = 1, row_parts_ = 1;
  int64_t staged_at_ = 0, scratch_at_ = 0;  // in floats from the workspace's start
};

// Lanes over written channels.
std::unique_ptr<DirectPlan> make_channel_plan(const ConvProblem& problem, const Kernels& kernels,
                                              const PlanOptions& options);
// Lanes over the channels, each with its own filter: depthwise, as many channels written as read.
std::unique_ptr<DirectPlan> make_depthwise_plan(const ConvProblem& problem, const Kernels& kernels,
                                                const PlanOptions& options);
// Lanes over the columns of a written row, plane by plane: depthwise, NCHW.
std::unique_ptr<DirectPlan> make_plane_plan(const ConvProblem& problem, const Kernels& kernels,
                                            const PlanOptions& options);
// Lanes over the columns of a written row: for few written channels per group.
std::unique_ptr<DirectPlan> make_pixel_plan(const ConvProblem& problem, const Kernels& kernels,
                                            const PlanOptions& options);

}  // namespace convscope::direct
