#include <algorithm>

#include "algorithms/direct/cuda/packed_filter.cuh"

namespace convscope::CONVSCOPE_KERNELS {
namespace {

struct PackArgs {
  const float* filter;
  float* packed;  // of this residue: [group][tile of 64 written channels][row][64]
  int64_t written_stride, read_stride, r_stride, s_stride, group_stride;  // of the filter, in elements
  int read_channels, written_channels;                                    // of one group
  int first_r, r_step, first_s, s_step, taps_x;
  bool channels_outside;  // row = channel * taps + tap; otherwise tap * channels + channel
  int taps;
};

// One block per row and group; its threads take the padded written channels in turn.
__global__ void pack_filter(PackArgs a) {
  constexpr int kWide = direct::TiledTile::kChannels;
  const int row = static_cast<int>(blockIdx.x), group = static_cast<int>(blockIdx.y);
  const int rows = a.read_channels * a.taps;
  const int channel = a.channels_outside ? row / a.taps : row % a.read_channels;
  const int tap = a.channels_outside ? row % a.taps : row / a.read_channels;
  const int64_t r = a.first_r + tap / a.taps_x * a.r_step, s = a.first_s + tap % a.taps_x * a.s_step;
  const float* from =
      a.filter + group * a.group_stride + channel * a.read_stride + r * a.r_stride + s * a.s_stride;
  const int tiles = (a.written_channels + kWide - 1) / kWide;
  for (int k = static_cast<int>(threadIdx.x); k < tiles * kWide; k += static_cast<int>(blockDim.x)) {
    const int64_t tile = static_cast<int64_t>(group) * tiles + k / kWide;
    a.packed[(tile * rows + row) * kWide + k % kWide] =
        k < a.written_channels ? from[k * a.written_stride] : 0.0f;
  }
}

}  // namespace

void PackedFilterPlan::prepare(const ConvArgs& args, Queue& queue) {
  const TensorShape shape = problem_.shape(Role::filter);
  queue.phase(Phase::prepare);
  for (const PackedResidue& residue : residues_) {
    const int taps = residue.y.taps * residue.x.taps;
    if (taps == 0) continue;
    const PackArgs pack{.filter = static_cast<const float*>(args.filter),
                        .packed = static_cast<float*>(args.workspace) + residue.filter_offset,
                        .written_stride = shape.stride[forward_ ? 0 : 1],
                        .read_stride = shape.stride[forward_ ? 1 : 0],
                        .r_stride = shape.stride[2],
                        .s_stride = shape.stride[3],
                        .group_stride = problem_.out_channels_per_group() * shape.stride[0],
                        .read_channels = channels_.read,
                        .written_channels = channels_.written,
                        .first_r = residue.y.first_tap,
                        .r_step = residue.y.tap_step,
                        .first_s = residue.x.first_tap,
                        .s_step = residue.x.tap_step,
                        .taps_x = residue.x.taps,
                        .channels_outside = channels_outside_,
                        .taps = taps};
    launch(pack_filter,
           dim3(static_cast<unsigned>(channels_.read * taps), static_cast<unsigned>(problem_.groups)),
           static_cast<unsigned>(std::min<int64_t>(256, channel_tiles_ * 64)), 0, queue, pack);
  }
  queue.end_phase();
}

}  // namespace convscope::CONVSCOPE_KERNELS
