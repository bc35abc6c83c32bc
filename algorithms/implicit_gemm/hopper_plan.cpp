#include "algorithms/implicit_gemm/hopper_plan.hpp"

#include <utility>

namespace convscope::implicit_gemm {
namespace {

// Where the repacked image begins behind the repacked filter; TMA asks for less.
constexpr int64_t kWorkspaceAlignment = 256;

int64_t rounded_up(int64_t size, int64_t step) {
  return (size + step - 1) / step * step;
}

int64_t bytes_of(const std::optional<Repack>& repack) {
  return repack ? rounded_up(repack->bytes, kWorkspaceAlignment) : 0;
}

// Read once and written once, without the padding.
double moved_bytes(const std::optional<Repack>& repack) {
  if (!repack) return 0;
  return 2.0 * repack->element_bytes * repack->outer * repack->inner * repack->rows * repack->columns;
}

std::string describe(const BoxedProduct& product) {
  const auto text = [](int number) { return std::to_string(number); };
  return text(product.tile.rows) + "x" + text(product.tile.columns) + " tiles, boxes of " +
         text(product.box.width) + "x" + text(product.box.height) + " pixels of " + text(product.box.images) +
         (product.box.images == 1 ? " image" : " images");
}

}  // namespace

OperationCount hopper_operations(const ConvProblem& problem) {
  const HopperWork work = hopper_work(problem);
  const int64_t step = kWgmmaDepthBytes / bytes_per_element(storage_type(problem.math));
  OperationCount count;
  count.bytes =
      static_cast<double>(problem.total_bytes()) + moved_bytes(work.image) + moved_bytes(work.filter);
  for (const BoxedProduct& product : work.products) {
    const auto depth =
        static_cast<double>(product.taps_down * product.taps_across * rounded_up(product.channels, step));
    const auto rows = static_cast<double>(boxes(product) * product.tile.rows);
    const auto columns = static_cast<double>(rounded_up(product.columns, product.tile.columns));
    count.product_flops += 2.0 * rows * columns * depth * product.groups;
  }
  return count;
}

HopperPlan::HopperPlan(const ConvProblem& problem, HopperWork work, const HopperLaunchers& launchers)
    : pass_(problem.pass), work_(std::move(work)), launchers_(launchers) {}

int64_t HopperPlan::workspace_bytes() const {
  return bytes_of(work_.filter) + bytes_of(work_.image);
}

void* HopperPlan::packed_filter(const ConvArgs& args) const {
  return args.workspace;
}

void* HopperPlan::packed_image(const ConvArgs& args) const {
  return static_cast<unsigned char*>(args.workspace) + bytes_of(work_.filter);
}

std::string HopperPlan::implementation() const {
  std::string text;
  if (work_.image) text += "repacked, ";
  if (work_.products.size() > 1) text += std::to_string(work_.products.size()) + " phases of the stride, ";
  return text + describe(work_.products.front());
}

bool HopperPlan::has_prepare() const {
  return work_.filter.has_value();
}

void HopperPlan::prepare(const ConvArgs& args, Queue& queue) {
  if (!work_.filter) return;
  queue.phase(Phase::prepare);
  launchers_.repack(*work_.filter, args.filter, packed_filter(args), queue);
  queue.end_phase();
}

void HopperPlan::run(const ConvArgs& args, Queue& queue) {
  const bool forward = pass_ == Pass::forward;
  HopperOperands operands{forward ? args.input : args.output, args.filter,
                          forward ? args.output : args.input};
  if (work_.filter) operands.b = packed_filter(args);
  if (work_.image) {
    queue.phase(Phase::layout);
    launchers_.repack(*work_.image, operands.a, packed_image(args), queue);
    operands.a = packed_image(args);
  }
  queue.phase(Phase::product);
  for (const BoxedProduct& product : work_.products) launchers_.multiply(product, operands, queue);
  queue.end_phase();
}

}  // namespace convscope::implicit_gemm
