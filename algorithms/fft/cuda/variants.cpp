// What the CUDA rows support and what they cost: fft16.cuda, fft32.cuda (own transforms of overlapping tiles)
// and fft.full.cuda (cuFFT on whole images). Their plans are in tiled_plan.cu and full_plan.cu.
#include "algorithms/fft/cuda/variants.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "algorithms/common/rounding.hpp"
#include "algorithms/fft/cuda/full_size.hpp"
#include "algorithms/fft/geometry.hpp"
#include "bench/device/blas.hpp"
#include "bench/device/fft.hpp"

namespace convscope {
namespace {

std::string pair(Extent2 e) {
  return std::to_string(e.h) + "x" + std::to_string(e.w);
}

// What no Fourier row on the GPU does.
Support common_limits(const ConvProblem& p) {
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
    return Support::no(
        Reason::unsupported_groups,
        "groups " + std::to_string(p.groups) +
            ": a depthwise convolution has no sum over channels to turn into products of matrices");
  return Support::yes();
}

// Planes, tiles and coordinates are counted in 32 bits on the GPU.
Support size_limits(const ConvProblem& p) {
  constexpr int64_t most = int64_t{1} << 30;
  for (const Role role : kRoles)
    if (p.elements(role) >= most)
      return Support::no(Reason::unsupported_size, std::string(name(role)) + " of " +
                                                       std::to_string(p.elements(role)) +
                                                       " elements: the FFT counts up to 2^30");
  const int64_t phases = std::min(p.stride.h, most) * std::min(p.stride.w, most);
  if (phases > most / p.batch / p.in_channels || p.pad.h > most || p.pad.w > most)
    return Support::no(Reason::unsupported_size, "stride " + pair(p.stride) + " and pad " + pair(p.pad) +
                                                     ": the FFT counts planes and coordinates up to 2^30");
  return Support::yes();
}

// Planes of a tensor, its lanes padded to `unit`.
double planes(const ConvProblem& p, const fft::Operand& operand, int64_t unit) {
  return static_cast<double>(p.groups) * static_cast<double>(operand.others.size()) *
         static_cast<double>(round_up(static_cast<int64_t>(operand.lanes.size()), unit));
}

class FftOnGpu : public Algorithm {
 public:
  FftOnGpu(std::string id, std::string provider, std::string summary) {
    info_.id = std::move(id);
    info_.family = "fft";
    info_.provider = std::move(provider);
    info_.device = DeviceKind::cuda;
    info_.summary = std::move(summary);
  }
  const AlgorithmInfo& info() const override { return info_; }

 private:
  AlgorithmInfo info_;
};

class TiledFft final : public FftOnGpu {
 public:
  explicit TiledFft(int size)
      : FftOnGpu("fft" + std::to_string(size) + ".cuda", "convscope",
                 "overlap-save FFT on " + pair({size, size}) + " tiles, stride by polyphase split"),
        size_(size) {}

  Support supports(const ConvProblem& p, const DeviceInfo&) const override {
    if (Support support = common_limits(p); !support) return support;
    const Extent2 taps = fft::taps_per_phase(p);
    if (taps.h > size_ || taps.w > size_)
      return Support::no(Reason::unsupported_filter, "filter " + pair(p.filter) + " at stride " +
                                                         pair(p.stride) + " has " + pair(taps) +
                                                         " taps a phase: a tile of " + std::to_string(size_) +
                                                         " has room for " + pair({size_, size_}));
    return size_limits(p);
  }

  std::unique_ptr<Plan> plan(const ConvProblem& p, Device& device,
                             const PlanOptions& options) const override {
#if defined(CONVSCOPE_HAS_CUDA)
    if (device.info().kind == DeviceKind::cuda) return cuda::make_tiled_fft_plan(p, size_, device, options);
#endif
    return emulated::make_tiled_fft_plan(p, size_, device, options);
  }

  std::optional<OperationCount> operations(const ConvProblem& p) const override {
    const fft::Geometry g = fft::make_geometry(p, size_);
    const double bins = size_ * size_ / 2 + 2;
    OperationCount count;
    // The product's blocks are 64 x 64 or 16 x 64, over slices of 8; a complex multiply-add is four real
    // ones.
    count.product_flops = 8.0 * bins * static_cast<double>(p.groups) *
                          static_cast<double>(round_up(g.rows(), g.rows() <= 16 ? 16 : 64)) *
                          static_cast<double>(round_up(g.columns(), 64)) *
                          static_cast<double>(round_up(g.depth(), 8));
    count.bytes = static_cast<double>(p.total_bytes());
    for (const fft::Operand* operand : {&g.a, &g.b, &g.y}) {
      count.transform_flops += planes(p, *operand, size_ == 32 ? 8 : 16) * plane_flops(operand == &g.y);
      count.bytes += 2 * 8.0 * bins * planes(p, *operand, 1);  // each spectrum written once and read once
    }
    return count;
  }

  // A transform mixes all elements of a tile and rounds once at each of its log2(S^2) levels of butterflies
  // (Higham, Accuracy and Stability of Numerical Algorithms, section 24.1).
  double error_growth(const ConvProblem&) const override {
    return 2.0 * std::log2(size_);
  }

 private:
  // Complex transforms by codelet.cuh, two by each thread of a plane, and taking the pairs of real columns
  // apart or putting them together.
  double plane_flops(bool inverse) const {
    double complex_transform = 0;
    for (int length = size_; length > 1; length /= 2)
      for (int k = 0; k < length / 2; ++k) {
        const int twiddle = k == 0 || 4 * k == length ? 0 : 8 * k == length || 8 * k == 3 * length ? 4 : 6;
        complex_transform += (4 + twiddle) * size_ / length;
      }
    const double half = size_ / 2;
    const double pairs = (half - 1) * half + half + 1;
    return size_ * complex_transform + pairs * (inverse ? 4 : 8) + (inverse ? size_ * size_ : 0);
  }

  int size_;
};

class FullFft final : public FftOnGpu {
 public:
  FullFft() : FftOnGpu("fft.full.cuda", "cufft", "cuFFT on whole images, complex products by cuBLAS") {}

  Support supports(const ConvProblem& p, const DeviceInfo& device) const override {
    if (Support support = common_limits(p); !support) return support;
    if (p.stride != Extent2{1, 1})
      return Support::no(Reason::unsupported_stride,
                         "stride " + pair(p.stride) + ": the FFT of whole images needs stride 1x1");
    if (Support support = size_limits(p); !support) return support;
    const fft::FullSize size = fft::full_size(p);
    constexpr int64_t most = int64_t{1} << 31;
    const int64_t largest = std::max(
        {p.batch * p.in_channels, p.batch * p.out_channels, p.out_channels * p.in_channels_per_group()});
    if (size.h >= most || size.w >= most || size.h * size.w >= most / largest)
      return Support::no(Reason::unsupported_size, std::to_string(largest) + " images padded to " +
                                                       pair({size.h, size.w}) +
                                                       ": the FFT counts their samples up to 2^31");
    return libraries(device);
  }

  std::unique_ptr<Plan> plan(const ConvProblem& p, Device& device,
                             const PlanOptions& options) const override {
#if defined(CONVSCOPE_HAS_CUDA)
    if (device.info().kind == DeviceKind::cuda) return cuda::make_full_fft_plan(p, device, options);
#endif
    return emulated::make_full_fft_plan(p, device, options);
  }

  std::optional<OperationCount> operations(const ConvProblem& p) const override {
    const fft::FullSize size = fft::full_size(p);
    const auto samples = static_cast<double>(size.h * size.w), bins = static_cast<double>(size.bins());
    const double images = static_cast<double>(p.batch * (p.in_channels + p.out_channels) +
                                              p.out_channels * p.in_channels_per_group());
    OperationCount count;
    count.product_flops = 8.0 * bins * static_cast<double>(p.batch) * static_cast<double>(p.out_channels) *
                          static_cast<double>(p.in_channels_per_group());
    // The usual count of a real transform; what cuFFT executes is not known.
    count.transform_flops = images * 2.5 * samples * std::log2(samples);
    // Padded images written and read; spectra written and read by image, and again by bin.
    count.bytes = static_cast<double>(p.total_bytes()) + images * (2 * 4 * samples + 4 * 8 * bins);
    return count;
  }

  double error_growth(const ConvProblem& p) const override {
    const fft::FullSize size = fft::full_size(p);
    return std::max(1.0, std::log2(static_cast<double>(size.h * size.w)));
  }

 private:
  static Support libraries([[maybe_unused]] const DeviceInfo& device) {
#if defined(CONVSCOPE_HAS_CUDA)
    if (device.kind == DeviceKind::cuda)
      for (const std::string& defect : {cuda::fft_defect(), cuda::blas_defect()})
        if (!defect.empty()) return Support::no(Reason::library_missing, defect);
#endif
    return Support::yes();
  }
};

}  // namespace

void add_fft_cuda(Registry& registry) {
  registry.add(std::make_unique<TiledFft>(16));
  registry.add(std::make_unique<TiledFft>(32));
  registry.add(std::make_unique<FullFft>());
}

}  // namespace convscope
