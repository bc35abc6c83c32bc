// Depthwise forward and backward-data for NCHW with the lanes over the columns of a row: a thread takes one
// plane after the other, stages a band of it that fits in L1, and reads the filter in place. Nothing is
// transposed or packed.
#include <omp.h>

#include <algorithm>

#include "algorithms/direct/cpu/correlation_plan.hpp"
#include "algorithms/direct/cpu/staged_plane.hpp"
#include "bench/algorithm/epilogue.hpp"

namespace convscope::direct {
namespace {

constexpr int64_t kBandFloats = 1 << 12;  // 16 KiB: half of L1

class PlanePlan final : public DirectPlan {
 public:
  PlanePlan(const ConvProblem& problem, const Kernels& kernels, const PlanOptions& options);
  std::string implementation() const override;
  std::optional<OperationCount> operations() const override;
  double longest_sum() const override { return static_cast<double>(longest_sum_of(correlations_, 1)); }
  void run(const ConvArgs& args, Queue& queue) override;

 private:
  struct BandJob {
    PlaneJob job;  // but for its pointers
    int64_t in_offset = 0, out_offset = 0;
  };
  struct PlaneBand {
    Range read;
    std::vector<BandJob> jobs;
  };
  std::vector<BandJob> make_jobs(int64_t band) const;
  void choose_bands();
  void compute(const float* plane, const float* filter, const float* bias, const PlaneBand& band,
               float* staged, float* written) const;

  std::vector<Correlation> correlations_;  // those of one residue of the rows lie side by side
  bool forward_;
  TensorShape read_shape_, written_shape_;
  PlaneKernels plane_kernels_;
  StagedPlane staged_;
  std::vector<TapRunList> taps_;  // [correlation]
  size_t column_residues_ = 1;
  std::vector<PlaneBand> bands_;
  int64_t thread_floats_ = 0;
};

PlanePlan::PlanePlan(const ConvProblem& problem, const Kernels& kernels, const PlanOptions& options)
    : DirectPlan(problem, kernels, options),
      correlations_(correlations(problem)),
      forward_(problem.pass == Pass::forward),
      read_shape_(forward_ ? input_shape_ : output_shape_),
      written_shape_(forward_ ? output_shape_ : input_shape_),
      plane_kernels_(best_plane_kernels()),
      staged_(correlations_) {
  for (const Correlation& one : correlations_) taps_.emplace_back(one, staged_, problem.filter.w);
  column_residues_ =
      static_cast<size_t>(std::min(correlations_.front().columns.out_step, written_shape_.size[3]));
  choose_bands();
}

// The smallest number of bands that fit in L1 and the workspace cap and give every thread its tasks.
void PlanePlan::choose_bands() {
  const int64_t rows = correlations_.front().rows.count, planes = problem_.batch * problem_.groups;
  const int64_t max_floats = std::min(kBandFloats, cap_floats_ / options_.threads);
  int64_t bands = options_.threads > 1 ? ceil_div(kTasksPerThread * options_.threads, planes) : 1;
  for (bands = std::min(bands, rows);; ++bands) {
    bands_.clear();
    int64_t max_rows = 0;
    for (int64_t i = 0; i < bands; ++i) {
      bands_.push_back({read_in_band(correlations_, i, bands), {}});
      max_rows = std::max(max_rows, bands_.back().read.size());
    }
    thread_floats_ = round_up(max_rows * staged_.row_step(), kAlignment);
    if (thread_floats_ <= max_floats || bands == rows) break;
  }
  for (int64_t i = 0; i < bands; ++i) bands_[static_cast<size_t>(i)].jobs = make_jobs(i);
  total_floats_ = thread_floats_ * options_.threads;
}

std::string PlanePlan::implementation() const {
  return std::string(kernels_.instructions) + ", depthwise, columns in lanes";
}

// Whole vectors of columns, of each residue where there are two; rows of padding are multiplied. The staged
// band fits in L1, so that only the tensors count as moved.
std::optional<OperationCount> PlanePlan::operations() const {
  int64_t pairs = 0;
  for (const PlaneBand& band : bands_)
    for (const BandJob& made : band.jobs) {
      const PlaneJob& job = made.job;
      const int64_t vectors = ceil_div(job.columns, job.residues * kernels_.lanes);
      pairs += job.rows * vectors * kernels_.lanes * (job.taps[0].taps() + job.taps[1].taps());
    }
  OperationCount count;
  count.product_flops =
      2 * static_cast<double>(problem_.batch * problem_.groups) * static_cast<double>(pairs);
  count.bytes = static_cast<double>(problem_.total_bytes());
  return count;
}

// The jobs that write a band, one for each residue of the rows.
std::vector<PlanePlan::BandJob> PlanePlan::make_jobs(int64_t band) const {
  const int64_t first_read = bands_[static_cast<size_t>(band)].read.begin;
  std::vector<BandJob> jobs;
  for (size_t i = 0; i < correlations_.size(); i += column_residues_) {
    const Axis& rows = correlations_[i].rows;
    const Range written = written_in_band(rows, band, static_cast<int64_t>(bands_.size()));
    BandJob made;
    PlaneJob& job = made.job;
    job.in_row_step = rows.step * staged_.row_step();
    job.residues = static_cast<int>(column_residues_);
    for (size_t residue = 0; residue < column_residues_; ++residue)
      job.taps[residue] = taps_[i + residue].view();
    job.columns = written_shape_.size[3];
    job.out_row_step = rows.out_step * job.columns;
    job.rows = written.size();
    made.in_offset =
        staged_.first_column() + written.begin * job.in_row_step - first_read * staged_.row_step();
    made.out_offset = rows.out_start * job.columns + written.begin * job.out_row_step;
    jobs.push_back(made);
  }
  return jobs;
}

// `plane`, `bias` and `written` are the channel's, `filter` its taps.
void PlanePlan::compute(const float* plane, const float* filter, const float* bias, const PlaneBand& band,
                        float* staged, float* written) const {
  staged_.stage(plane_kernels_, plane, band.read, staged);
  for (const BandJob& made : band.jobs) {
    PlaneJob job = made.job;
    job.in = staged + made.in_offset;
    job.filter = filter;
    job.out = written + made.out_offset;
    plane_kernels_.correlate(job);
    // The rows of forward follow each other.
    finish_rows(problem_.epilogue, bias, job.out, 0, 1, job.rows * job.columns);
  }
}

void PlanePlan::run(const ConvArgs& args, Queue&) {
  const auto* read = static_cast<const float*>(forward_ ? args.input : args.output);
  const auto* filter = static_cast<const float*>(args.filter);
  auto* written = static_cast<float*>(forward_ ? args.output : args.input);
  const int64_t tasks = problem_.batch * problem_.groups * static_cast<int64_t>(bands_.size());
  const int64_t at_once = std::max<int64_t>(1, tasks / (2 * kTasksPerThread * options_.threads));
#pragma omp parallel num_threads(options_.threads)
  {
    float* staged = static_cast<float*>(args.workspace) + omp_get_thread_num() * thread_floats_;
    std::fill(staged, staged + thread_floats_, 0.0f);
#pragma omp for collapse(3) schedule(dynamic, at_once)
    for (int64_t image = 0; image < problem_.batch; ++image)
      for (int64_t channel = 0; channel < problem_.groups; ++channel)
        for (size_t band = 0; band < bands_.size(); ++band)
          compute(read + read_shape_.offset(image, channel, 0, 0), filter + channel * filter_shape_.stride[0],
                  bias_from(args.bias, channel), bands_[band], staged,
                  written + written_shape_.offset(image, channel, 0, 0));
  }
}

}  // namespace

std::unique_ptr<DirectPlan> make_plane_plan(const ConvProblem& problem, const Kernels& kernels,
                                            const PlanOptions& options) {
  return std::make_unique<PlanePlan>(problem, kernels, options);
}

}  // namespace convscope::direct
