// direct.cpu: what it is, what it refuses, and which plan a problem gets. The arithmetic is in the plans;
// what they compute is in plain.hpp.
#include "algorithms/direct/direct.hpp"

#include <algorithm>
#include <memory>
#include <string>

#include "algorithms/common/pointwise.hpp"
#include "algorithms/direct/cpu/correlation_plan.hpp"
#include "algorithms/direct/cpu/filter_plan.hpp"
#include "algorithms/direct/cpu/kernels.hpp"
#include "algorithms/direct/cuda/plans.hpp"
#include "bench/algorithm/limits.hpp"

namespace convscope {
namespace direct {
namespace {

// Lanes over written channels compute up to a whole vector of them; lanes over columns up to a whole vector
// of columns, at about 3/2 the loads for each multiply-add.
bool prefers_pixels(int64_t channels, int64_t columns, int64_t lanes) {
  return 3 * channels * round_up(columns, lanes) < 2 * round_up(channels, lanes) * columns;
}

// Images of at most so many pixels are taken as one row where the filter allows it.
constexpr int64_t kRowPixels = 256;
constexpr int64_t kRowsPerThread = 2;

// Each channel has its own filter, and there are enough channels to fill the lanes.
bool is_plain_depthwise(const ConvProblem& p) {
  return p.groups >= kChannelBlock / 2 && p.in_channels == p.groups && p.out_channels == p.groups;
}

// The plane kernels have column strides of 1 and 2. With fewer columns too many of their lanes are empty.
constexpr int64_t kMinColumns = 4;
constexpr int64_t kMinGradientColumns = 8;  // the lanes are added up as well

bool suits_planes(const ConvProblem& p) {
  const int64_t min_columns = p.pass == Pass::backward_filter ? kMinGradientColumns : kMinColumns;
  return p.layout == Layout::nchw && p.stride.w <= 2 && p.output().w >= min_columns;
}

// Planning lists them, each with its taps in some 200 bytes.
Support few_residues(const ConvProblem& p) {
  constexpr int64_t kMax = 1 << 16;
  const Extent2 residues{std::min(p.stride.h, p.input.h), std::min(p.stride.w, p.input.w)};
  return require(p.pass != Pass::backward_data || residues.h <= kMax / residues.w, Reason::unsupported_stride,
                 "stride " + to_text(p.stride) + " splits an input of " + to_text(p.input) + " into " +
                     to_text(residues) + " residues: direct.cpu takes " + std::to_string(kMax) + " in all");
}

// The smallest number of rows that gives every thread some, if they still fill half a tile.
ConvProblem with_long_rows(const ConvProblem& problem, const Kernels& kernels, int threads) {
  const int64_t pixels = problem.input.h * problem.input.w;
  if (!is_pointwise(problem) || pixels > kRowPixels) return problem;
  const int64_t channels = problem.pass == Pass::backward_data ? problem.in_channels : problem.out_channels;
  const int64_t without_rows = problem.batch * ceil_div(channels, kMaxVectors * kernels.lanes);
  const int64_t wanted = threads > 1 ? ceil_div(kRowsPerThread * threads, without_rows) : 1;
  for (int64_t rows = wanted; 2 * pixels >= rows * kernels.max_pixels; ++rows)
    if (pixels % rows == 0) return with_rows(problem, rows);
  return with_rows(problem, 1);
}

// Rows of whole vectors, which are transposed without a rest, and enough of them for the threads.
ConvProblem with_even_rows(const ConvProblem& problem, const Kernels& kernels, int threads) {
  const int64_t pixels = problem.input.h * problem.input.w;
  if (!is_pointwise(problem)) return problem;
  const int64_t for_threads = ceil_div(kRowsPerThread * threads, problem.batch);
  for (int64_t rows = std::max(for_threads, ceil_div(pixels, kRowPixels)); rows * kernels.lanes <= pixels;
       ++rows)
    if (pixels % (rows * kernels.lanes) == 0) return with_rows(problem, rows);
  return with_long_rows(problem, kernels, 1);
}

std::unique_ptr<DirectPlan> make_correlation_plan(const ConvProblem& problem, const Kernels& kernels,
                                                  const PlanOptions& options) {
  const ConvProblem used = with_long_rows(problem, kernels, options.threads);
  if (is_plain_depthwise(problem))
    return suits_planes(used) ? make_plane_plan(used, kernels, options)
                              : make_depthwise_plan(used, kernels, options);
  const bool forward = used.pass == Pass::forward;
  const int64_t columns = forward ? used.output().w : ceil_div(used.input.w, used.stride.w);
  const int64_t channels = forward ? used.out_channels_per_group() : used.in_channels_per_group();
  return prefers_pixels(channels, columns, kernels.lanes) ? make_pixel_plan(used, kernels, options)
                                                          : make_channel_plan(used, kernels, options);
}

std::unique_ptr<DirectPlan> make_filter_plan(const ConvProblem& problem, const Kernels& kernels,
                                             const PlanOptions& options) {
  const ConvProblem used = with_even_rows(problem, kernels, options.threads);
  if (is_plain_depthwise(problem))
    return suits_planes(used) ? make_plane_filter_plan(used, kernels, options)
                              : make_depthwise_filter_plan(used, kernels, options);
  return prefers_pixels(used.out_channels_per_group(), used.output().w, kernels.lanes)
             ? make_dot_filter_plan(used, kernels, options)
             : make_channel_filter_plan(used, kernels, options);
}

class Direct final : public Algorithm {
 public:
  Direct() {
    info_.id = "direct.cpu";
    info_.family = "direct";
    info_.provider = "convscope";
    info_.device = DeviceKind::cpu;
    info_.summary = "blocked, vectorised direct convolution; any stride, padding, dilation and groups";
    info_.exact_on_integers = true;
    info_.takes_epilogues = true;
  }

  const AlgorithmInfo& info() const override { return info_; }

  Support takes(const ConvProblem& problem, const DeviceInfo&) const override {
    return first_refusal({fp32_only(problem), nchw_or_nhwc(problem), few_residues(problem)});
  }

  std::unique_ptr<Plan> plan(const ConvProblem& problem, Device&, const PlanOptions& options) const override {
    return problem.pass == Pass::backward_filter ? make_filter_plan(problem, best_kernels(), options)
                                                 : make_correlation_plan(problem, best_kernels(), options);
  }

 private:
  AlgorithmInfo info_;
};

}  // namespace
}  // namespace direct

void add_direct(Registry& registry) {
  registry.add(std::make_unique<direct::Direct>());
  direct::add_direct_cuda(registry);
}

}  // namespace convscope
