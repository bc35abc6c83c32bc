// Depthwise backward-filter for NCHW with the lanes over the columns of a row: a thread stages some rows of
// an input plane, as many as fit in L1, and sums all taps at once. A slice is a range of the batch's output
// rows; slices are summed apart and added in order, so that the bits depend on the number of threads alone.
#include <omp.h>

#include <algorithm>
#include <utility>

#include "algorithms/direct/cpu/filter_plan.hpp"
#include "algorithms/direct/cpu/staged_plane.hpp"

namespace convscope::direct {
namespace {

constexpr int64_t kPlaneChunkFloats = 1 << 12;
// Pixels whose products are one sum; such sums are added in a second one.
constexpr int64_t kPixelsPerSum = 1 << 14;

class PlaneFilterPlan final : public DirectPlan {
 public:
  PlaneFilterPlan(const ConvProblem& problem, const Kernels& kernels, const PlanOptions& options);
  std::string implementation() const override;
  std::optional<OperationCount> operations() const override;
  double longest_sum() const override;
  void run(const ConvArgs& args, Queue& queue) override;

 private:
  void choose_sizes();
  void sum_channel(const ConvArgs& args, int64_t channel, const std::vector<Chunk>& chunks, float* memory,
                   float* sums) const;
  void add_slices(int64_t channel, const float* sums, float* filter) const;

  Correlation correlation_;
  PlaneKernels plane_kernels_;
  StagedPlane staged_;
  TapRunList runs_;
  int64_t taps_ = 0;  // of a filter
  int64_t chunk_rows_ = 1, slices_ = 1;
  std::vector<std::vector<Chunk>> chunks_;  // [slice]
  // Per thread: [input rows], then twice [tap][lane], the sums of some pixels and the sums of these. After
  // all threads the slices' sums, [slice][channel][tap], where there are several slices.
  int64_t input_floats_ = 0, thread_floats_ = 0;
};

PlaneFilterPlan::PlaneFilterPlan(const ConvProblem& problem, const Kernels& kernels,
                                 const PlanOptions& options)
    : DirectPlan(problem, kernels, options),
      correlation_(forward_correlation(problem)),
      plane_kernels_(best_plane_kernels()),
      staged_(std::vector{correlation_}),
      runs_(correlation_, staged_, problem.filter.w),
      taps_(problem.filter.h * problem.filter.w) {
  choose_sizes();
}

std::string PlaneFilterPlan::implementation() const {
  return std::string(kernels_.instructions) + ", depthwise, columns in lanes" + slices_text(slices_);
}

// Whole vectors of columns; rows of padding are multiplied. Staged rows and a plane's sums fit in L1; the
// sums of slices are written and read again.
std::optional<OperationCount> PlaneFilterPlan::operations() const {
  const auto channels = static_cast<double>(problem_.groups);
  const auto sums = static_cast<double>(slices_ > 1 ? slices_ * taps_ : 0);
  OperationCount count;
  count.product_flops = 2 * static_cast<double>(problem_.batch * out_.h * round_up(out_.w, kernels_.lanes)) *
                        channels * static_cast<double>(runs_.view().taps());
  count.bytes = static_cast<double>(problem_.total_bytes()) + 2 * sizeof(float) * channels * sums;
  return count;
}

// The chunk that completes a sum may be as long as an image; pixels that are left are a sum that is added,
// too. The lanes are added last.
double PlaneFilterPlan::longest_sum() const {
  double longest = 0;
  const int64_t row = ceil_div(out_.w, kernels_.lanes);
  for (const auto& chunks : chunks_) {
    SumLevels levels;
    int64_t pixels = 0, terms = 0;
    for (const Chunk& chunk : chunks) {
      pixels += chunk.rows.size() * out_.w;
      terms += chunk.rows.size() * row;
      levels.first = std::max(levels.first, terms);
      if (pixels < kPixelsPerSum) continue;
      pixels = terms = 0;
      ++levels.second;
    }
    if (levels.second > 0 && pixels > 0) ++levels.second;
    longest = std::max(longest, levels.longest());
  }
  return longest + static_cast<double>(kernels_.lanes + slices_ - 1);
}

void PlaneFilterPlan::choose_sizes() {
  const Axis& rows = correlation_.rows;
  const int64_t wanted =
      options_.threads > 1 ? ceil_div(kTasksPerThread * options_.threads, problem_.groups) : 1;
  const auto total = [&] {
    return options_.threads * thread_floats_ + (slices_ > 1 ? slices_ * problem_.groups * taps_ : 0);
  };
  slices_ = std::min(wanted, problem_.batch * out_.h);
  for (int64_t parts = 1;; ++parts) {
    chunk_rows_ = ceil_div(out_.h, parts);
    input_floats_ = input_rows_of(rows, {0, chunk_rows_}).size() * staged_.row_step();
    const int64_t sums = taps_ * kernels_.lanes;
    thread_floats_ = round_up(input_floats_ + 2 * sums, kAlignment);
    const bool fits = input_floats_ + sums <= kPlaneChunkFloats && total() <= cap_floats_;
    if (fits || chunk_rows_ == 1) break;
  }
  while (slices_ > 1 && total() > cap_floats_) --slices_;
  chunks_ = sliced_chunks(rows, problem_.batch, slices_, chunk_rows_);
  total_floats_ = total();
}

// `sums` gets one for each tap.
void PlaneFilterPlan::sum_channel(const ConvArgs& args, int64_t channel, const std::vector<Chunk>& chunks,
                                  float* memory, float* sums) const {
  const Axis& rows = correlation_.rows;
  PlaneGradientJob job;
  job.in_row_step = rows.step * staged_.row_step();
  job.out_row_step = job.columns = out_.w;
  job.taps = runs_.view();
  job.sums = memory + input_floats_;
  const int64_t floats = taps_ * kernels_.lanes;
  float* const totals = job.sums + floats;
  std::fill_n(job.sums, floats, 0.0f);
  int64_t pixels = 0;
  bool first = true;
  const auto add_to_totals = [&] {
    if (first) std::fill_n(totals, floats, 0.0f);
    first = false;
    for (int64_t i = 0; i < floats; ++i) totals[i] += std::exchange(job.sums[i], 0.0f);
    pixels = 0;
  };
  for (const Chunk& chunk : chunks) {
    staged_.stage(plane_kernels_,
                  static_cast<const float*>(args.input) + input_shape_.offset(chunk.image, channel, 0, 0),
                  chunk.input_rows, memory);
    job.in = memory + staged_.first_column() +
             (chunk.rows.begin * rows.step - chunk.input_rows.begin) * staged_.row_step();
    job.out = static_cast<const float*>(args.output) +
              output_shape_.offset(chunk.image, channel, chunk.rows.begin, 0);
    job.rows = chunk.rows.size();
    plane_kernels_.gradient(job);
    pixels += job.rows * job.columns;
    if (pixels >= kPixelsPerSum) add_to_totals();
  }
  if (!first) add_to_totals();
  plane_kernels_.add_lanes(first ? job.sums : totals, taps_, sums);
}

void PlaneFilterPlan::add_slices(int64_t channel, const float* sums, float* filter) const {
  float* to = filter + channel * taps_;
  const float* from = sums + channel * taps_;
  std::copy_n(from, taps_, to);
  for (int64_t slice = 1; slice < slices_; ++slice) {
    from += problem_.groups * taps_;
    for (int64_t tap = 0; tap < taps_; ++tap) to[tap] += from[tap];
  }
}

void PlaneFilterPlan::run(const ConvArgs& args, Queue&) {
  auto* workspace = static_cast<float*>(args.workspace);
  auto* filter = static_cast<float*>(args.filter);
  float* sums = slices_ > 1 ? workspace + options_.threads * thread_floats_ : filter;
  const int64_t tasks = slices_ * problem_.groups;
  const int64_t at_once = std::max<int64_t>(1, tasks / (2 * kTasksPerThread * options_.threads));
#pragma omp parallel num_threads(options_.threads)
  {
    float* own = workspace + omp_get_thread_num() * thread_floats_;
    std::fill(own, own + thread_floats_, 0.0f);
#pragma omp for collapse(2) schedule(dynamic, at_once)
    for (int64_t slice = 0; slice < slices_; ++slice)
      for (int64_t channel = 0; channel < problem_.groups; ++channel)
        sum_channel(args, channel, chunks_[static_cast<size_t>(slice)], own,
                    sums + (slice * problem_.groups + channel) * taps_);
    if (slices_ > 1) {
#pragma omp for schedule(static)
      for (int64_t channel = 0; channel < problem_.groups; ++channel) add_slices(channel, sums, filter);
    }
  }
}

}  // namespace

std::unique_ptr<DirectPlan> make_plane_filter_plan(const ConvProblem& problem, const Kernels& kernels,
                                                   const PlanOptions& options) {
  return std::make_unique<PlaneFilterPlan>(problem, kernels, options);
}

}  // namespace convscope::direct
