// The variants fft16.cuda, fft32.cuda and fft.full.cuda, the size of the latter's transforms, and the plans
// behind them: each in two namespaces, for the GPU (where the build has CUDA) and for the emulator. Start at
// variants.cpp.
#pragma once

#include <cstdint>
#include <memory>

#include "bench/algorithm/algorithm.hpp"
#include "bench/algorithm/registry.hpp"
#include "bench/device/builds.hpp"

namespace convscope {

void add_fft_cuda(Registry& registry);

namespace fft {
// Of the transforms of fft.full.cuda: whole planes, padded.
struct FullSize {
  int64_t h = 1, w = 2;
  int64_t bins() const { return h * (w / 2 + 1); }
};
// The smallest sizes 2^a 3^b 5^c 7^d that hold the padded input, H + 2 pad; the width is even. Correlations
// of any pass then do not wrap around into the part that is kept.
FullSize full_size(const ConvProblem& problem);
}  // namespace fft

CONVSCOPE_IN_BOTH(std::unique_ptr<Plan> make_tiled_fft_plan(const ConvProblem&, int size, Device&,
                                                            const PlanOptions&);
                  std::unique_ptr<Plan> make_full_fft_plan(const ConvProblem&, Device&, const PlanOptions&);)

}  // namespace convscope
