// The CUDA variants of the direct method: what they are and what they refuse. The kernels and plans are in
// the .cu files beside this one.
#include <algorithm>

#include "algorithms/common/gpu_limits.hpp"
#include "algorithms/common/rounding.hpp"
#include "algorithms/direct/cuda/geometry.hpp"
#include "algorithms/direct/cuda/plans.hpp"
#include "algorithms/direct/direct.hpp"
#include "bench/algorithm/limits.hpp"

namespace convscope {
namespace direct {
namespace {

using MakePlan = std::unique_ptr<Plan> (*)(const ConvProblem&, const PlanOptions&);

// Kernels count pixels, taps, channels and coordinates in 32 bits; grids have 65,535 blocks in y and z.
// The coordinates of pixels and taps past the last lie up to 32 strides and dilations behind the padded
// input.
Support within_kernel_limits(const ConvProblem& p) {
  const Extent2 out = p.output();
  constexpr int64_t kMaxCount = int64_t{1} << 30;
  for (int64_t size : {p.batch * out.h * out.w, p.batch * p.input.h * p.input.w, p.elements(Role::filter),
                       p.in_channels, p.out_channels})
    if (size > kMaxCount)
      return Support::no(Reason::unsupported_size,
                         "a count of " + std::to_string(size) + ": the direct kernels count to 2^30");
  const auto tiles = [&](int64_t channels) { return p.groups * ceil_div(channels, TiledTile::kChannels); };
  const int64_t blocks =
      std::max({tiles(p.in_channels_per_group()), tiles(p.out_channels_per_group()), ceil_div(p.batch, 128)});
  const int64_t furthest = std::max(p.input.h + 2 * p.pad.h + 32 * (p.stride.h + p.dilation.h),
                                    p.input.w + 2 * p.pad.w + 32 * (p.stride.w + p.dilation.w));
  const auto of_stride = residue_defect(p);
  return first_refusal(
      {require(blocks <= kMaxGridYz, Reason::unsupported_size,
               std::to_string(blocks) + " blocks along one side of the grid, of 65535"),
       require(furthest <= kMaxCount, Reason::unsupported_size,
               "input " + to_text(p.input) + ", stride " + to_text(p.stride) + ", pad " + to_text(p.pad) +
                   " and dilation " + to_text(p.dilation) + " reach coordinate " + std::to_string(furthest) +
                   ": the direct kernels count to 2^30"),
       require(!of_stride, Reason::unsupported_stride, of_stride.value_or(""))});
}

Support tiled_supports(const ConvProblem& p) {
  if (const Support limits = first_refusal({nchw_or_nhwc(p), within_kernel_limits(p)}); !limits)
    return limits;
  if (p.pass == Pass::backward_filter) return Support::yes();
  for (const AxisResidue& y : axis_residues(vertical(p), p.pass == Pass::forward))
    for (const AxisResidue& x : axis_residues(horizontal(p), p.pass == Pass::forward))
      if (tiled_shape(y, x, pass_channels(p).read).channels == 0)
        return Support::no(Reason::unsupported_filter,
                           "filter " + to_text(p.filter) + ", dilation " + to_text(p.dilation) +
                               ": one channel of its patch and weights is more than 96 KiB of shared memory");
  return Support::yes();
}

Support chwn_supports(const ConvProblem& p) {
  return first_refusal({require(p.layout == Layout::chwn, Reason::unsupported_layout,
                                "layout " + std::string(name(p.layout)) + ": this algorithm takes chwn"),
                        within_kernel_limits(p)});
}

Support depthwise_supports(const ConvProblem& p) {
  return first_refusal({nchw_or_nhwc(p),
                        require(p.in_channels_per_group() == 1, Reason::unsupported_groups,
                                std::to_string(p.in_channels_per_group()) +
                                    " input channels per group: this algorithm is for groups of one"),
                        within_kernel_limits(p)});
}

struct Variant {
  const char *id, *summary;
  Support (*supports)(const ConvProblem&);  // FP32
  Builds<MakePlan> correlation, gradient;   // forward and backward-data; backward-filter
};

constexpr Variant kVariants[] = {
    {"direct.tiled.cuda",
     "patches staged in shared memory, 8x8 results per thread; any stride, dilation and groups",
     tiled_supports, CONVSCOPE_BUILDS(make_tiled_plan), CONVSCOPE_BUILDS(make_gradient_plan)},
    {"direct.chwn.cuda", "images innermost, as cuda-convnet: 128 images a block, taps on padding left out",
     chwn_supports, CONVSCOPE_BUILDS(make_chwn_plan), CONVSCOPE_BUILDS(make_gradient_plan)},
    {"direct.depthwise.cuda", "groups of one input channel, four results per thread; bound by memory",
     depthwise_supports, CONVSCOPE_BUILDS(make_depthwise_plan),
     CONVSCOPE_BUILDS(make_depthwise_gradient_plan)},
};

class DirectCuda final : public Algorithm {
 public:
  explicit DirectCuda(const Variant& variant) : variant_(variant) {
    info_.id = variant.id;
    info_.family = "direct";
    info_.provider = "convscope";
    info_.device = DeviceKind::cuda;
    info_.summary = variant.summary;
    info_.exact_on_integers = true;
    info_.takes_epilogues = true;
  }
  const AlgorithmInfo& info() const override { return info_; }

  Support takes(const ConvProblem& problem, const DeviceInfo&) const override {
    return first_refusal({fp32_only(problem), variant_.supports(problem)});
  }

  std::unique_ptr<Plan> plan(const ConvProblem& problem, Device& device,
                             const PlanOptions& options) const override {
    const auto& make = problem.pass == Pass::backward_filter ? variant_.gradient : variant_.correlation;
    return make.of(device.info().kind)(problem, options);
  }

 private:
  const Variant& variant_;
  AlgorithmInfo info_;
};

}  // namespace

void add_direct_cuda(Registry& registry) {
  for (const Variant& variant : kVariants) registry.add(std::make_unique<DirectCuda>(variant));
}

}  // namespace direct
}  // namespace convscope
