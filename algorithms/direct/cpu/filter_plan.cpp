#include "algorithms/direct/cpu/filter_plan.hpp"

#include <algorithm>

namespace convscope::direct {
namespace {

constexpr int64_t kStagedFloats = 1 << 20;       // staged at once by all threads: fits in the LLC
constexpr int64_t kSliceStagedFloats = 1 << 16;  // by one thread: fits in L2 ...
constexpr int64_t kSliceSums = 1 << 16;          // ... beside so many sums

}  // namespace

FilterPlan::FilterPlan(const ConvProblem& problem, const Kernels& kernels, const PlanOptions& options)
    : DirectPlan(problem, kernels, options), rows_(forward_correlation(problem).rows) {}

void FilterPlan::set_chunk_rows(int64_t rows) {
  images_ = std::max<int64_t>(1, rows / out_.h);
  output_rows_ = std::min(rows, out_.h);
  input_rows_ = std::min(input_rows_of(rows_, {0, output_rows_}).size(), problem_.input.h);
  input_floats_ = round_up(input_rows_ * sizes_.input_row, kAlignment);
  output_floats_ = round_up(output_rows_ * sizes_.output_row, kAlignment);
  staged_floats_ = images_ * (input_floats_ + output_floats_);
}

// A gradient whose sums fit in L2 is summed in slices of the batch's rows, one for each thread, which reads
// what it staged itself. Otherwise all threads stage a chunk and share out the gradient.
void FilterPlan::lay_out(const Sizes& sizes) {
  sizes_ = sizes;
  sizes_.sums = round_up(sizes.sums, kAlignment);
  const int64_t all = problem_.batch * out_.h;
  const auto fit = [&](int64_t slices, int64_t wanted) {
    const int64_t room = cap_floats_ / slices - sizes_.sums;
    int64_t rows = all;
    for (set_chunk_rows(rows); rows > 1 && staged_floats_ > std::min(wanted, room); set_chunk_rows(rows))
      rows = ceil_div(rows, 2);
    return staged_floats_ <= room;
  };
  by_slice_ =
      sizes_.sums <= kSliceSums && all >= options_.threads && fit(options_.threads, kSliceStagedFloats);
  if (!by_slice_) fit(1, kStagedFloats);
  const int64_t slices = by_slice_ ? options_.threads : 1;
  chunks_ = sliced_chunks(rows_, problem_.batch, slices, images_ * output_rows_);
  sums_at_ = slices * staged_floats_;
  total_floats_ = sums_at_ + slices * sizes_.sums;
}

Range FilterPlan::inside(Range input_rows) const {
  return {std::clamp<int64_t>(input_rows.begin, 0, problem_.input.h),
          std::clamp<int64_t>(input_rows.end, 0, problem_.input.h)};
}

std::optional<OperationCount> FilterPlan::operations() const {
  OperationCount count;
  count.product_flops = 2 * multiply_adds();
  auto moved = static_cast<double>(slices() * sizes_.sums);
  for (const auto& slice : chunks_)
    for (const Chunk& chunk : slice) {
      const int64_t image =
          inside(chunk.input_rows).size() * sizes_.input_row + chunk.rows.size() * sizes_.output_row;
      moved += static_cast<double>(chunk.images * image);
    }
  count.bytes = static_cast<double>(problem_.total_bytes()) + 2 * sizeof(float) * moved;
  return count;
}

// Index counts the input rows of the chunk's images, then their output rows.
void FilterPlan::stage_row(const ConvArgs& args, const Chunk& chunk, int64_t index, float* memory) const {
  const Range from = inside(chunk.input_rows);
  const int64_t inputs = chunk.images * from.size();
  if (index < inputs) {
    const int64_t i = index / from.size(), row = index % from.size();
    const auto* image = static_cast<const float*>(args.input) + (chunk.image + i) * input_shape_.stride[0];
    stage_input_row(image, from.begin + row, memory + i * input_floats_, row);
  } else {
    const int64_t i = (index - inputs) / chunk.rows.size(), row = (index - inputs) % chunk.rows.size();
    const auto* image = static_cast<const float*>(args.output) + (chunk.image + i) * output_shape_.stride[0];
    stage_output_row(image, chunk.rows.begin + row, memory + output_at() + i * output_floats_, row);
  }
}

// All output rows of an image in one call, for which a derived plan may have a faster version.
void FilterPlan::stage_chunk(const ConvArgs& args, const Chunk& chunk, float* memory) const {
  const int64_t inputs = chunk.images * inside(chunk.input_rows).size();
  for (int64_t index = 0; index < inputs; ++index) stage_row(args, chunk, index, memory);
  for (int64_t i = 0; i < chunk.images; ++i)
    stage_output_rows(static_cast<const float*>(args.output) + (chunk.image + i) * output_shape_.stride[0],
                      chunk.rows, memory + output_at() + i * output_floats_);
}

void FilterPlan::stage_output_rows(const float* image, Range rows, float* staged) const {
  for (int64_t p = rows.begin; p < rows.end; ++p) stage_output_row(image, p, staged, p - rows.begin);
}

void FilterPlan::run_by_slice(const ConvArgs& args, float* memory, float* sums) const {
#pragma omp for schedule(static)
  for (int64_t slice = 0; slice < slices(); ++slice) {
    float* own = memory + slice * staged_floats_;
    bool first = true;
    for (const Chunk& chunk : chunks_[static_cast<size_t>(slice)]) {
      stage_chunk(args, chunk, own);
      for (int64_t part = 0; part < sizes_.parts; ++part)
        add_part(part, staged(chunk, own, first), sums + slice * sizes_.sums);
      first = false;
    }
  }
#pragma omp for schedule(static)
  for (int64_t i = 0; i < sizes_.sums; ++i)
    for (int64_t slice = 1; slice < slices(); ++slice) sums[i] += sums[slice * sizes_.sums + i];
}

void FilterPlan::run_together(const ConvArgs& args, float* memory, float* sums) const {
  bool first = true;
  for (const Chunk& chunk : chunks_.front()) {
#pragma omp for schedule(dynamic)  // rows of the two tensors differ in cost, and some are not read
    for (int64_t index = 0; index < rows_of(chunk); ++index) stage_row(args, chunk, index, memory);
#pragma omp for schedule(dynamic)
    for (int64_t part = 0; part < sizes_.parts; ++part) add_part(part, staged(chunk, memory, first), sums);
    first = false;
  }
}

void FilterPlan::run(const ConvArgs& args, Queue&) {
  auto* memory = static_cast<float*>(args.workspace);
  float* sums = memory + sums_at_;
#pragma omp parallel num_threads(options_.threads)
  {
    if (by_slice_)
      run_by_slice(args, memory, sums);
    else
      run_together(args, memory, sums);
#pragma omp for schedule(static)
    for (int64_t part = 0; part < sizes_.finish_parts; ++part)
      finish_part(part, sums, static_cast<float*>(args.filter));
  }
}

}  // namespace convscope::direct
