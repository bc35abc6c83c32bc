#include "algorithms/implicit_gemm/cuda/repack.hpp"

namespace convscope::implicit_gemm {
namespace {

constexpr int64_t kWorkspaceAlignment = 256;  // TMA needs less

int64_t result_bytes(const Repack& repack) {
  return repack.bytes;
}
int64_t result_bytes(const LinePack& pack) {
  return int64_t{pack.outer} * pack.lines * pack.to_line * pack.element_bytes;
}

double bytes_moved_by(const Repack& repack) {
  return 2.0 * repack.element_bytes * repack.outer * repack.inner * repack.rows * repack.columns;
}
double bytes_moved_by(const LinePack& pack) {
  const double read = 1.0 * pack.element_bytes * pack.outer * pack.lines * pack.width * pack.channels;
  return read + static_cast<double>(result_bytes(pack));
}

}  // namespace

int channel_pitch(MathMode math, int64_t channels) {
  return narrow(round_up(channels, kTmaAlignment / bytes_per_element(storage_type(math))));
}

std::optional<Repack> repack_for_tma(const ConvProblem& p, Role role) {
  const TensorShape shape = p.shape(role);
  const int64_t channels = shape.size[1] / p.groups, pixels = shape.size[2] * shape.size[3];
  const int64_t pitch = channel_pitch(p.math, channels);
  if (p.layout == Layout::nhwc && pitch == channels) return std::nullopt;
  Repack repack;
  repack.outer = narrow(p.batch);
  repack.inner = narrow(p.groups);
  repack.rows = narrow(channels);
  repack.columns = narrow(pixels);
  repack.from_outer = shape.stride[0];
  repack.from_inner = channels * shape.stride[1];
  repack.from_row = shape.stride[1];
  repack.from_column = shape.stride[3];
  repack.to_outer = pixels * p.groups * pitch;
  repack.to_inner = pitch;
  repack.to_column = p.groups * pitch;
  repack.element_bytes = narrow(bytes_per_element(storage_type(p.math)));
  repack.bytes = p.batch * repack.to_outer * repack.element_bytes;
  return repack;
}

int64_t workspace_bytes(const std::optional<Relayout>& relayout) {
  if (!relayout) return 0;
  return round_up(std::visit([](const auto& kind) { return result_bytes(kind); }, *relayout),
                  kWorkspaceAlignment);
}

double moved_bytes(const std::optional<Relayout>& relayout) {
  if (!relayout) return 0;
  return std::visit([](const auto& kind) { return bytes_moved_by(kind); }, *relayout);
}

}  // namespace convscope::implicit_gemm
