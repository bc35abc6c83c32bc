// The CUDA rows of the direct method: what they are, what they refuse, how they cut a problem. The kernels
// are in the .cu files beside this one.
#include <algorithm>
#include <functional>

#include "algorithms/direct/cuda/axis_phase.hpp"
#include "algorithms/direct/cuda/plans.hpp"
#include "algorithms/direct/direct.hpp"

namespace convscope {
namespace direct {
namespace {

using MakePlan = std::unique_ptr<Plan> (*)(const ConvProblem&, const PlanOptions&);

// One entry for the GPU and the emulator, which runs the same sources.
struct MakePlans {
  MakePlan cuda, emulated;
};

#if CONVSCOPE_HAS_CUDA
constexpr MakePlans kTiled{cuda::make_tiled_plan, emulated::make_tiled_plan};
constexpr MakePlans kChwn{cuda::make_chwn_plan, emulated::make_chwn_plan};
constexpr MakePlans kGradient{cuda::make_gradient_plan, emulated::make_gradient_plan};
constexpr MakePlans kDepthwise{cuda::make_depthwise_cuda_plan, emulated::make_depthwise_cuda_plan};
#else
// Without nvcc the only CUDA device is the stand-in's, which runs the emulator's kernels.
constexpr MakePlans kTiled{emulated::make_tiled_plan, emulated::make_tiled_plan};
constexpr MakePlans kChwn{emulated::make_chwn_plan, emulated::make_chwn_plan};
constexpr MakePlans kGradient{emulated::make_gradient_plan, emulated::make_gradient_plan};
constexpr MakePlans kDepthwise{emulated::make_depthwise_cuda_plan, emulated::make_depthwise_cuda_plan};
#endif

double round_up_to(int64_t size, int64_t multiple) {
  return static_cast<double>((size + multiple - 1) / multiple * multiple);
}

// Kernels count pixels, taps and channels in 32 bits; grids have 65,535 blocks in y and z.
Support within_kernel_limits(const ConvProblem& p) {
  const Extent2 out = p.output();
  constexpr int64_t most = int64_t{1} << 30;
  for (int64_t size : {p.batch * out.h * out.w, p.batch * p.input.h * p.input.w, p.elements(Role::filter),
                       p.in_channels, p.out_channels})
    if (size > most)
      return Support::no(Reason::unsupported_size,
                         "a count of " + std::to_string(size) + ": the direct kernels count to 2^30");
  constexpr int64_t grid = 65535;
  const auto tiles = [&](int64_t channels) { return p.groups * ((channels + 63) / 64); };
  const int64_t blocks =
      std::max({tiles(p.in_channels_per_group()), tiles(p.out_channels_per_group()), p.batch / 128});
  if (blocks > grid)
    return Support::no(Reason::unsupported_size,
                       std::to_string(blocks) + " blocks along one side of the grid, of 65535");
  return Support::yes();
}

Support needs_fp32(const ConvProblem& p) {
  if (p.math == MathMode::fp32) return Support::yes();
  return Support::no(Reason::unsupported_math,
                     "math " + std::string(name(p.math)) + ": the direct kernels compute in fp32 only");
}

class DirectCuda : public Algorithm {
 public:
  DirectCuda(std::string id, std::string summary) {
    info_.id = std::move(id);
    info_.family = "direct";
    info_.provider = "convscope";
    info_.device = DeviceKind::cuda;
    info_.summary = std::move(summary);
    info_.exact_on_integers = true;
  }
  const AlgorithmInfo& info() const override { return info_; }

  std::unique_ptr<Plan> plan(const ConvProblem& problem, Device& device,
                             const PlanOptions& options) const override {
    const MakePlans make = plans(problem);
    return (device.info().kind == DeviceKind::emulator ? make.emulated : make.cuda)(problem, options);
  }

 protected:
  virtual MakePlans plans(const ConvProblem& problem) const = 0;

 private:
  AlgorithmInfo info_;
};

double gradient_flops(const ConvProblem& p) {
  const Extent2 out = p.output();
  return 2 * static_cast<double>(p.groups) * round_up_to(p.out_channels_per_group(), GradientTile::kRows) *
         round_up_to(p.in_channels_per_group() * p.filter.h * p.filter.w, GradientTile::kColumns) *
         round_up_to(p.batch * out.h * out.w, GradientTile::kDepth);
}

double gradient_bytes(const ConvProblem& p) {
  const int slices = gradient_slices(p, INT64_MAX);
  return static_cast<double>(p.total_bytes() + (slices > 1 ? 2 * slices * p.bytes(Role::filter) : 0));
}

class Tiled final : public DirectCuda {
 public:
  Tiled()
      : DirectCuda("direct.tiled.cuda",
                   "patches staged in shared memory, 8x8 results a thread; any stride, dilation and groups") {
  }

  Support supports(const ConvProblem& p, const DeviceInfo&) const override {
    if (const Support fp32 = needs_fp32(p); !fp32) return fp32;
    if (p.layout == Layout::chwn)
      return Support::no(Reason::unsupported_layout, "layout chwn: direct.chwn.cuda is for it");
    if (const Support limits = within_kernel_limits(p); !limits) return limits;
    if (p.pass == Pass::backward_filter) return Support::yes();
    for (const AxisPhase& y : axis_phases(vertical(p), p.pass == Pass::forward))
      for (const AxisPhase& x : axis_phases(horizontal(p), p.pass == Pass::forward))
        if (tiled_shape(y, x, pass_channels(p).read).channels == 0)
          return Support::no(
              Reason::unsupported_filter,
              "filter " + std::to_string(p.filter.h) + "x" + std::to_string(p.filter.w) + ", dilation " +
                  std::to_string(p.dilation.h) + "x" + std::to_string(p.dilation.w) +
                  ": one channel of its patch and weights is more than 96 KiB of shared memory");
    return Support::yes();
  }

  std::optional<OperationCount> operations(const ConvProblem& p) const override {
    if (p.pass == Pass::backward_filter) return OperationCount{gradient_flops(p), 0, gradient_bytes(p)};
    const PassChannels channels = pass_channels(p);
    const double rows = static_cast<double>(p.groups) * round_up_to(channels.written, TiledTile::kChannels);
    double flops = 0, packed = 0;
    for (const AxisPhase& y : axis_phases(vertical(p), p.pass == Pass::forward))
      for (const AxisPhase& x : axis_phases(horizontal(p), p.pass == Pass::forward)) {
        const TiledShape shape = tiled_shape(y, x, channels.read);
        const double tiles = round_up_to(y.extent, shape.tile_h) / shape.tile_h *
                             round_up_to(x.extent, shape.tile_w) / shape.tile_w;
        const double weights = rows * channels.read * y.taps * x.taps;
        flops += 2 * weights * tiles * TiledTile::kPixels * static_cast<double>(p.batch);
        packed += weights * sizeof(float);
      }
    return OperationCount{flops, 0, static_cast<double>(p.total_bytes()) + 2 * packed};
  }

 protected:
  MakePlans plans(const ConvProblem& p) const override {
    return p.pass == Pass::backward_filter ? kGradient : kTiled;
  }
};

class Chwn final : public DirectCuda {
 public:
  Chwn()
      : DirectCuda("direct.chwn.cuda",
                   "images innermost, as cuda-convnet: 128 images a block, taps on padding left out") {}

  Support supports(const ConvProblem& p, const DeviceInfo&) const override {
    if (const Support fp32 = needs_fp32(p); !fp32) return fp32;
    if (p.layout != Layout::chwn)
      return Support::no(Reason::unsupported_layout,
                         "layout " + std::string(name(p.layout)) + ": this row is for chwn");
    return within_kernel_limits(p);
  }

  // Taps on padding are no work; channels and images are rounded up to whole tiles.
  std::optional<OperationCount> operations(const ConvProblem& p) const override {
    if (p.pass == Pass::backward_filter) return OperationCount{gradient_flops(p), 0, gradient_bytes(p)};
    const PassChannels channels = pass_channels(p);
    const double padded = round_up_to(channels.written, 64) / channels.written * round_up_to(p.batch, 128) /
                          static_cast<double>(p.batch);
    const double packed =
        round_up_to(channels.written, 64) / channels.written * static_cast<double>(p.bytes(Role::filter));
    return OperationCount{p.effective_flops() * padded, 0, static_cast<double>(p.total_bytes()) + 2 * packed};
  }

 protected:
  MakePlans plans(const ConvProblem& p) const override {
    return p.pass == Pass::backward_filter ? kGradient : kChwn;
  }
};

class DepthwiseCuda final : public DirectCuda {
 public:
  DepthwiseCuda()
      : DirectCuda("direct.depthwise.cuda",
                   "groups of one input channel, a thread four results; bound by memory") {}

  Support supports(const ConvProblem& p, const DeviceInfo&) const override {
    if (const Support fp32 = needs_fp32(p); !fp32) return fp32;
    if (p.layout == Layout::chwn)
      return Support::no(Reason::unsupported_layout, "layout chwn: this row takes nchw and nhwc");
    if (p.in_channels_per_group() != 1)
      return Support::no(Reason::unsupported_groups,
                         std::to_string(p.in_channels_per_group()) +
                             " input channels a group: this row is for groups of one");
    return within_kernel_limits(p);
  }

  std::optional<OperationCount> operations(const ConvProblem& p) const override {
    return OperationCount{p.effective_flops(), 0, static_cast<double>(p.total_bytes())};
  }

 protected:
  MakePlans plans(const ConvProblem&) const override { return kDepthwise; }
};

// Idle pixels of the tiles that cover height x width.
double covered(int height, int width, int tile_h, int tile_w) {
  return round_up_to(height, tile_h) / tile_h * round_up_to(width, tile_w) / tile_w;
}

}  // namespace

PassChannels pass_channels(const ConvProblem& p) {
  const int in = static_cast<int>(p.in_channels_per_group()),
            out = static_cast<int>(p.out_channels_per_group());
  return p.pass == Pass::forward ? PassChannels{in, out} : PassChannels{out, in};
}

// The fewest tiles, and among those the smallest patch; then as many channels a step as leave room for
// several blocks.
TiledShape tiled_shape(const AxisPhase& y, const AxisPhase& x, int read_channels) {
  TiledShape best;
  const auto patch = [](int tile, const AxisPhase& axis) {
    return (tile - 1) * axis.read_step + std::max(axis.taps - 1, 0) * axis.read_tap_step + 1;
  };
  const int widest = std::min(TiledTile::kPixels, x.extent);
  double fewest = 0;
  int64_t smallest = 0;
  for (int w = 1; w <= widest; ++w) {
    // Equal tiles: no narrower than their number needs.
    const int across = (x.extent + w - 1) / w;
    if ((x.extent + across - 1) / across != w) continue;
    const int most = std::min(TiledTile::kPixels / w, y.extent), down = (y.extent + most - 1) / most;
    const int h = (y.extent + down - 1) / down;
    const double tiles = covered(y.extent, x.extent, h, w);
    const int64_t area = static_cast<int64_t>(patch(h, y)) * patch(w, x);
    if (fewest != 0 && (tiles > fewest || (tiles == fewest && area >= smallest))) continue;
    fewest = tiles;
    smallest = area;
    best.tile_h = h;
    best.tile_w = w;
  }
  best.patch_h = patch(best.tile_h, y);
  best.patch_w = patch(best.tile_w, x);
  const int64_t plane = smallest | 1;
  const int64_t filters = static_cast<int64_t>(y.taps) * x.taps * TiledTile::kChannels;
  constexpr int64_t kRoomy = 40 << 10;
  int channels = 8;
  const auto bytes = [&] { return channels * (plane + filters) * static_cast<int64_t>(sizeof(float)); };
  while (channels > 1 && (bytes() > kRoomy || channels / 2 >= read_channels)) channels /= 2;
  if (bytes() > kMostSharedBytes) return best;
  best.plane = static_cast<int>(plane);
  best.channels = channels;
  best.smem_bytes = bytes();
  return best;
}

// Enough slices for two blocks on each of 132 multiprocessors, each of at least 32 steps, as many as the cap
// holds.
int gradient_slices(const ConvProblem& p, int64_t workspace_cap) {
  constexpr int64_t kBlocks = 264, kLeastSteps = 32;
  const Extent2 out = p.output();
  const int64_t tiles = p.groups *
                        ((p.out_channels_per_group() + GradientTile::kRows - 1) / GradientTile::kRows) *
                        ((p.in_channels_per_group() * p.filter.h * p.filter.w + GradientTile::kColumns - 1) /
                         GradientTile::kColumns);
  const int64_t steps = (p.batch * out.h * out.w + GradientTile::kDepth - 1) / GradientTile::kDepth;
  const int64_t wanted = std::min((kBlocks + tiles - 1) / tiles, steps / kLeastSteps);
  const int64_t slices = std::max<int64_t>(1, std::min(wanted, workspace_cap / p.bytes(Role::filter)));
  // No slice without pixels.
  const int64_t each = (steps + slices - 1) / slices;
  return static_cast<int>((steps + each - 1) / each);
}

void add_direct_cuda(Registry& registry) {
  registry.add(std::make_unique<Tiled>());
  registry.add(std::make_unique<Chwn>());
  registry.add(std::make_unique<DepthwiseCuda>());
}

}  // namespace direct
}  // namespace convscope
