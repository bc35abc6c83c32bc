// Backward-filter: the frame that all ways of using the vector lanes share. It stages the two read tensors
// some images at a time and hands out parts of the filter gradient, so that every element has one owner and
// the order of its sum is fixed for a thread count. Start at run().
#pragma once

#include <memory>
#include <string>

#include "algorithms/direct/direct_plan.hpp"
#include "algorithms/direct/geometry.hpp"
#include "algorithms/direct/kernels.hpp"

namespace convscope::direct {

class FilterPlan : public DirectPlan {
 public:
  void run(const ConvArgs& args, Queue& queue) final;
  OperationCount operations() const final;

 protected:
  virtual double multiply_adds() const = 0;
  // Sizes in floats of one staged image and of the gradient sums; `parts` of the gradient that can be
  // computed apart, `finish_parts` that can be written apart.
  struct Sizes {
    int64_t input = 0, output = 0, sums = 0, parts = 0, finish_parts = 0;
  };
  // Images staged side by side, `sizes().input` and `.output` floats apart.
  struct Images {
    const float* input = nullptr;
    const float* output = nullptr;
    int64_t count = 0;
    bool first = false;  // the sums hold nothing yet
  };

  FilterPlan(const ConvProblem& problem, const Kernels& kernels, const PlanOptions& options);
  void lay_out(const Sizes& sizes);  // to be called at the end of a derived constructor
  const Sizes& sizes() const { return sizes_; }
  // For implementation(): ", 3 slices of rows", empty when nothing is sliced.
  std::string slices_text() const;

  virtual void stage_input_row(const float* image, int64_t h, float* staged) const = 0;
  virtual void stage_output_row(const float* image, int64_t p, float* staged) const = 0;
  // Adds the images' output rows `rows` to the part's sums; starts the sums where images.first.
  virtual void add_part(int64_t part, const Images& images, Range rows, float* sums) const = 0;
  virtual void finish_part(int64_t part, const float* sums, float* filter) const = 0;

  Extent2 out_;
  TensorShape input_shape_, output_shape_;

 private:
  int64_t slices() const { return row_slices_ * image_slices_; }
  void choose_slices();
  void add_slice(int64_t part, const Images& images, int64_t slice, float* sums) const;
  void stage_row(const ConvArgs& args, int64_t first_image, int64_t index, float* input, float* output) const;

  Sizes sizes_;
  int64_t images_at_once_ = 1;
  // Summed apart where there are few parts for many threads: slices of the output rows, and of the images
  // where those are too few.
  int64_t row_slices_ = 1, image_slices_ = 1;
  int64_t output_at_ = 0, sums_at_ = 0;  // in floats from the workspace's start
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

}  // namespace convscope::direct
