#include "algorithms/implicit_gemm/cuda/gemm_plan.hpp"

#include <algorithm>
#include <utility>

#include "bench/algorithm/predicted_error.hpp"
#include "bench/core/rounding.hpp"

namespace convscope::implicit_gemm {
namespace {

// Neighbouring depths are neighbouring channels in all three tensors' words.
bool pairs_channels(const ConvProblem& p) {
  return storage_type(p.math) != DataType::f32 && p.pass == Pass::forward && p.layout == Layout::nhwc &&
         p.in_channels_per_group() % 2 == 0;
}

// Additions that follow one another: of FP32, and those of a tensor core.
struct Chains {
  int64_t additions = 0, truncations = 0;
};

// 16-bit elements that are widened one by one to what tf32 takes.
bool is_widened(const Product& product) {
  return storage_type(product.math) != DataType::f32 && !product.paired;
}

// Of the sums that a block makes in one launch, as simt.cu and tensor.cu make them. An mma.sync adds four
// depths of tf32 at a time, or of pairs.
Chains chains(const Product& product) {
  const int depth = product.math == MathMode::fp32 ? kSimtDepth : kTensorDepth;
  const int64_t part = part_depth(product.map, product.tiling.splits, depth);
  const int64_t piece =
      storage_type(product.math) == DataType::f32 ? std::min<int64_t>(part, kLongestSum) : part;
  if (product.math == MathMode::fp32) return {piece, 0};
  if (product.math == MathMode::tf32x3) return {piece / kTensorDepth, 3 * kTensorDepth / 4};
  return is_widened(product) ? Chains{piece / 8, 2} : Chains{0, piece / 4};
}

// The tiles that a kernel exists for in the math and layout of a problem.
std::span<const Tile> tiles_for(const ConvProblem& problem) {
  if (problem.math == MathMode::fp32) return kSimtTiles;
  if (storage_type(problem.math) == DataType::f32) return kTensorTiles;
  if (pairs_channels(problem)) return kPairedTiles;
  return kWidenedTiles;
}

}  // namespace

std::vector<Product> products(const ConvProblem& problem, int64_t workspace_bytes) {
  const bool paired = pairs_channels(problem);
  const Machine& machine = problem.math == MathMode::fp32 ? kSimtMachine : kTensorMachine;
  ConvProblem words = problem;
  if (paired) words.in_channels /= 2;
  std::vector<Product> all;
  for (const IndexMap& map : index_maps(words))
    all.push_back({map, choose_split(map, tiles_for(problem), machine, workspace_bytes), problem.math, paired,
                   problem.epilogue});
  return all;
}

GemmPlan::GemmPlan(const ConvProblem& problem, std::vector<Product> products, DeviceKind device)
    : problem_(problem), products_(std::move(products)), device_(device) {}

int64_t GemmPlan::workspace_bytes() const {
  int64_t elements = 0;
  for (const Product& product : products_)
    elements = std::max(elements, partial_elements(product.map, product.tiling.splits));
  return elements * static_cast<int64_t>(sizeof(float));
}

std::optional<OperationCount> GemmPlan::operations() const {
  const int depth = problem_.math == MathMode::fp32 ? kSimtDepth : kTensorDepth;
  OperationCount count;
  count.bytes = static_cast<double>(problem_.total_bytes());
  for (const Product& product : products_) {
    const IndexMap& map = product.map;
    const Tile& tile = product.tiling.tile;
    // Multiplications per pair of elements in shared memory.
    const int times = product.paired ? 2 : product.math == MathMode::tf32x3 ? 3 : 1;
    const auto blocks =
        static_cast<double>(ceil_div(map.rows, tile.rows) * ceil_div(map.columns, tile.columns) * map.groups);
    const double steps = blocks * static_cast<double>(round_up(map.depth, depth));
    count.product_flops += 2.0 * times * steps * tile.rows * tile.columns;
    count.cached_bytes += steps * (tile.rows + tile.columns) * (is_widened(product) ? 2 : 4);
    count.bytes += 2.0 * sizeof(float) * static_cast<double>(partial_elements(map, product.tiling.splits));
  }
  return count;
}

std::string GemmPlan::implementation() const {
  std::vector<std::string> splits;
  for (const Product& product : products_) {
    std::string split = describe(product.tiling);
    if (std::find(splits.begin(), splits.end(), split) == splits.end()) splits.push_back(std::move(split));
  }
  std::string text;
  for (const std::string& split : splits) text += (text.empty() ? "" : "; ") + split;
  return products_.size() > 1 ? std::to_string(products_.size()) + " residues of the stride: " + text : text;
}

// Pieces are added to D, or to the partial sums, and those in their order.
double GemmPlan::longest_sum() const {
  int64_t longest = 0;
  for (const Product& product : products_) {
    const int depth = product.math == MathMode::fp32 ? kSimtDepth : kTensorDepth;
    const int splits = product.tiling.splits;
    longest = std::max(longest, chains(product).additions + pieces(product.map, splits, depth) + splits);
  }
  return static_cast<double>(longest);
}

double GemmPlan::truncation_error() const {
  int64_t longest = 0;
  for (const Product& product : products_) longest = std::max(longest, chains(product).truncations);
  return kTruncationOfMma * static_cast<double>(longest);
}

void GemmPlan::run(const ConvArgs& args, Queue& queue) {
  Tensors tensors{args.input, args.filter, args.output, nullptr, args.bias};
  if (problem_.pass == Pass::backward_data) tensors = {args.output, args.filter, args.input};
  if (problem_.pass == Pass::backward_filter) tensors = {args.input, args.output, args.filter};
  const auto multiply = problem_.math == MathMode::fp32 ? CONVSCOPE_BUILDS(implicit_gemm_simt).of(device_)
                                                        : CONVSCOPE_BUILDS(implicit_gemm_tensor).of(device_);
  for (const Product& product : products_) {
    const bool split = product.tiling.splits > 1;
    tensors.partials = split ? static_cast<float*>(args.workspace) : nullptr;
    queue.phase(Phase::product);
    multiply(product, tensors, queue);
    if (!split) continue;
    queue.phase(Phase::inverse);
    CONVSCOPE_BUILDS(implicit_gemm_add_partials).of(device_)(product, tensors, queue);
  }
  queue.end_phase();
}

}  // namespace convscope::implicit_gemm
