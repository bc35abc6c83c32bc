// The registered variants: which problems each takes, and with which tiles. The work is in cpu/plans.hpp.
#include "algorithms/winograd/winograd.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "algorithms/winograd/cpu/plans.hpp"
#include "algorithms/winograd/cuda/variants.hpp"
#include "algorithms/winograd/error_growth.hpp"
#include "algorithms/winograd/toom_cook.hpp"
#include "bench/algorithm/limits.hpp"

namespace convscope {
namespace {

using namespace winograd;

// What every variant needs.
Support common_support(const ConvProblem& p) {
  return first_refusal(
      {fp32_only(p), nchw_or_nhwc(p),
       require(p.dilation == Extent2{1, 1}, Reason::unsupported_dilation,
               "dilation " + to_text(p.dilation) + ": Winograd tiles need dense taps (1x1)"),
       require(p.groups == 1 || (p.in_channels_per_group() > 1 && p.out_channels_per_group() > 1),
               Reason::unsupported_groups,
               fmt::format("{} groups of {} input and {} output channels: the products are summed over "
                           "channels in a matrix product, which needs more than one",
                           p.groups, p.in_channels_per_group(), p.out_channels_per_group()))});
}

Support unit_stride(const ConvProblem& p) {
  return require(
      p.stride == Extent2{1, 1}, Reason::unsupported_stride,
      fmt::format("stride {}: these tiles need stride 1x1 (see winograd.polyphase)", to_text(p.stride)));
}

// Taps of a unit-stride convolution for which even_axis() has tiles that save something.
Support tiles_for(Extent2 taps, const std::string& what) {
  const int64_t max_taps = std::max(taps.h, taps.w);
  return require(
      max_taps >= 2 && max_taps <= kLargestAlpha - 1, Reason::unsupported_filter,
      fmt::format("{0}: tiles exist for 2 to {1} taps in one dimension and at most {1} in the other", what,
                  kLargestAlpha - 1));
}

// One variant: its id, its tiles, and what it asks of a problem beyond common_support().
class Winograd final : public Algorithm {
 public:
  using Condition = std::function<Support(const ConvProblem&)>;
  Winograd(const std::string& variant, const std::string& summary, TileRule rule, Condition condition)
      : rule_(rule), condition_(std::move(condition)) {
    info_.id = "winograd." + variant + ".cpu";
    info_.family = "winograd";
    info_.provider = "convscope";
    info_.device = DeviceKind::cpu;
    info_.summary = summary;
    info_.takes_epilogues = true;
  }

  const AlgorithmInfo& info() const override { return info_; }

  Support takes(const ConvProblem& problem, const DeviceInfo&) const override {
    const Support support = common_support(problem);
    return support ? condition_(problem) : support;
  }
  std::unique_ptr<Plan> plan(const ConvProblem& problem, Device& device,
                             const PlanOptions& options) const override {
    return make_plan(make_geometry(problem, rule_), device.info(), options);
  }
  double error_growth(const ConvProblem& problem) const override {
    return winograd::error_growth(make_geometry(problem, rule_));
  }
  double sum_growth(const ConvProblem& problem) const override {
    return winograd::sum_growth(make_geometry(problem, rule_));
  }

 private:
  AlgorithmInfo info_;
  TileRule rule_;
  Condition condition_;
};

Support fixed_size(const ConvProblem& p, Extent2 taps) {
  return first_refusal({unit_stride(p), require(p.filter == taps, Reason::unsupported_filter,
                                                fmt::format("filter {}: this algorithm is for {} filters",
                                                            to_text(p.filter), to_text(taps)))});
}

Support any_size(const ConvProblem& p) {
  return first_refusal({unit_stride(p), tiles_for(p.filter, "filter " + to_text(p.filter))});
}

// More only cost memory and time to plan: no filter of real layers has as many taps.
constexpr int64_t kMaxResiduesOnCpu = 1 << 16;

Support any_stride(const ConvProblem& p) {
  const std::string what = fmt::format("filter {} with stride {}", to_text(p.filter), to_text(p.stride));
  const Support splits =
      first_refusal({require(p.stride != Extent2{1, 1}, Reason::unsupported_stride,
                             "stride 1x1: there is nothing to split (see winograd.mixed)"),
                     require(p.filter.h >= p.stride.h && p.filter.w >= p.stride.w, Reason::unsupported_filter,
                             what + ": some residues of the stride would have no tap"),
                     require(p.stride.h * p.stride.w <= kMaxResiduesOnCpu, Reason::unsupported_stride,
                             fmt::format("stride {}: {} residues, each a lane of every channel: at most {}",
                                         to_text(p.stride), p.stride.h * p.stride.w, kMaxResiduesOnCpu))});
  if (!splits) return splits;
  const Extent2 taps = split_stride(p.filter, p.stride).taps;
  return tiles_for(taps, fmt::format("{}: residues of {} taps", what, to_text(taps)));
}

}  // namespace

void add_winograd(Registry& registry) {
  const auto fixed = [&](int size, int taps) {
    registry.add(
        std::make_unique<Winograd>(fmt::format("f{0}x{0}_{1}x{1}", size, taps),
                                   fmt::format("Winograd F({0}x{0}, {1}x{1}): {2}x{2} tiles, the last padded",
                                               size, taps, size + taps - 1),
                                   TileRule{size}, [taps](const ConvProblem& p) {
                                     return fixed_size(p, {taps, taps});
                                   }));
  };
  constexpr TileRule kMixed{.larger_in_1d = true};
  for (const int size : {2, 4, 6}) fixed(size, 3);
  for (const int size : {2, 3, 4}) fixed(size, 5);
  registry.add(std::make_unique<Winograd>(
      "mixed", "Winograd with tile sizes that need no padding, 13 = 5+4+4", kMixed, any_size));
  registry.add(std::make_unique<Winograd>(
      "polyphase", "a strided convolution split into residues, added before the inverse", kMixed,
      any_stride));
  add_winograd_cuda(registry);
}

}  // namespace convscope
