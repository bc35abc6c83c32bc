// Random small problems with odd sizes, for the tests of the CPU's and of the GPU's kernels.
#pragma once

#include <initializer_list>
#include <random>

#include "bench/core/problem.hpp"

namespace convscope {

// Input up to 15x15, padding up to 3, up to 33 channels in all; the filter and the stride are the caller's.
class OddProblems {
 public:
  explicit OddProblems(unsigned seed) : random_(seed) {}
  ConvProblem next(Extent2 filter, Extent2 stride) {
    for (;;) {
      ConvProblem p;
      p.pass = kPasses[pick({0, 1, 2})];
      p.layout = pick({0, 1}) == 0 ? Layout::nchw : Layout::nhwc;
      p.batch = pick({1, 2, 3});
      p.groups = pick({1, 1, 1, 2});
      const bool grouped = p.groups > 1;
      p.in_channels = p.groups * (grouped ? pick({2, 3, 17}) : pick({1, 3, 9, 16, 17, 33}));
      p.out_channels = p.groups * (grouped ? pick({2, 3, 17}) : pick({1, 3, 5, 16, 17, 33}));
      p.input = {between(1, 15), between(1, 15)};
      p.filter = filter;
      p.stride = stride;
      p.pad = {between(0, 3), between(0, 3)};
      if (!validate(p)) return p;
    }
  }
  int64_t between(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random_);
  }

 private:
  int64_t pick(std::initializer_list<int64_t> from) {
    return from.begin()[between(0, static_cast<int64_t>(from.size()) - 1)];
  }
  std::mt19937 random_;
};

}  // namespace convscope
