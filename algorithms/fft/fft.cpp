// The variants fft16.cpu and fft32.cpu; the plan is in cpu/spectral_plan. The CUDA variants are in cuda/.
#include "algorithms/fft/fft.hpp"

#include <memory>
#include <string>

#include "algorithms/fft/cpu/spectral_plan.hpp"
#include "algorithms/fft/cuda/variants.hpp"
#include "algorithms/fft/geometry.hpp"

namespace convscope {
namespace {

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

  Support takes(const ConvProblem& p, const DeviceInfo&) const override {
    return fft::tile_support(p, size_);
  }

  std::unique_ptr<Plan> plan(const ConvProblem& p, Device& device,
                             const PlanOptions& options) const override {
    return std::make_unique<fft::SpectralPlan>(p, size_, device.info().llc_bytes, options);
  }

  double error_growth(const ConvProblem&) const override { return fft::tile_error_growth(size_); }

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
