// Loads and stores of the first lanes of a vector that touch nothing behind them. Included once for each
// instruction set (Highway).
#if defined(CONVSCOPE_PARTIAL_VECTORS) == defined(HWY_TARGET_TOGGLE)
#ifdef CONVSCOPE_PARTIAL_VECTORS
#undef CONVSCOPE_PARTIAL_VECTORS
#else
#define CONVSCOPE_PARTIAL_VECTORS
#endif

#include <hwy/highway.h>

#include <cstddef>

HWY_BEFORE_NAMESPACE();
namespace convscope::HWY_NAMESPACE {

// Whether masked accesses never fault on what the mask leaves out; otherwise partial ones go through a copy,
// which is slow.
inline constexpr bool kMasks = !HWY_MEM_OPS_MIGHT_FAULT;

// The first `count` elements, at most a vector of them, and zeros behind.
template <class D>
HWY_INLINE hwy::HWY_NAMESPACE::Vec<D> load_partial(D d, const float* from, size_t count) {
  namespace hn = hwy::HWY_NAMESPACE;
  if constexpr (kMasks) return hn::MaskedLoad(hn::FirstN(d, count), d, from);
  HWY_ALIGN float copy[hn::MaxLanes(d)] = {};
  for (size_t i = 0; i < count; ++i) copy[i] = from[i];
  return hn::Load(d, copy);
}

// Stores the first `count` lanes, at most all.
template <class D>
HWY_INLINE void store_partial(hwy::HWY_NAMESPACE::Vec<D> value, D d, float* to, size_t count) {
  namespace hn = hwy::HWY_NAMESPACE;
#if HWY_TARGET == HWY_AVX2
  // In pieces: AMD's processors with AVX2 execute a masked store as tens of operations.
  if constexpr (sizeof(hn::TFromD<D>) == 4 && hn::MaxLanes(D()) == 8) {
    if (count == 8) return hn::StoreU(value, d, to);
    const hn::Half<D> half;
    const hn::Half<decltype(half)> quarter;
    auto rest = hn::LowerHalf(half, value);
    if ((count & 4) != 0) {
      hn::StoreU(rest, half, to);
      rest = hn::UpperHalf(half, value);
      to += 4;
    }
    if ((count & 2) != 0) {
      hn::StoreU(hn::LowerHalf(quarter, rest), quarter, to);
      rest = hn::ShiftRightLanes<2>(half, rest);
      to += 2;
    }
    if ((count & 1) != 0) *to = hn::GetLane(rest);
    return;
  }
#endif
  if constexpr (kMasks) return hn::BlendedStore(value, hn::FirstN(d, count), d, to);
  HWY_ALIGN float copy[hn::MaxLanes(d)];
  hn::Store(value, d, copy);
  for (size_t i = 0; i < count; ++i) to[i] = copy[i];
}

}  // namespace convscope::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // CONVSCOPE_PARTIAL_VECTORS
