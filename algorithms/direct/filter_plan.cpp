#include "algorithms/direct/filter_plan.hpp"

#include <algorithm>

namespace convscope::direct {
namespace {

constexpr int64_t kStagedFloats =
    1 << 20;  // staged at once where several images fit: stays in the last cache

}  // namespace

FilterPlan::FilterPlan(const ConvProblem& problem, const Kernels& kernels, const PlanOptions& options)
    : DirectPlan(problem, kernels, options),
      out_(problem.output()),
      input_shape_(problem.shape(Role::input)),
      output_shape_(problem.shape(Role::output)) {}

// Two parts for each thread, in slices if need be; one slice where the workspace cap has no room for the sums
// of more.
void FilterPlan::choose_slices() {
  const int64_t wanted = ceil_div(2 * options_.threads, sizes_.parts);
  const int64_t image = sizes_.input + sizes_.output;
  const int64_t room = (cap_floats_ - kMaxRowVectors * kernels_.lanes - image) / sizes_.sums;
  if (options_.threads == 1 || wanted <= 1 || room <= 1) return;
  row_slices_ = std::min({out_.h, wanted, room});
  image_slices_ = std::min({problem_.batch, ceil_div(wanted, row_slices_), room / row_slices_});
}

void FilterPlan::lay_out(const Sizes& sizes) {
  sizes_ = sizes;
  sizes_.input = round_up(sizes.input, kAlignment);
  sizes_.output = round_up(sizes.output, kAlignment);
  sizes_.sums = round_up(sizes.sums, kAlignment);
  choose_slices();
  const int64_t fixed = slices() * sizes_.sums + kMaxRowVectors * kernels_.lanes;
  const int64_t image = sizes_.input + sizes_.output;
  const int64_t under_cap = (cap_floats_ - fixed) / image;
  const int64_t wanted = std::max<int64_t>(1, kStagedFloats / image);
  const int64_t chunks = ceil_div(problem_.batch, std::clamp<int64_t>(under_cap, 1, wanted));
  images_at_once_ = ceil_div(problem_.batch, chunks);
  // The first images start the sums of every slice.
  image_slices_ = std::min(image_slices_, images_at_once_);
  output_at_ = images_at_once_ * sizes_.input;
  sums_at_ = output_at_ + images_at_once_ * sizes_.output;
  total_floats_ = sums_at_ + slices() * sizes_.sums + kMaxRowVectors * kernels_.lanes;
}

void FilterPlan::stage_row(const ConvArgs& args, int64_t first_image, int64_t index, float* input,
                           float* output) const {
  const int64_t rows = problem_.input.h + out_.h;
  const int64_t slot = index / rows, row = index % rows;
  const int64_t n = first_image + slot;
  if (row < problem_.input.h)
    stage_input_row(static_cast<const float*>(args.input) + n * input_shape_.stride[0], row,
                    input + slot * sizes_.input);
  else
    stage_output_row(static_cast<const float*>(args.output) + n * output_shape_.stride[0],
                     row - problem_.input.h, output + slot * sizes_.output);
}

std::string FilterPlan::slices_text() const {
  const auto text = [](int64_t count, const char* what) {
    return count > 1 ? ", " + std::to_string(count) + " slices of " + what : std::string();
  };
  return text(row_slices_, "rows") + text(image_slices_, "images");
}

// Slices count up through rows, then images.
void FilterPlan::add_slice(int64_t part, const Images& images, int64_t slice, float* sums) const {
  const int64_t of_images = slice / row_slices_, of_rows = slice % row_slices_;
  const int64_t first = of_images * images.count / image_slices_;
  const int64_t end = (of_images + 1) * images.count / image_slices_;
  const Images some{images.input + first * sizes_.input, images.output + first * sizes_.output, end - first,
                    images.first};
  add_part(part, some, {of_rows * out_.h / row_slices_, (of_rows + 1) * out_.h / row_slices_}, sums);
}

OperationCount FilterPlan::operations() const {
  OperationCount count;
  count.product_flops = 2 * multiply_adds();
  const double moved =
      static_cast<double>(problem_.batch) * static_cast<double>(sizes_.input + sizes_.output) +
      static_cast<double>(slices()) * static_cast<double>(sizes_.sums);
  count.bytes = static_cast<double>(problem_.total_bytes()) + 2 * sizeof(float) * moved;
  return count;
}

void FilterPlan::run(const ConvArgs& args, Queue&) {
  auto* input = static_cast<float*>(args.workspace);
  float* output = input + output_at_;
  float* sums = input + sums_at_;
  const int64_t rows = problem_.input.h + out_.h;
#pragma omp parallel num_threads(options_.threads)
  {
    for (int64_t first = 0; first < problem_.batch; first += images_at_once_) {
      const Images images{input, output, std::min(images_at_once_, problem_.batch - first), first == 0};
#pragma omp for schedule(dynamic)  // rows of the two tensors are not alike, and some are not read
      for (int64_t index = 0; index < images.count * rows; ++index)
        stage_row(args, first, index, input, output);
#pragma omp for schedule(dynamic)
      for (int64_t index = 0; index < slices() * sizes_.parts; ++index) {
        const int64_t slice = index / sizes_.parts;
        add_slice(index % sizes_.parts, images, slice, sums + slice * sizes_.sums);
      }
    }
    if (slices() > 1) {
#pragma omp for schedule(static)
      for (int64_t i = 0; i < sizes_.sums; ++i)
        for (int64_t slice = 1; slice < slices(); ++slice) sums[i] += sums[slice * sizes_.sums + i];
    }
#pragma omp for schedule(static)
    for (int64_t part = 0; part < sizes_.finish_parts; ++part)
      finish_part(part, sums, static_cast<float*>(args.filter));
  }
}

}  // namespace convscope::direct
