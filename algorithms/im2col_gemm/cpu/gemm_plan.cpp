// See gemm_plan.hpp.
#include "algorithms/im2col_gemm/cpu/gemm_plan.hpp"

#include <omp.h>

#include <algorithm>
#include <cmath>

#include "algorithms/common/rounding.hpp"
#include "bench/algorithm/epilogue.hpp"

namespace convscope::im2col_gemm {
namespace {

constexpr int64_t kLineBytes = 64;
// GEMMs of fewer operations are faster on one thread each than shared by all threads.
constexpr double kLargeGemm = 5e7;
// So are larger ones with a filter of at most so many bytes, if chunks can be shared nearly evenly: each
// thread keeps the filter in its private caches, and reads no columns that another thread wrote.
constexpr int64_t kSmallFilter = 256 << 10;
constexpr double kMinOccupied = 0.9;
// Additions of the longest sum beyond which the chunks of a filter gradient are summed in two levels: their
// predicted_error() is 0.28 of FP32's gate.
constexpr double kLongestInOneLevel = 1e5;
constexpr int64_t kLineFloats = kLineBytes / static_cast<int64_t>(sizeof(float));

// Calls body(range) for [0, count): by all threads, or by the calling one alone.
template <typename Body>
void split(bool by_all, int64_t count, Body body) {
  if (!by_all) return body(Range{0, count});
#pragma omp parallel
  {
    const int64_t thread = omp_get_thread_num(), threads = omp_get_num_threads();
    body(Range{count * thread / threads, count * (thread + 1) / threads});
  }
}

void mark(Queue* queue, Phase phase) {
  if (queue != nullptr) queue->phase(phase);
}

void place(Operand& operand, const float* data, int64_t stride, int64_t image_step = 0) {
  operand.data = data;
  operand.stride = stride;
  operand.image_step = image_step;
}

int64_t pixels(const ConvProblem& p, const Chunk& chunk) {
  return chunk.images * chunk.rows * p.output().w;
}

}  // namespace

GemmPlan::GemmPlan(const ConvProblem& problem, const Gemm& gemm, const PlanOptions& options)
    : problem_(as_fully_connected(problem)),
      gemm_(gemm),
      movement_(problem_),
      threads_(options.threads),
      scratch_bytes_(gemm.scratch_bytes(options.workspace_cap / options.threads / 4)),
      cutting_(cut_chunks(options.workspace_cap, 0)) {
  if (problem_.pass != Pass::backward_filter || longest_sum() <= kLongestInOneLevel) return;
  const Cutting one_level = cutting_;
  cutting_ = cut_chunks(options.workspace_cap, round_up(filter_elements(), kLineFloats));
  const auto chunks = static_cast<double>(cutting_.chunks.list.size());
  cutting_.chunks_per_subtotal = static_cast<int64_t>(std::ceil(std::sqrt(chunks)));
  if (workspace_bytes() > options.workspace_cap) cutting_ = one_level;
}

GemmPlan::Cutting GemmPlan::cut_chunks(int64_t workspace_cap, int64_t subtotal_elements) const {
  // Gathered outputs take their part of the cap, and so does rounding to whole lines.
  const int64_t column = column_elements(problem_);
  const auto cut_for = [&](int64_t workers) {
    const int64_t left = workspace_cap - threads_ * scratch_bytes_;
    const int64_t subtotal = subtotal_elements * static_cast<int64_t>(sizeof(float));
    const int64_t cap = std::max<int64_t>(0, left / workers - kLineBytes - subtotal);
    const int64_t bytes =
        std::min(kColumnBytes / workers, cap / (column + problem_.out_channels_per_group()) * column);
    Cutting cutting{cut(problem_, bytes, gemm_.takes_images()), workers > 1, subtotal_elements, 0};
    Chunks& chunks = cutting.chunks;
    if (problem_.pass == Pass::forward && problem_.layout == Layout::nchw && chunks.builds_columns &&
        chunks.list.front().images > 1 && chunks.pixels <= gemm_.max_columns_together())
      chunks.gathers_output = true;
    cutting.chunks_per_subtotal = static_cast<int64_t>(chunks.list.size());
    return cutting;
  };
  Cutting shared = cut_for(1);
  const auto series = [&](const Cutting& cutting) {
    return problem_.groups * static_cast<int64_t>(cutting.chunks.list.size()) / chunks_in_series(cutting);
  };
  const double flops = problem_.nominal_flops() / static_cast<double>(shared.chunks.list.size()) /
                       static_cast<double>(problem_.groups);
  const bool small = flops < kLargeGemm && series(shared) >= threads_;
  const int64_t filter_bytes = filter_elements() * static_cast<int64_t>(sizeof(float));
  if (threads_ == 1 || !(small || (shared.chunks.builds_columns && filter_bytes <= kSmallFilter)))
    return shared;
  Cutting apart = cut_for(threads_);
  const bool even = static_cast<double>(series(apart)) >=
                    kMinOccupied * static_cast<double>(round_up(series(apart), int64_t{threads_}));
  return (small || even) && workspace_bytes(apart) <= workspace_cap ? apart : shared;
}

int64_t GemmPlan::filter_elements() const {
  return column_elements(problem_) * problem_.out_channels_per_group();
}

int64_t GemmPlan::chunks_in_series(const Cutting& cutting) const {
  switch (problem_.pass) {
    case Pass::forward:
      return 1;
    case Pass::backward_data:
      return cutting.chunks.per_image;
    case Pass::backward_filter:
      break;
  }
  return static_cast<int64_t>(cutting.chunks.list.size());
}

int64_t GemmPlan::elements_per_worker(const Cutting& cutting) const {
  const Chunks& chunks = cutting.chunks;
  const int64_t columns = chunks.builds_columns ? column_elements(problem_) * chunks.pixels : 0;
  const int64_t gathered = chunks.gathers_output ? problem_.out_channels_per_group() * chunks.pixels : 0;
  return round_up(columns + gathered, kLineFloats) + cutting.subtotal_elements;
}

int64_t GemmPlan::workspace_bytes(const Cutting& cutting) const {
  return elements_per_worker(cutting) * static_cast<int64_t>(sizeof(float)) *
             (cutting.workers ? threads_ : 1) +
         threads_ * scratch_bytes_;
}

int64_t GemmPlan::workspace_bytes() const {
  return workspace_bytes(cutting_);
}

int64_t GemmPlan::subtotals() const {
  return ceil_div(static_cast<int64_t>(cutting_.chunks.list.size()), cutting_.chunks_per_subtotal);
}

std::optional<OperationCount> GemmPlan::operations() const {
  const ConvProblem& p = problem_;
  OperationCount count;
  for (const Chunk& chunk : cutting_.chunks.list)
    count.product_flops += static_cast<double>(p.groups) *
                           gemm_.executed_flops(product_of(chunk), cutting_.workers ? 1 : threads_);
  const int64_t copied = (cutting_.chunks.builds_columns ? column_elements(p) : 0) +
                         (cutting_.chunks.gathers_output ? p.out_channels_per_group() : 0);
  const int64_t all_pixels = p.batch * p.output().h * p.output().w;
  count.bytes = static_cast<double>(p.total_bytes()) +
                2.0 * sizeof(float) * static_cast<double>(all_pixels * p.groups * copied);
  if (p.pass == Pass::backward_filter)
    count.bytes += 4.0 * static_cast<double>((subtotals() - 1) * p.bytes(Role::filter));
  return count;
}

std::string GemmPlan::implementation() const {
  return "sgemm " + gemm_.name() + ", " + std::to_string(cutting_.chunks.list.size()) + " x " +
         std::to_string(cutting_.chunks.pixels) + " pixels" +
         (cutting_.workers ? ", a chunk per thread" : "");
}

GemmPlan::Work GemmPlan::work(const ConvArgs& args, int64_t worker, Queue* queue) const {
  auto* const workspace = static_cast<float*>(args.workspace);
  auto* const columns = workspace + worker * elements_per_worker(cutting_);
  const int64_t used =
      cutting_.chunks.builds_columns ? column_elements(problem_) * cutting_.chunks.pixels : 0;
  auto* const scratch = workspace + elements_per_worker(cutting_) * (cutting_.workers ? threads_ : 1) +
                        worker * (scratch_bytes_ / static_cast<int64_t>(sizeof(float)));
  return {static_cast<float*>(args.input),
          static_cast<float*>(args.filter),
          static_cast<float*>(args.output),
          columns,
          columns + used,
          columns + elements_per_worker(cutting_) - cutting_.subtotal_elements,
          scratch,
          args.bias,
          queue};
}

void GemmPlan::run(const ConvArgs& args, Queue& queue) {
  const int64_t count =
      static_cast<int64_t>(cutting_.chunks.list.size()) / chunks_in_series(cutting_) * problem_.groups;
  if (cutting_.workers) {
#pragma omp parallel for schedule(dynamic) num_threads(threads_)
    for (int64_t series = 0; series < count; ++series) {
      const int worker = omp_get_thread_num();
      run_series(work(args, worker, worker == 0 && problem_.groups == 1 ? &queue : nullptr), series);
    }
  } else {
    for (int64_t series = 0; series < count; ++series) run_series(work(args, 0, &queue), series);
  }
  queue.end_phase();
}

void GemmPlan::run_series(const Work& work, int64_t series) const {
  const int64_t length = chunks_in_series(cutting_), first = series / problem_.groups * length;
  const int64_t group = series % problem_.groups;
  for (int64_t i = first; i < first + length; ++i) {
    const Chunk& chunk = cutting_.chunks.list[static_cast<size_t>(i)];
    switch (problem_.pass) {
      case Pass::forward:
        forward(work, chunk, group);
        break;
      case Pass::backward_data:
        backward_data(work, chunk, group);
        break;
      case Pass::backward_filter:
        backward_filter(work, i, group);
        break;
    }
  }
}

// The table of README.md. NCHW images that are not gathered are apart.
MatrixProduct GemmPlan::product_of(const Chunk& chunk) const {
  const int64_t width = column_elements(problem_), channels = problem_.out_channels_per_group();
  const int64_t count = pixels(problem_, chunk);
  const bool nchw = problem_.layout == Layout::nchw;
  MatrixProduct product;
  const auto set = [&](int64_t rows, int64_t columns, int64_t depth) {
    product.rows = rows;
    product.columns = columns;
    product.depth = depth;
  };
  switch (problem_.pass) {
    case Pass::forward:
      set(nchw ? channels : count, nchw ? count : channels, width);
      product.b.transposed = !nchw;
      break;
    case Pass::backward_data:
      set(nchw ? width : count, nchw ? count : width, channels);
      product.a.transposed = nchw;
      break;
    case Pass::backward_filter:
      set(channels, width, count);
      product.a.transposed = !nchw;
      product.b.transposed = nchw;
      break;
  }
  if (nchw && chunk.images > 1 && !cutting_.chunks.gathers_output) {
    product.images = problem_.pass == Pass::backward_filter ? Images::in_depth : Images::in_columns;
    product.image_pixels = problem_.output().h * problem_.output().w;
  }
  return product;
}

// In backward-filter the chunks of a subtotal add to the same elements, in backward-data every tap of a
// column.
double GemmPlan::longest_sum() const {
  const bool in_subtotals = problem_.pass == Pass::backward_filter;
  double longest = 0;
  SumLevels sum;
  for (size_t i = 0; i < cutting_.chunks.list.size(); ++i) {
    if (!in_subtotals || static_cast<int64_t>(i) % cutting_.chunks_per_subtotal == 0) sum = {};
    sum = in_series(sum, gemm_.levels(product_of(cutting_.chunks.list[i]), scratch_bytes_));
    longest = std::max(longest, sum.longest());
  }
  if (in_subtotals) longest += static_cast<double>(subtotals() - 1);
  if (problem_.pass == Pass::backward_data && cutting_.chunks.builds_columns)
    longest += static_cast<double>(ceil_div(problem_.filter.h, problem_.stride.h) *
                                   ceil_div(problem_.filter.w, problem_.stride.w));
  return longest;
}

void GemmPlan::forward(const Work& work, const Chunk& chunk, int64_t group) const {
  const int64_t depth = column_elements(problem_), channels = problem_.out_channels_per_group();
  const float* filter = work.filter + group * channels * depth;
  build_columns(work, chunk, group);
  const Matrix columns = columns_of(work, chunk, group), output = output_of(work, chunk, group);
  mark(work.queue, Phase::product);
  MatrixProduct product = product_of(chunk);
  const bool nchw = problem_.layout == Layout::nchw;
  place(nchw ? product.b : product.a, columns.data, columns.stride, columns.image_step);
  place(nchw ? product.a : product.b, filter, depth);
  product.c = output.data;
  product.c_stride = output.stride;
  product.c_image_step = output.image_step;
  multiply(work, product);
  finish(work, product, group);
  if (!cutting_.chunks.gathers_output) return;
  mark(work.queue, Phase::inverse);
  split(!cutting_.workers, channels,
        [&](Range range) { movement_.scatter_output(chunk, group, work.gathered, work.output, range); });
}

void GemmPlan::backward_data(const Work& work, const Chunk& chunk, int64_t group) const {
  const int64_t width = column_elements(problem_), channels = problem_.out_channels_per_group();
  const float* filter = work.filter + group * channels * width;
  gather(work, chunk, group);
  const Matrix columns = columns_of(work, chunk, group), output = output_of(work, chunk, group);
  mark(work.queue, Phase::product);
  MatrixProduct product = product_of(chunk);
  const bool nchw = problem_.layout == Layout::nchw;
  place(nchw ? product.a : product.b, filter, width);
  place(nchw ? product.b : product.a, output.data, output.stride, output.image_step);
  product.c = columns.data;
  product.c_stride = columns.stride;
  product.c_image_step = columns.image_step;
  multiply(work, product);
  if (!cutting_.chunks.builds_columns) return;
  mark(work.queue, Phase::inverse);
  split(!cutting_.workers, movement_.col2im_units(chunk),
        [&](Range range) { movement_.col2im(chunk, group, work.columns, work.input, range); });
}

void GemmPlan::backward_filter(const Work& work, int64_t index, int64_t group) const {
  const Chunk& chunk = cutting_.chunks.list[static_cast<size_t>(index)];
  build_columns(work, chunk, group);
  gather(work, chunk, group);
  const Matrix columns = columns_of(work, chunk, group), output = output_of(work, chunk, group);
  mark(work.queue, Phase::product);
  MatrixProduct product = product_of(chunk);
  place(product.a, output.data, output.stride, output.image_step);
  place(product.b, columns.data, columns.stride, columns.image_step);
  float* const filter = work.filter + group * filter_elements();
  const int64_t per_subtotal = cutting_.chunks_per_subtotal;
  const bool apart = index >= per_subtotal;  // the first subtotal is summed where the total will be
  product.c = apart ? work.subtotal : filter;
  product.c_stride = column_elements(problem_);
  product.accumulate = index % per_subtotal != 0;
  multiply(work, product);
  const int64_t next = index + 1;
  const bool last = next % per_subtotal == 0 || next == static_cast<int64_t>(cutting_.chunks.list.size());
  if (!apart || !last) return;
  mark(work.queue, Phase::inverse);
  split(!cutting_.workers, filter_elements(), [&](Range range) {
    for (int64_t i = range.begin; i < range.end; ++i) filter[i] += work.subtotal[i];
  });
}

void GemmPlan::multiply(const Work& work, const MatrixProduct& product) const {
  gemm_.multiply(product, threads_, work.scratch, scratch_bytes_);
}

void GemmPlan::finish(const Work& work, const MatrixProduct& product, int64_t group) const {
  const Epilogue epilogue = problem_.epilogue;
  if (epilogue == Epilogue::none) return;
  const float* const bias = bias_from(work.bias, group * problem_.out_channels_per_group());
  mark(work.queue, Phase::inverse);
  split(!cutting_.workers, product.rows, [&](Range rows) {
    float* const first = product.c + rows.begin * product.c_stride;
    if (problem_.layout == Layout::nhwc)
      return finish_columns(epilogue, bias, first, product.c_stride, rows.count(), product.columns);
    const bool apart = product.images == Images::in_columns;
    const int64_t pixels = apart ? product.image_pixels : product.columns;
    for (int64_t image = 0; image < product.columns / pixels; ++image)
      finish_rows(epilogue, bias_from(bias, rows.begin), first + image * product.c_image_step,
                  product.c_stride, rows.count(), pixels);
  });
}

void GemmPlan::build_columns(const Work& work, const Chunk& chunk, int64_t group) const {
  if (!cutting_.chunks.builds_columns) return;
  mark(work.queue, Phase::transform);
  split(!cutting_.workers, movement_.im2col_units(chunk),
        [&](Range range) { movement_.im2col(chunk, group, work.input, work.columns, range); });
}

void GemmPlan::gather(const Work& work, const Chunk& chunk, int64_t group) const {
  if (!cutting_.chunks.gathers_output) return;
  mark(work.queue, Phase::transform);
  split(!cutting_.workers, problem_.out_channels_per_group(),
        [&](Range range) { movement_.gather_output(chunk, group, work.output, work.gathered, range); });
}

GemmPlan::Matrix GemmPlan::columns_of(const Work& work, const Chunk& chunk, int64_t group) const {
  const bool nchw = problem_.layout == Layout::nchw;
  if (cutting_.chunks.builds_columns)
    return {work.columns, nchw ? pixels(problem_, chunk) : column_elements(problem_),
            chunk.rows * problem_.output().w};
  const TensorShape x = problem_.shape(Role::input);
  return {work.input + x.offset(chunk.image, group * problem_.in_channels_per_group(), chunk.row, 0),
          nchw ? x.stride[1] : x.stride[3], x.stride[0]};
}

GemmPlan::Matrix GemmPlan::output_of(const Work& work, const Chunk& chunk, int64_t group) const {
  if (cutting_.chunks.gathers_output)
    return {work.gathered, pixels(problem_, chunk), chunk.rows * problem_.output().w};
  const TensorShape y = problem_.shape(Role::output);
  return {work.output + y.offset(chunk.image, group * problem_.out_channels_per_group(), chunk.row, 0),
          problem_.layout == Layout::nchw ? y.stride[1] : y.stride[3], y.stride[0]};
}

}  // namespace convscope::im2col_gemm
