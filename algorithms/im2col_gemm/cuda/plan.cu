// See plan.hpp. Only host code that launches; what the chunks are is in device_chunks.hpp. Start at
// ColumnPlan::run.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "algorithms/common/rounding.hpp"
#include "algorithms/common/sum_levels.hpp"
#include "algorithms/im2col_gemm/cuda/columns.hpp"
#include "algorithms/im2col_gemm/cuda/plan.hpp"
#include "bench/device/kernel/kernel.hpp"

namespace convscope::CONVSCOPE_KERNELS {
namespace {

using namespace im2col_gemm;

// Of one run: more would spend their time on the launches, and fill the queue.
constexpr int64_t kMaxLaunches = 2000;
constexpr int64_t kLargestChunkBytes = int64_t{8} << 30;  // 2^31 elements

// Ours or a library's.
class DeviceGemm {
 public:
  virtual ~DeviceGemm() = default;
  virtual int64_t workspace_bytes(const SgemmProduct&) const { return 0; }
  virtual std::string describe(const SgemmProduct&) const = 0;
  // Executed by multiply(), bytes of partial sums, written once and read once, and those that blocks bring to
  // shared memory.
  virtual OperationCount count(const SgemmProduct&) const = 0;
  virtual int64_t launches(const SgemmProduct&) const = 0;
  virtual SumLevels levels(const SgemmProduct&) const = 0;
  // A library's finishes nothing.
  virtual void multiply(const SgemmProduct&, const SgemmFinish&, float* workspace, Queue&) = 0;
};

// Calls body(part, whether it is the last) for parts of the depth of at most `max_depth`, of which all but
// the first add to C.
template <typename Body>
void in_parts(const SgemmProduct& product, int max_depth, const Body& body) {
  SgemmProduct part = product;
  for (int k = 0; k < product.depth; k += part.depth) {
    part.depth = std::min(max_depth, product.depth - k);
    part.a.data = product.a.data + k * (product.a.op == MatrixOp::none ? 1 : product.a.stride);
    part.b.data = product.b.data + k * (product.b.op == MatrixOp::none ? product.b.stride : 1);
    if (k > 0) part.beta = 1;
    body(part, k + part.depth == product.depth);
  }
}

class OwnGemm final : public DeviceGemm {
 public:
  explicit OwnGemm(int64_t max_bytes) : max_bytes_(max_bytes) {}
  int64_t workspace_bytes(const SgemmProduct& product) const override {
    return partial_bytes(product, choose_split(product, max_bytes_));
  }
  std::string describe(const SgemmProduct& product) const override {
    const SgemmSplit split = choose_split(product, max_bytes_);
    return std::to_string(kSgemmRows) + "x" + std::to_string(split.columns) + " tiles" +
           (split.splits > 1 ? ", depth in " + std::to_string(split.splits) + " parts" : "");
  }
  OperationCount count(const SgemmProduct& product) const override {
    OperationCount all;
    for_each_part(product, [&](const SgemmProduct& part, const SgemmSplit& split, bool) {
      all.product_flops += executed_flops(part, split);
      all.cached_bytes += staged_bytes(part, split);
      all.bytes += 2 * static_cast<double>(partial_bytes(part, split));
    });
    return all;
  }
  int64_t launches(const SgemmProduct& product) const override {
    const SgemmSplit split = choose_split(product, max_bytes_);
    const int depth = std::min(split.split_depth, kMaxSgemmSum);
    return ceil_div(product.depth, depth * split.splits) * (split.splits > 1 ? 2 : 1);
  }
  // Splits are added to C one after the other, in every part.
  SumLevels levels(const SgemmProduct& product) const override {
    const int depth = std::min({choose_split(product, max_bytes_).split_depth, product.depth, kMaxSgemmSum});
    return in_chains(product.depth, depth);
  }
  void multiply(const SgemmProduct& product, const SgemmFinish& finish, float* workspace,
                Queue& queue) override {
    for_each_part(product, [&](const SgemmProduct& part, const SgemmSplit& split, bool last) {
      sgemm(part, split, workspace, queue, last ? finish : SgemmFinish{});
    });
  }

 private:
  // Calls body(part, its tiles and splits, whether it is the last) for parts of the depth whose splits are
  // short enough.
  template <typename Body>
  void for_each_part(const SgemmProduct& product, const Body& body) const {
    const SgemmSplit split = choose_split(product, max_bytes_);
    const int depth = std::min(split.split_depth, kMaxSgemmSum);
    in_parts(product, depth * split.splits, [&](const SgemmProduct& part, bool last) {
      body(part, SgemmSplit{split.columns, narrow(ceil_div(part.depth, depth)), depth}, last);
    });
  }

  int64_t max_bytes_;
};

class LibraryGemm final : public DeviceGemm {
 public:
  explicit LibraryGemm(Device& device) : blas_(make_blas(device)) {}
  std::string describe(const SgemmProduct&) const override { return "sgemm"; }
  // What a library executes beyond the product itself is not known.
  OperationCount count(const SgemmProduct& product) const override {
    const double elements = static_cast<double>(product.rows) * product.columns;
    return {2 * elements * product.depth * product.batch};
  }
  int64_t launches(const SgemmProduct& product) const override { return ceil_div(product.depth, kMaxDepth); }
  // A library does not say how it sums: at worst each part in one chain.
  SumLevels levels(const SgemmProduct& product) const override { return in_chains(product.depth, kMaxDepth); }
  void multiply(const SgemmProduct& product, const SgemmFinish&, float*, Queue& queue) override {
    in_parts(product, kMaxDepth, [&](const SgemmProduct& part, bool) { blas_->multiply(part, queue); });
  }

 private:
  static constexpr int kMaxDepth = 65536;
  std::unique_ptr<Blas> blas_;
};

class ColumnPlan final : public Plan {
 public:
  ColumnPlan(const ConvProblem& problem, DeviceChunks chunks, std::unique_ptr<DeviceGemm> gemm)
      : p_(problem), chunks_(std::move(chunks)), gemm_(std::move(gemm)) {
    for (const Chunk& chunk : chunks_.list) {
      const size_t index = size_of(chunk);
      if (index == sizes_.size()) {
        sizes_.push_back({chunk.images, chunk.rows, 0, product_of(p_, chunks_, chunk)});
        gemm_bytes_ = std::max(gemm_bytes_, gemm_->workspace_bytes(sizes_.back().products.product));
      }
      ++sizes_[index].chunks;
    }
  }

  int64_t workspace_bytes() const override {
    return chunks_.floats() * static_cast<int64_t>(sizeof(float)) + gemm_bytes_;
  }
  std::string implementation() const override {
    const Chunk& chunk = chunks_.list.front();
    const int64_t pixels = chunk.images * chunk.rows * p_.output().w;
    return gemm_->describe(products(chunk).product) + ", " + std::to_string(chunks_.list.size()) + " x " +
           std::to_string(pixels) + " pixels";
  }
  std::optional<OperationCount> operations() const override;
  double longest_sum() const override;
  // Of a run.
  int64_t launches() const;
  void run(const ConvArgs& args, Queue& queue) override;

 private:
  // The parts of the workspace in their order.
  float* columns(const ConvArgs& args) const { return static_cast<float*>(args.workspace); }
  float* gathered(const ConvArgs& args) const { return columns(args) + chunks_.column_floats; }
  float* sums(const ConvArgs& args) const { return gathered(args) + chunks_.gathered_floats; }
  float* partials(const ConvArgs& args) const { return sums(args) + chunks_.sum_floats; }

  // The tensors from the chunk on.
  float* input(const ConvArgs& args, const Chunk& chunk) const {
    return static_cast<float*>(args.input) + chunk.image * p_.shape(Role::input).stride[0];
  }
  float* output(const ConvArgs& args, const Chunk& chunk) const {
    return static_cast<float*>(args.output) + p_.shape(Role::output).offset(chunk.image, 0, chunk.row, 0);
  }

  // Chunks of one size have one product. There are few sizes: whole chunks, and what is left at the ends.
  struct Size {
    int64_t images, rows, chunks;
    ChunkProduct products;
  };
  // Where the chunk's size is, or would be, in sizes_.
  size_t size_of(const Chunk& chunk) const {
    const auto found = std::ranges::find_if(
        sizes_, [&](const Size& size) { return size.images == chunk.images && size.rows == chunk.rows; });
    return static_cast<size_t>(found - sizes_.begin());
  }
  const ChunkProduct& products(const Chunk& chunk) const { return sizes_[size_of(chunk)].products; }

  float* matrix(MatrixRole role, const ConvArgs& args, const Chunk& chunk) const;
  void read_input(const ConvArgs& args, const Chunk& chunk, Queue& queue) const;
  void read_output(const ConvArgs& args, const Chunk& chunk, Queue& queue) const;
  void multiply(const ConvArgs& args, const Chunk& chunk, bool accumulate, Queue& queue) const;
  void write_input(const ConvArgs& args, const Chunk& chunk, Queue& queue) const;
  void write_output(const ConvArgs& args, const Chunk& chunk, Queue& queue) const;
  void write_filter(const ConvArgs& args, Queue& queue) const;

  const ConvProblem p_;
  const DeviceChunks chunks_;
  const std::unique_ptr<DeviceGemm> gemm_;
  std::vector<Size> sizes_;
  int64_t gemm_bytes_ = 0;
};

float* ColumnPlan::matrix(MatrixRole role, const ConvArgs& args, const Chunk& chunk) const {
  switch (role) {
    case MatrixRole::filter:
      return chunks_.sum_floats > 0 ? sums(args) : static_cast<float*>(args.filter);
    case MatrixRole::columns:
      return chunks_.builds_columns ? columns(args) : input(args, chunk);
    case MatrixRole::output:
      break;
  }
  return chunks_.gathers_output ? gathered(args) : output(args, chunk);
}

void ColumnPlan::read_input(const ConvArgs& args, const Chunk& chunk, Queue& queue) const {
  if (!chunks_.builds_columns) return;
  queue.phase(Phase::transform);
  im2col(column_map(p_, chunks_, chunk), input(args, chunk), columns(args), queue);
}

void ColumnPlan::read_output(const ConvArgs& args, const Chunk& chunk, Queue& queue) const {
  if (!chunks_.gathers_output) return;
  queue.phase(Phase::transform);
  copy_planes(gather_map(p_, chunks_, chunk), output(args, chunk), gathered(args), queue);
}

void ColumnPlan::multiply(const ConvArgs& args, const Chunk& chunk, bool accumulate, Queue& queue) const {
  ChunkProduct all = products(chunk);
  SgemmProduct& product = all.product;
  product.a.data = matrix(all.roles[0], args, chunk);
  product.b.data = matrix(all.roles[1], args, chunk);
  product.c.data = matrix(all.roles[2], args, chunk);
  product.beta = accumulate ? 1.0f : 0.0f;
  const auto group = static_cast<int>(p_.out_channels_per_group());
  SgemmFinish finish{p_.epilogue, args.bias, p_.layout == Layout::nhwc, all.batch_of_groups ? group : 0};
  queue.phase(Phase::product);
  for (int i = 0; i < all.repeats; ++i) {
    gemm_->multiply(product, finish, partials(args), queue);
    if (finish.bias != nullptr) finish.bias += group;
    product.a.data += all.step[0];
    product.b.data += all.step[1];
    product.c.data += all.step[2];
  }
}

void ColumnPlan::write_input(const ConvArgs& args, const Chunk& chunk, Queue& queue) const {
  if (!chunks_.builds_columns) return;
  queue.phase(Phase::inverse);
  col2im(column_map(p_, chunks_, chunk), columns(args), input(args, chunk), queue);
}

void ColumnPlan::write_output(const ConvArgs& args, const Chunk& chunk, Queue& queue) const {
  if (!chunks_.gathers_output) return;
  queue.phase(Phase::inverse);
  copy_planes(scatter_map(p_, chunks_, chunk), gathered(args), output(args, chunk), queue);
}

// The gradients of all images of a chunk, to which every chunk has added.
void ColumnPlan::write_filter(const ConvArgs& args, Queue& queue) const {
  if (chunks_.sum_floats == 0) return;
  SgemmProduct target;
  target.rows = static_cast<int>(p_.out_channels);
  target.columns = static_cast<int>(column_elements(p_));
  target.c = {static_cast<float*>(args.filter), target.columns};
  target.beta = 0;
  queue.phase(Phase::inverse);
  add_partials(target, sums(args), static_cast<int>(chunks_.list.front().images), queue);
}

std::optional<OperationCount> ColumnPlan::operations() const {
  OperationCount all{0, 0, bytes_moved(p_, chunks_)};
  for (const Size& size : sizes_) {
    const auto times = static_cast<double>(size.chunks * size.products.repeats);
    const OperationCount one = gemm_->count(size.products.product);
    all.product_flops += times * one.product_flops;
    all.bytes += times * one.bytes;
    all.cached_bytes += times * one.cached_bytes;
  }
  return all;
}

// In backward-filter chunks, and images at the end, add to the same elements; in backward-data the taps of a
// column.
double ColumnPlan::longest_sum() const {
  SumLevels all;
  for (const Size& size : sizes_) {
    const SumLevels one = gemm_->levels(size.products.product);
    const bool adds = p_.pass == Pass::backward_filter;
    all = {std::max(all.first, one.first),
           adds ? all.second + size.chunks * one.second : std::max(all.second, one.second)};
  }
  if (p_.pass == Pass::backward_data && chunks_.builds_columns)
    all.second += ceil_div(p_.filter.h, p_.stride.h) * ceil_div(p_.filter.w, p_.stride.w);
  if (chunks_.sum_floats > 0) all.second += chunks_.list.front().images;
  return all.longest();
}

int64_t ColumnPlan::launches() const {
  int64_t count = chunks_.sum_floats > 0 ? 1 : 0;
  for (const Size& size : sizes_)
    count += size.chunks * (size.products.repeats * gemm_->launches(size.products.product) +
                            (chunks_.builds_columns ? 1 : 0) + (chunks_.gathers_output ? 1 : 0));
  return count;
}

void ColumnPlan::run(const ConvArgs& args, Queue& queue) {
  for (size_t i = 0; i < chunks_.list.size(); ++i) {
    const Chunk& chunk = chunks_.list[i];
    if (p_.pass != Pass::backward_data) read_input(args, chunk, queue);
    if (p_.pass != Pass::forward) read_output(args, chunk, queue);
    multiply(args, chunk, p_.pass == Pass::backward_filter && i > 0, queue);
    if (p_.pass == Pass::forward) write_output(args, chunk, queue);
    if (p_.pass == Pass::backward_data) write_input(args, chunk, queue);
  }
  write_filter(args, queue);
  queue.end_phase();
}

// Chunks that stay in the L2, or larger ones where the launches would be too many. Where `cap` does not allow
// those it refuses; where no size suffices the chunks stay small. `make_gemm` is given the bytes that are
// left.
template <typename MakeGemm>
std::unique_ptr<Plan> make_plan(const ConvProblem& problem, int64_t cap, const MakeGemm& make_gemm) {
  const auto plan_in = [&](int64_t bytes) {
    DeviceChunks chunks = cut_for_device(problem, bytes);
    const int64_t left = std::max(cap, bytes) - chunks.floats() * static_cast<int64_t>(sizeof(float));
    return std::make_unique<ColumnPlan>(problem, std::move(chunks), make_gemm(std::max<int64_t>(left, 0)));
  };
  const int64_t first = std::clamp<int64_t>(cap, 1, kResidentBytes);
  auto smallest = plan_in(first);
  if (smallest->launches() <= kMaxLaunches) return smallest;
  for (int64_t bytes = std::max(first, smallest->workspace_bytes()); bytes < kLargestChunkBytes;) {
    bytes = bytes < cap ? std::min(2 * bytes, cap) : 2 * bytes;
    auto plan = plan_in(bytes);
    if (plan->launches() > kMaxLaunches) continue;
    if (bytes <= cap) return plan;
    throw Refused(Reason::workspace_over_cap,
                  "under the cap a run takes " + std::to_string(smallest->launches()) +
                      " launches, more than " + std::to_string(kMaxLaunches) + "; " +
                      std::to_string(plan->workspace_bytes()) + " bytes of workspace are enough");
  }
  return smallest;
}

}  // namespace

std::unique_ptr<Plan> make_own_sgemm_plan(const ConvProblem& problem, Device&, const PlanOptions& options) {
  return make_plan(problem, options.workspace_cap,
                   [](int64_t left) { return std::make_unique<OwnGemm>(std::min(left, kPartialBytes)); });
}

std::unique_ptr<Plan> make_library_sgemm_plan(const ConvProblem& problem, Device& device,
                                              const PlanOptions& options) {
  return make_plan(problem, options.workspace_cap,
                   [&](int64_t) { return std::make_unique<LibraryGemm>(device); });
}

}  // namespace convscope::CONVSCOPE_KERNELS
