// Info and support of the CUDA variants. What tiles take is said by the CPU variant of the same tiles
// (winograd.cpp); here are the limits of the kernels alone.
#include "algorithms/winograd/cuda/variants.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "algorithms/winograd/cuda/plane_product.hpp"
#include "algorithms/winograd/error_growth.hpp"

namespace convscope {
namespace {

using namespace winograd;

// Offsets inside one plane are 32 bits, and so are pixel coordinates.
Support small_enough(const ConvProblem& p) {
  constexpr int64_t kMax = int64_t{1} << 24;
  const Extent2 output = p.output();
  for (const int64_t size : {p.batch, p.in_channels * p.stride.h * p.stride.w, p.out_channels, p.input.h,
                             p.input.w, output.h, output.w})
    if (size > kMax)
      return Support::no(
          Reason::unsupported_size,
          fmt::format("an extent, or channels times residues, of {}: the kernels count up to {}", size,
                      kMax));
  const int64_t residues = p.stride.h * p.stride.w;
  return require(residues <= kMaxResidues, Reason::unsupported_stride,
                 fmt::format("stride {}: {} residues, the kernels have room for {}", to_text(p.stride),
                             residues, kMaxResidues));
}

class CudaWinograd : public Algorithm {
 public:
  // `registry` has the CPU variant. `size` of the tiles, 0: mixed.
  CudaWinograd(const Registry& registry, const std::string& variant, int size)
      : on_cpu_(*registry.find("winograd." + variant + ".cpu")), info_(on_cpu_.info()), rule_{size} {
    info_.id = "winograd." + variant + ".cuda";
    info_.device = DeviceKind::cuda;
  }

  const AlgorithmInfo& info() const override { return info_; }
  Support takes(const ConvProblem& problem, const DeviceInfo& device) const override {
    if (const Support support = on_cpu_.supports(problem, device); !support) return support;
    if (const Support small = small_enough(problem); !small) return small;
    const Geometry tiled = geometry(problem);
    constexpr int64_t kMax = int64_t{1} << 31;
    // The fewest lanes; of more tiles the count itself would overflow.
    int64_t largest = kPlaneAlign * tiled.tile_rows() * tiled.tile_columns();
    if (largest < kMax) {
      const PassPlanes planes = pass_planes(tiled, 1);
      largest =
          std::max({planes.input.strides.plane, planes.output.strides.plane, planes.filters.strides.plane});
    }
    return require(
        largest < kMax, Reason::unsupported_size,
        fmt::format("a plane of one image has {} elements or more: the kernels count to 2^31", largest));
  }
  std::unique_ptr<Plan> plan(const ConvProblem& problem, Device& device,
                             const PlanOptions& options) const override {
    return CONVSCOPE_BUILDS(make_nonfused_plan)
        .of(device.info().kind)(geometry(problem), device.info(), options);
  }
  double error_growth(const ConvProblem& problem) const override {
    return winograd::error_growth(geometry(problem));
  }
  double sum_growth(const ConvProblem& problem) const override {
    return winograd::sum_growth(geometry(problem));
  }

 protected:
  Geometry geometry(const ConvProblem& problem) const { return make_geometry(problem, rule_); }

  const Algorithm& on_cpu_;
  AlgorithmInfo info_;
  TileRule rule_;
};

class FusedWinograd final : public CudaWinograd {
 public:
  FusedWinograd(const Registry& registry, const std::string& variant, int size)
      : CudaWinograd(registry, variant, size) {
    info_.id = "winograd." + variant + ".fused.cuda";
    info_.summary += ", all in one kernel";
  }
  Support takes(const ConvProblem& problem, const DeviceInfo& device) const override {
    constexpr int kReserved = 1024;  // of a multiprocessor's shared memory, for each block
    const int needed = fused_shared_bytes(rule_.size) + kReserved;
    const Extent2 output = problem.output();
    const double pixels =
        static_cast<double>(problem.batch) * static_cast<double>(output.h) * static_cast<double>(output.w);
    return first_refusal(
        {require(problem.pass != Pass::backward_filter, Reason::unsupported_pass,
                 "pass backward_filter: the fused kernel sums over channels, that pass over tiles (see "
                 "winograd.f4x4_3x3.cuda)"),
         CudaWinograd::takes(problem, device),
         require(
             device.kind != DeviceKind::cuda || device.l1_bytes >= needed, Reason::device_missing,
             fmt::format("device {}: a block takes {} KiB of shared memory of a multiprocessor, which here "
                         "has {}",
                         device.instructions, needed / 1024, device.l1_bytes / 1024)),
         require(pixels < 1e9, Reason::unsupported_size,
                 fmt::format("{:.0f} output pixels of a channel: the fused kernel takes fewer than 10^9",
                             pixels))});
  }
  std::unique_ptr<Plan> plan(const ConvProblem& problem, Device& device, const PlanOptions&) const override {
    return CONVSCOPE_BUILDS(make_fused_plan).of(device.info().kind)(geometry(problem));
  }
};

}  // namespace

void add_winograd_cuda(Registry& registry) {
  for (const auto& [variant, size] : {std::pair{"f2x2_3x3", 2}, {"f4x4_3x3", 4}})
    registry.add(std::make_unique<FusedWinograd>(registry, variant, size));
  for (const auto& [variant, size] :
       {std::pair{"f4x4_3x3", 4}, {"f2x2_5x5", 2}, {"f4x4_5x5", 4}, {"mixed", 0}, {"polyphase", 0}})
    registry.add(std::make_unique<CudaWinograd>(registry, variant, size));
}

}  // namespace convscope
