#include "algorithms/fft/cuda/full_size.hpp"

namespace convscope::fft {
namespace {

bool is_smooth(int64_t n) {
  for (const int64_t factor : {2, 3, 5, 7})
    while (n % factor == 0) n /= factor;
  return n == 1;
}

}  // namespace

FullSize full_size(const ConvProblem& p) {
  FullSize size{p.input.h + 2 * p.pad.h, p.input.w + 2 * p.pad.w};
  while (!is_smooth(size.h)) ++size.h;
  while (size.w % 2 != 0 || !is_smooth(size.w)) ++size.w;
  return size;
}

}  // namespace convscope::fft
