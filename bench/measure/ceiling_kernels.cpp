#include "bench/measure/ceilings.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bench/measure/ceiling_kernels.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace convscope {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using Floats = hn::ScalableTag<float>;

// 12 chains cover a latency of up to 6 cycles on two units. Every start value is read from a volatile: were
// two chains known to be equal, the compiler would keep one of them. They stay near 1 in all rounds.
float MultiplyAddChains(int64_t rounds) {
  const Floats d;
  volatile float opaque = 0.5f;
  const auto a = hn::Set(d, opaque);
  const auto b = hn::Set(d, opaque);
  auto s0 = hn::Set(d, opaque);
  auto s1 = hn::Set(d, opaque);
  auto s2 = hn::Set(d, opaque);
  auto s3 = hn::Set(d, opaque);
  auto s4 = hn::Set(d, opaque);
  auto s5 = hn::Set(d, opaque);
  auto s6 = hn::Set(d, opaque);
  auto s7 = hn::Set(d, opaque);
  auto s8 = hn::Set(d, opaque);
  auto s9 = hn::Set(d, opaque);
  auto s10 = hn::Set(d, opaque);
  auto s11 = hn::Set(d, opaque);
  for (int64_t i = 0; i < rounds; ++i) {
    s0 = hn::MulAdd(s0, a, b);
    s1 = hn::MulAdd(s1, a, b);
    s2 = hn::MulAdd(s2, a, b);
    s3 = hn::MulAdd(s3, a, b);
    s4 = hn::MulAdd(s4, a, b);
    s5 = hn::MulAdd(s5, a, b);
    s6 = hn::MulAdd(s6, a, b);
    s7 = hn::MulAdd(s7, a, b);
    s8 = hn::MulAdd(s8, a, b);
    s9 = hn::MulAdd(s9, a, b);
    s10 = hn::MulAdd(s10, a, b);
    s11 = hn::MulAdd(s11, a, b);
  }
  const auto sum = hn::Add(
      hn::Add(hn::Add(s0, s1), hn::Add(s2, s3)),
      hn::Add(hn::Add(hn::Add(s4, s5), hn::Add(s6, s7)), hn::Add(hn::Add(s8, s9), hn::Add(s10, s11))));
  return hn::GetLane(hn::SumOfLanes(d, sum));
}

int64_t OperationsPerRound() {
  return 12 * 2 * static_cast<int64_t>(hn::Lanes(Floats()));
}

float ReadAll(const float* values, int64_t count) {
  const Floats d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  auto s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0, s4 = s0, s5 = s0, s6 = s0, s7 = s0;
  for (int64_t i = 0; i < count; i += 8 * lanes) {
    s0 = hn::Add(s0, hn::LoadU(d, values + i));
    s1 = hn::Add(s1, hn::LoadU(d, values + i + lanes));
    s2 = hn::Add(s2, hn::LoadU(d, values + i + 2 * lanes));
    s3 = hn::Add(s3, hn::LoadU(d, values + i + 3 * lanes));
    s4 = hn::Add(s4, hn::LoadU(d, values + i + 4 * lanes));
    s5 = hn::Add(s5, hn::LoadU(d, values + i + 5 * lanes));
    s6 = hn::Add(s6, hn::LoadU(d, values + i + 6 * lanes));
    s7 = hn::Add(s7, hn::LoadU(d, values + i + 7 * lanes));
  }
  const auto sum =
      hn::Add(hn::Add(hn::Add(s0, s1), hn::Add(s2, s3)), hn::Add(hn::Add(s4, s5), hn::Add(s6, s7)));
  return hn::GetLane(hn::SumOfLanes(d, sum));
}

}  // namespace HWY_NAMESPACE
}  // namespace convscope
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace convscope {

HWY_EXPORT(MultiplyAddChains);
HWY_EXPORT(OperationsPerRound);
HWY_EXPORT(ReadAll);

float multiply_add_chains(int64_t rounds) {
  return HWY_DYNAMIC_DISPATCH(MultiplyAddChains)(rounds);
}
int64_t operations_per_round() {
  return HWY_DYNAMIC_DISPATCH(OperationsPerRound)();
}
float read_all(const float* values, int64_t count) {
  return HWY_DYNAMIC_DISPATCH(ReadAll)(values, count);
}

}  // namespace convscope
#endif
