// The size of the transforms of fft.full.cuda: whole images, padded. Pure arithmetic.
#pragma once

#include <cstdint>

#include "bench/core/problem.hpp"

namespace convscope::fft {

struct FullSize {
  int64_t h = 1, w = 2;
  int64_t bins() const { return h * (w / 2 + 1); }
};

// The smallest sizes 2^a 3^b 5^c 7^d that hold the padded input, H + 2 pad; the width is even. Correlations
// of any pass then do not wrap around into the part that is kept.
FullSize full_size(const ConvProblem& problem);

}  // namespace convscope::fft
