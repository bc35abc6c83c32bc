// How long sums are cut so that their rounding errors stay small: in chains, and the chains added.
#pragma once

#include <algorithm>
#include <cstdint>

#include "bench/core/rounding.hpp"

namespace convscope {

// Chains of at most `first` terms, of which `second` are added one after the other. The longest chain of
// dependent additions is their sum.
struct SumLevels {
  int64_t first = 0, second = 0;
  double longest() const { return static_cast<double>(first + second); }
};

// Of two sums that add to the same elements, one after the other.
inline SumLevels in_series(const SumLevels& one, const SumLevels& next) {
  return {std::max(one.first, next.first), one.second + next.second};
}

// Of `terms` in chains of at most `most`.
inline SumLevels in_chains(int64_t terms, int64_t most) {
  return {std::min(terms, most), ceil_div(terms, most)};
}

}  // namespace convscope
