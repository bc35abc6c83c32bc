#include "algorithms/implicit_gemm/cuda/hopper_plan.hpp"

#include <algorithm>
#include <utility>
#include <variant>

#include "bench/algorithm/predicted_error.hpp"
#include "bench/core/rounding.hpp"

namespace convscope::implicit_gemm {
namespace {

std::string describe(const HopperTile& tile, const PixelBoxes& pixels) {
  const auto text = [](int number) { return std::to_string(number); };
  const std::string tiles = text(tile.rows) + "x" + text(tile.columns) + " tiles, ";
  if (pixels.run > 0) return tiles + "runs of " + text(pixels.run) + " pixels";
  const Box& box = pixels.box;
  return tiles + "boxes of " + text(box.width) + "x" + text(box.height) + " pixels of " + text(box.images) +
         (box.images == 1 ? " image" : " images");
}

// A tensor as TMA reads it: as it lies, or repacked to `to`.
const void* repacked(const std::optional<Relayout>& relayout, const void* from, void* to, Phase phase,
                     DeviceKind device, Queue& queue) {
  if (!relayout) return from;
  queue.phase(phase);
  if (const auto* lines = std::get_if<LinePack>(&*relayout))
    CONVSCOPE_BUILDS(implicit_gemm_pack_lines).of(device)(*lines, from, to, queue);
  else
    CONVSCOPE_BUILDS(implicit_gemm_repack).of(device)(std::get<Repack>(*relayout), from, to, queue);
  return to;
}

// "repacked" and how.
std::string describe(const Relayout& relayout) {
  return std::holds_alternative<LinePack>(relayout) ? "repacked, taps of a line joined" : "repacked";
}

// Loads whose products go to one accumulator (hopper_ring.hpp).
int loads_of_sum(const BoxedGradient& product) {
  return product.tile.columns == 64 ? std::min(product.loads_of_split, kLoadsOfSum) : product.loads_of_split;
}

}  // namespace

HopperPlan::HopperPlan(const ConvProblem& problem, HopperWork work, DeviceKind device)
    : problem_(problem), work_(std::move(work)), device_(device) {}

int64_t HopperPlan::workspace_bytes() const {
  return implicit_gemm::workspace_bytes(work_.filter) + implicit_gemm::workspace_bytes(work_.image);
}

std::string HopperPlan::implementation() const {
  std::string text;
  if (work_.image) text += describe(*work_.image) + ", ";
  if (work_.products.size() > 1) text += std::to_string(work_.products.size()) + " residues of the stride, ";
  return text + describe(work_.products.front().tile, work_.products.front());
}

std::optional<OperationCount> HopperPlan::operations() const {
  const int64_t step = kWgmmaDepthBytes / bytes_per_element(storage_type(problem_.math));
  const int64_t line = kTmaLineBytes / bytes_per_element(storage_type(problem_.math));
  OperationCount count;
  count.bytes =
      static_cast<double>(problem_.total_bytes()) + moved_bytes(work_.image) + moved_bytes(work_.filter);
  for (const BoxedProduct& product : work_.products) {
    const int64_t taps = int64_t{product.taps_down} * product.taps_across;
    const auto blocks = static_cast<double>(loads(product) * ceil_div(product.columns, product.tile.columns) *
                                            product.groups);
    count.product_flops += 2.0 * blocks * product.tile.rows * product.tile.columns *
                           static_cast<double>(taps * round_up(product.channels, step));
    count.cached_bytes += blocks * (product.pixels() + product.tile.columns) * kTmaLineBytes *
                          static_cast<double>(taps * ceil_div(product.channels, line));
  }
  return count;
}

// All in one accumulator, an addition for each wgmma.
double HopperPlan::truncation_error() const {
  int64_t longest = 0;
  for (const BoxedProduct& product : work_.products) {
    const int64_t step = kWgmmaDepthBytes / bytes_per_element(storage_type(product.math));
    const int64_t steps = round_up(product.channels, step) / step;
    longest = std::max(longest, product.taps_down * product.taps_across * steps);
  }
  return kTruncationOfWgmma * static_cast<double>(longest);
}

bool HopperPlan::has_prepare() const {
  return work_.filter.has_value();
}

void HopperPlan::prepare(const ConvArgs& args, Queue& queue) {
  if (!work_.filter) return;
  repacked(work_.filter, args.filter, args.workspace, Phase::prepare, device_, queue);
  queue.end_phase();
}

void HopperPlan::run(const ConvArgs& args, Queue& queue) {
  const bool forward = problem_.pass == Pass::forward;
  // Of the workspace, behind the filter.
  auto* const image =
      static_cast<unsigned char*>(args.workspace) + implicit_gemm::workspace_bytes(work_.filter);
  const Tensors tensors{
      repacked(work_.image, forward ? args.input : args.output, image, Phase::layout, device_, queue),
      work_.filter ? args.workspace : args.filter, forward ? args.output : args.input, nullptr, args.bias};
  queue.phase(Phase::product);
  for (const BoxedProduct& product : work_.products)
    CONVSCOPE_BUILDS(implicit_gemm_hopper).of(device_)(product, tensors, queue);
  queue.end_phase();
}

HopperFilterPlan::HopperFilterPlan(const ConvProblem& problem, GradientWork work, DeviceKind device)
    : problem_(problem), work_(work), map_(index_maps(problem).front()), device_(device) {}

int64_t HopperFilterPlan::workspace_bytes() const {
  return implicit_gemm::workspace_bytes(work_.input) + implicit_gemm::workspace_bytes(work_.output) +
         partial_bytes(work_.product);
}

std::string HopperFilterPlan::implementation() const {
  std::string text = describe(work_.product.tile, work_.product);
  if (work_.output) text = "gradient " + describe(*work_.output) + ", " + text;
  if (work_.input) text = "input " + describe(*work_.input) + ", " + text;
  if (work_.product.splits > 1) text += ", depth in " + std::to_string(work_.product.splits) + " parts";
  return text;
}

std::optional<OperationCount> HopperFilterPlan::operations() const {
  const BoxedGradient& product = work_.product;
  OperationCount count;
  count.bytes = static_cast<double>(problem_.total_bytes()) + moved_bytes(work_.input) +
                moved_bytes(work_.output) + 2.0 * static_cast<double>(partial_bytes(product));
  const auto depth = static_cast<double>(int64_t{product.all_loads} * steps(product.pixels()) * kWgmmaPixels);
  const auto blocks = static_cast<double>(tiles(product));
  count.product_flops = 2.0 * blocks * product.tile.rows * product.tile.columns * depth;
  // A load has 128 bytes of each 64 rows and columns for a pixel.
  count.cached_bytes = blocks * product.all_loads * product.pixels() *
                       (product.tile.rows + product.tile.columns) / 64 * kTmaLineBytes;
  return count;
}

double HopperFilterPlan::longest_sum() const {
  const int loads = loads_of_sum(work_.product);
  return static_cast<double>(ceil_div(work_.product.loads_of_split, loads) + work_.product.splits);
}

double HopperFilterPlan::truncation_error() const {
  return kTruncationOfWgmma * loads_of_sum(work_.product) * steps(work_.product.pixels());
}

void HopperFilterPlan::run(const ConvArgs& args, Queue& queue) {
  auto* const input = static_cast<unsigned char*>(args.workspace);
  unsigned char* const output = input + implicit_gemm::workspace_bytes(work_.input);
  unsigned char* const partials = output + implicit_gemm::workspace_bytes(work_.output);
  const bool split = work_.product.splits > 1;
  const Tensors tensors{repacked(work_.output, args.output, output, Phase::layout, device_, queue),
                        repacked(work_.input, args.input, input, Phase::layout, device_, queue), args.filter,
                        split ? reinterpret_cast<float*>(partials) : nullptr};
  queue.phase(Phase::product);
  CONVSCOPE_BUILDS(implicit_gemm_hopper_filter).of(device_)(work_.product, tensors, queue);
  if (split) {
    queue.phase(Phase::inverse);
    CONVSCOPE_BUILDS(implicit_gemm_add_partials)
        .of(device_)({map_, {{}, work_.product.splits}, problem_.math}, tensors, queue);
  }
  queue.end_phase();
}

}  // namespace convscope::implicit_gemm
