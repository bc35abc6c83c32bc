// Additions of operations.hpp, on Highway.
#include <algorithm>
#include <cmath>

#include "bench/operation/operations.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bench/operation/add.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "bench/operation/values-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace convscope {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

void AddRange(int64_t count, const float* a, const float* b, bool relu, float* y) {
  const float lowest = relu ? 0 : -HUGE_VALF;
  ForValues(count, [&](auto d, int64_t i) {
    const auto sum = hn::Add(hn::LoadU(d, a + i), hn::LoadU(d, b + i));
    hn::StoreU(hn::Max(sum, hn::Set(d, lowest)), d, y + i);
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace convscope
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace convscope {
namespace {

HWY_EXPORT(AddRange);

}  // namespace

void add_forward(int64_t values, const float* a, const float* b, bool relu, float* y) {
  const auto range = HWY_DYNAMIC_DISPATCH(AddRange);
  constexpr int64_t block = 1 << 14;
#pragma omp parallel for schedule(static)
  for (int64_t first = 0; first < values; first += block)
    range(std::min(block, values - first), a + first, b + first, relu, y + first);
}

}  // namespace convscope
#endif
