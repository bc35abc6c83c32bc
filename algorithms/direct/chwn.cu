// direct.chwn.cuda, forward and backward-data, in cuda-convnet's layout: images lie innermost, so a block
// takes one written pixel, 64 channels and 128 images, and every load is of neighbours, whatever the stride.
// Taps on padding are left out, not multiplied by zero. Design note: README.md.
#include "algorithms/direct/packed_filter.cuh"

namespace convscope::CONVSCOPE_KERNELS {
namespace {

struct ChwnTile {
  static constexpr int kChannels = 64, kImages = 128, kDepth = 8, kThreads = 128;
};

// Strides are elements; the images' is 1.
struct ChwnArgs {
  const float* read;
  const float* filter;
  float* written;
  int64_t read_c, read_h, read_w;
  int64_t written_k, written_h, written_w;
  int read_height, read_width, batch;
  int read_channels, written_channels;  // of one group
  int channel_tiles;
  direct::AxisPhase y, x;
};

// The first tap inside the tensor and one behind the last: those with 0 <= first + i * step < size.
__device__ int2 taps_inside(const direct::AxisPhase& axis, int u, int size) {
  const int first = u * axis.read_step + axis.first_read;
  int low = first < 0 ? (-first + axis.read_tap_step - 1) / axis.read_tap_step : 0;
  int high = first < size ? (size - 1 - first) / axis.read_tap_step + 1 : 0;
  high = min(high, axis.taps);
  low = min(low, high);
  return make_int2(low, high);
}

// Walks over taps and, inside each, read channels: the rows of the product's depth.
struct Depth {
  int i, j, c;
  __device__ void advance(int channels, int2 columns) {
    if (++c < channels) return;
    c = 0;
    if (++j < columns.y) return;
    j = columns.x;
    ++i;
  }
};

__global__ void __launch_bounds__(ChwnTile::kThreads) chwn(ChwnArgs a) {
  constexpr int kDepth = ChwnTile::kDepth, kChannels = ChwnTile::kChannels, kImages = ChwnTile::kImages;
  __shared__ __align__(16) float filters[kDepth][kChannels];
  __shared__ __align__(16) float images[kDepth][kImages];
  const int thread = static_cast<int>(threadIdx.x);
  const int u = static_cast<int>(blockIdx.x) / a.x.extent, v = static_cast<int>(blockIdx.x) % a.x.extent;
  const int group = static_cast<int>(blockIdx.y) / a.channel_tiles;
  const int n0 = static_cast<int>(blockIdx.z) * kImages;
  const int2 rows = taps_inside(a.y, u, a.read_height), columns = taps_inside(a.x, v, a.read_width);
  const int depth = (rows.y - rows.x) * (columns.y - columns.x) * a.read_channels;
  const int y0 = u * a.y.read_step + a.y.first_read, x0 = v * a.x.read_step + a.x.first_read;
  const float* const read = a.read + static_cast<int64_t>(group) * a.read_channels * a.read_c + n0 + thread;
  const float* const packed =
      a.filter + static_cast<int64_t>(blockIdx.y) * a.read_channels * a.y.taps * a.x.taps * kChannels;
  const bool image_inside = n0 + thread < a.batch;

  const int tk = thread / 16, tn = thread % 16;  // channels tk * 8 + i, images tn * 4 + j and 64 more
  float sum[8][8] = {};
  Depth at{rows.x, columns.x, 0};
  for (int d0 = 0; d0 < depth; d0 += kDepth) {
    for (int d = 0; d < kDepth; ++d) {
      const bool used = d0 + d < depth;
      const int64_t offset = at.c * a.read_c + (y0 + at.i * a.y.read_tap_step) * a.read_h +
                             (x0 + at.j * a.x.read_tap_step) * a.read_w;
      images[d][thread] = used && image_inside ? __ldg(read + offset) : 0.0f;
      const int64_t row = static_cast<int64_t>(at.i * a.x.taps + at.j) * a.read_channels + at.c;
      if (thread < kChannels) filters[d][thread] = used ? __ldg(packed + row * kChannels + thread) : 0.0f;
      if (used) at.advance(a.read_channels, columns);
    }
    __syncthreads();
    UNROLL
    for (int d = 0; d < kDepth; ++d) {
      const float4 w0 = *reinterpret_cast<const float4*>(&filters[d][tk * 8]);
      const float4 w1 = *reinterpret_cast<const float4*>(&filters[d][tk * 8 + 4]);
      const float4 x0v = *reinterpret_cast<const float4*>(&images[d][tn * 4]);
      const float4 x1v = *reinterpret_cast<const float4*>(&images[d][tn * 4 + 64]);
      const float weights[8] = {w0.x, w0.y, w0.z, w0.w, w1.x, w1.y, w1.z, w1.w};
      const float values[8] = {x0v.x, x0v.y, x0v.z, x0v.w, x1v.x, x1v.y, x1v.z, x1v.w};
      UNROLL
      for (int i = 0; i < 8; ++i) UNROLL
      for (int j = 0; j < 8; ++j) sum[i][j] += weights[i] * values[j];
    }
    __syncthreads();
  }

  const int first_k = static_cast<int>(blockIdx.y) % a.channel_tiles * kChannels + tk * 8;
  float* const out = a.written + (static_cast<int64_t>(group) * a.written_channels + first_k) * a.written_k +
                     static_cast<int64_t>(a.y.written_first + u * a.y.written_step) * a.written_h +
                     static_cast<int64_t>(a.x.written_first + v * a.x.written_step) * a.written_w + n0;
  UNROLL
  for (int i = 0; i < 8; ++i) UNROLL
  for (int j = 0; j < 8; ++j) {
    const int image = tn * 4 + j % 4 + j / 4 * 64;
    if (first_k + i < a.written_channels && n0 + image < a.batch) out[i * a.written_k + image] = sum[i][j];
  }
}

class ChwnPlan final : public Plan {
 public:
  explicit ChwnPlan(const ConvProblem& problem) : problem_(problem), packed_(problem, false) {}

  int64_t workspace_bytes() const override { return packed_.bytes(); }
  double longest_sum() const override { return packed_.longest_sum(); }
  bool has_prepare() const override { return true; }

  void prepare(const ConvArgs& args, Queue& queue) override {
    queue.phase(Phase::prepare);
    packed_.pack(static_cast<const float*>(args.filter), static_cast<float*>(args.workspace), queue);
    queue.end_phase();
  }

  void run(const ConvArgs& args, Queue& queue) override {
    const bool forward = problem_.pass == Pass::forward;
    const TensorShape read = problem_.shape(forward ? Role::input : Role::output);
    const TensorShape written = problem_.shape(written_role(problem_.pass));
    const direct::PassChannels channels = direct::pass_channels(problem_);
    queue.phase(Phase::product);
    for (const DirectPhase& phase : packed_.phases()) {
      const ChwnArgs a{.read = static_cast<const float*>(forward ? args.input : args.output),
                       .filter = static_cast<const float*>(args.workspace) + phase.filter_offset,
                       .written = static_cast<float*>(forward ? args.output : args.input),
                       .read_c = read.stride[1],
                       .read_h = read.stride[2],
                       .read_w = read.stride[3],
                       .written_k = written.stride[1],
                       .written_h = written.stride[2],
                       .written_w = written.stride[3],
                       .read_height = static_cast<int>(read.size[2]),
                       .read_width = static_cast<int>(read.size[3]),
                       .batch = static_cast<int>(problem_.batch),
                       .read_channels = channels.read,
                       .written_channels = channels.written,
                       .channel_tiles = static_cast<int>(packed_.channel_tiles()),
                       .y = phase.y,
                       .x = phase.x};
      const dim3 grid(static_cast<unsigned>(phase.y.extent * phase.x.extent),
                      static_cast<unsigned>(a.channel_tiles * problem_.groups),
                      static_cast<unsigned>((problem_.batch + ChwnTile::kImages - 1) / ChwnTile::kImages));
      launch(chwn, grid, ChwnTile::kThreads, 0, queue, a);
    }
    queue.end_phase();
  }

 private:
  ConvProblem problem_;
  DirectFilter packed_;
};

}  // namespace

std::unique_ptr<Plan> make_chwn_plan(const ConvProblem& problem, const PlanOptions&) {
  return std::make_unique<ChwnPlan>(problem);
}

}  // namespace convscope::CONVSCOPE_KERNELS
