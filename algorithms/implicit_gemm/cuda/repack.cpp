#include "algorithms/implicit_gemm/cuda/repack.hpp"

namespace convscope::implicit_gemm {
namespace {

constexpr int64_t kWorkspaceAlignment = 256;  // TMA needs less

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

int64_t workspace_bytes(const std::optional<Repack>& repack) {
  return repack ? round_up(repack->bytes, kWorkspaceAlignment) : 0;
}

double moved_bytes(const std::optional<Repack>& repack) {
  if (!repack) return 0;
  return 2.0 * repack->element_bytes * repack->outer * repack->inner * repack->rows * repack->columns;
}

}  // namespace convscope::implicit_gemm
