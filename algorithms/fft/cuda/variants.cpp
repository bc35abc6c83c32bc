// What the CUDA variants support: fft16.cuda, fft32.cuda (own transforms of overlapping tiles)
// and fft.full.cuda (cuFFT on whole images). Their plans are in tiled_plan.cu and full_plan.cu.
#include "algorithms/fft/cuda/variants.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "algorithms/fft/geometry.hpp"
#include "bench/device/blas.hpp"
#include "bench/device/fft.hpp"

namespace convscope {
namespace {

bool is_smooth(int64_t n) {
  for (const int64_t factor : {2, 3, 5, 7})
    while (n % factor == 0) n /= factor;
  return n == 1;
}

// Planes, tiles and coordinates are counted in 32 bits on the GPU. The last samples of a tile lie up to 31
// strides behind the padded input.
Support size_limits(const ConvProblem& p) {
  constexpr int64_t limit = int64_t{1} << 30;
  for (const Role role : kRoles)
    if (p.elements(role) >= limit)
      return Support::no(Reason::unsupported_size, std::string(name(role)) + " of " +
                                                       std::to_string(p.elements(role)) +
                                                       " elements: the FFT counts fewer than 2^30");
  const int64_t furthest =
      std::max(p.input.h + 2 * p.pad.h + 32 * p.stride.h, p.input.w + 2 * p.pad.w + 32 * p.stride.w);
  return require(furthest <= limit, Reason::unsupported_size,
                 "tiles at stride " + to_text(p.stride) + " of an input of " + to_text(p.input) +
                     " with pad " + to_text(p.pad) + " reach coordinate " + std::to_string(furthest) +
                     ": the FFT counts up to 2^30");
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
                 "overlap-save FFT on " + to_text({size, size}) + " tiles, stride by polyphase split"),
        size_(size) {}

  Support takes(const ConvProblem& p, const DeviceInfo&) const override {
    return first_refusal({fft::tile_support(p, size_), size_limits(p)});
  }

  std::unique_ptr<Plan> plan(const ConvProblem& p, Device& device,
                             const PlanOptions& options) const override {
    return CONVSCOPE_BUILDS(make_tiled_fft_plan).of(device.info().kind)(p, size_, device, options);
  }

  double error_growth(const ConvProblem&) const override { return fft::tile_error_growth(size_); }

 private:
  int size_;
};

class FullFft final : public FftOnGpu {
 public:
  FullFft() : FftOnGpu("fft.full.cuda", "cufft", "cuFFT on whole images, complex products by cuBLAS") {}

  Support takes(const ConvProblem& p, const DeviceInfo& device) const override {
    const Support common =
        first_refusal({fft::common_support(p),
                       require(p.stride == Extent2{1, 1}, Reason::unsupported_stride,
                               "stride " + to_text(p.stride) + ": the FFT of whole images needs stride 1x1"),
                       size_limits(p)});
    if (!common) return common;
    const fft::FullSize size = fft::full_size(p);
    constexpr int64_t limit = int64_t{1} << 31;
    const int64_t largest = std::max(
        {p.batch * p.in_channels, p.batch * p.out_channels, p.out_channels * p.in_channels_per_group()});
    if (size.h >= limit || size.w >= limit || size.h * size.w > (limit - 1) / largest)
      return Support::no(Reason::unsupported_size, std::to_string(largest) + " images padded to " +
                                                       to_text({size.h, size.w}) +
                                                       ": the FFT counts fewer than 2^31 samples");
    return libraries(device);
  }

  std::unique_ptr<Plan> plan(const ConvProblem& p, Device& device,
                             const PlanOptions& options) const override {
    return CONVSCOPE_BUILDS(make_full_fft_plan).of(device.info().kind)(p, device, options);
  }

  double error_growth(const ConvProblem& p) const override {
    const fft::FullSize size = fft::full_size(p);
    return std::max(1.0, std::log2(static_cast<double>(size.h * size.w)));
  }

 private:
  static Support libraries(const DeviceInfo& device) {
    if (device.kind == DeviceKind::cuda)
      for (const std::string& defect : {cuda::fft_defect(), cuda::blas_defect()})
        if (!defect.empty()) return Support::no(Reason::library_missing, defect);
    return Support::yes();
  }
};

}  // namespace

fft::FullSize fft::full_size(const ConvProblem& p) {
  FullSize size{p.input.h + 2 * p.pad.h, p.input.w + 2 * p.pad.w};
  while (!is_smooth(size.h)) ++size.h;
  while (size.w % 2 != 0 || !is_smooth(size.w)) ++size.w;
  return size;
}

void add_fft_cuda(Registry& registry) {
  registry.add(std::make_unique<TiledFft>(16));
  registry.add(std::make_unique<TiledFft>(32));
  registry.add(std::make_unique<FullFft>());
}

}  // namespace convscope
