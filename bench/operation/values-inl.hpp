// A loop over values in whole vectors. Included once for each instruction set (Highway).
#if defined(CONVSCOPE_OPERATION_VALUES) == defined(HWY_TARGET_TOGGLE)
#ifdef CONVSCOPE_OPERATION_VALUES
#undef CONVSCOPE_OPERATION_VALUES
#else
#define CONVSCOPE_OPERATION_VALUES
#endif

#include <hwy/highway.h>

#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace convscope::HWY_NAMESPACE {

// Calls step(tag, i) for whole vectors, then for a few and for single values: rows are often shorter than a
// vector.
template <typename Step>
void ForValues(int64_t count, Step step) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::ScalableTag<float> whole;
  const auto lanes = static_cast<int64_t>(hn::Lanes(whole));
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) step(whole, i);
  const hn::CappedTag<float, 4> few;
  const auto few_lanes = static_cast<int64_t>(hn::Lanes(few));
  for (; i + few_lanes <= count; i += few_lanes) step(few, i);
  for (; i < count; ++i) step(hn::CappedTag<float, 1>(), i);
}

}  // namespace convscope::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
