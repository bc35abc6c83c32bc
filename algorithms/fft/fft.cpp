// The two entries fft16.cpu and fft32.cpu: what they support and what they cost. The plan is in
// spectral_plan.
#include "algorithms/fft/fft.hpp"

#include <cmath>
#include <memory>
#include <string>

#include "algorithms/common/packed_gemm.hpp"
#include "algorithms/common/rounding.hpp"
#include "algorithms/fft/cpu/blocking.hpp"
#include "algorithms/fft/cpu/spectral_plan.hpp"
#include "algorithms/fft/cpu/transforms.hpp"
#include "algorithms/fft/cuda/variants.hpp"

namespace convscope {
namespace {

std::string pair(Extent2 e) {
  return std::to_string(e.h) + "x" + std::to_string(e.w);
}

class FftConvolution final : public Algorithm {
 public:
  explicit FftConvolution(int size) : size_(size) {
    const std::string side = std::to_string(size);
    info_.id = "fft" + side + ".cpu";
    info_.family = "fft";
    info_.provider = "convscope";
    info_.summary = "overlap-save FFT on " + side + "x" + side + " tiles, stride by polyphase split";
  }

  const AlgorithmInfo& info() const override { return info_; }

  Support supports(const ConvProblem& p, const DeviceInfo&) const override {
    if (p.math != MathMode::fp32)
      return Support::no(Reason::unsupported_math,
                         "math " + std::string(name(p.math)) + ": the FFT is computed in fp32 only");
    if (p.layout == Layout::chwn)
      return Support::no(Reason::unsupported_layout, "layout chwn: the FFT reads and writes nchw and nhwc");
    if (p.dilation != Extent2{1, 1})
      return Support::no(Reason::unsupported_dilation,
                         "dilation " + pair(p.dilation) + ": the FFT needs dilation 1x1");
    if (p.filter == Extent2{1, 1}) return fft::nothing_to_transform();
    if (p.is_depthwise())
      return Support::no(Reason::unsupported_groups,
                         "groups " + std::to_string(p.groups) +
                             ": a depthwise convolution has no sum over channels to turn into products of "
                             "matrices");
    const Extent2 taps = fft::taps_per_phase(p);
    if (taps.h > size_ || taps.w > size_)
      return Support::no(Reason::unsupported_filter, "filter " + pair(p.filter) + " at stride " +
                                                         pair(p.stride) + " has " + pair(taps) +
                                                         " taps a phase: a tile of " + std::to_string(size_) +
                                                         " has room for " + pair({size_, size_}));
    return Support::yes();
  }

  std::unique_ptr<Plan> plan(const ConvProblem& p, Device& device,
                             const PlanOptions& options) const override {
    return std::make_unique<fft::SpectralPlan>(p, size_, device.info().llc_bytes, options);
  }

  std::optional<OperationCount> operations(const ConvProblem& p) const override {
    const fft::Geometry g = fft::make_geometry(p, size_);
    // Whole vectors are transformed, and whole panels of B and of the result multiplied.
    const int64_t panel = gemm_shape().columns_per_panel;
    const auto planes = [&](const fft::Operand& operand, int64_t lanes) {
      return static_cast<double>(p.groups) *
             static_cast<double>(round_up(static_cast<int64_t>(operand.lanes.size()), lanes)) *
             static_cast<double>(operand.others.size());
    };
    const auto bins = static_cast<double>(fft::bins(size_));
    OperationCount count;
    // A complex multiply-add is four real ones.
    count.product_flops = 8.0 * bins * static_cast<double>(p.groups) * static_cast<double>(g.rows()) *
                          static_cast<double>(round_up(g.columns(), panel)) * static_cast<double>(g.depth());
    count.bytes = static_cast<double>(p.total_bytes());
    for (const fft::Operand* operand : {&g.a, &g.b, &g.y}) {
      const double transformed = planes(*operand, operand == &g.b ? panel : fft::vector_lanes());
      count.transform_flops += transformed * fft::transform_flops(size_, operand->h.window);
      count.bytes += 2 * 8.0 * bins * transformed;  // each spectrum written once and read once
    }
    // Each part of the result is a sum of two products for every kProductDepth of the depth. All but the
    // first read and write again what is there, close to the processor; shallow products feel it.
    const auto products = static_cast<double>(2 * ceil_div(g.depth(), fft::kProductDepth));
    count.cached_bytes = 2 * 8.0 * bins * planes(g.y, panel) * (products - 1);
    return count;
  }

  // A transform mixes all elements of a tile and rounds once at each of its log2(S^2) levels of butterflies
  // (Higham, Accuracy and Stability of Numerical Algorithms, section 24.1).
  double error_growth(const ConvProblem&) const override { return 2.0 * std::log2(size_); }

 private:
  int size_;
  AlgorithmInfo info_;
};

}  // namespace

void add_fft(Registry& registry) {
  registry.add(std::make_unique<FftConvolution>(16));
  registry.add(std::make_unique<FftConvolution>(32));
  add_fft_cuda(registry);
}

}  // namespace convscope
