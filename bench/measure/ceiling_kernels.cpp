#include <array>

#include "bench/core/random.hpp"
#include "bench/measure/ceilings.hpp"

// The values of the chains, of either sign, of magnitudes between 1 and 1.5; written at run time, so that the
// compiler knows none.
namespace convscope {
const float* RandomOperands();
}

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bench/measure/ceiling_kernels.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace convscope {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using Floats = hn::ScalableTag<float>;

// 12 chains cover a latency of up to 6 cycles on two units. The operands are random in every lane, since
// those of real work are: equal or zero ones take less power, and a processor may clock higher. Two rounds
// take s to a2 (a1 s + b1) + b2 with a1 a2 = -1, that is to c - s, so that the values neither grow nor
// settle.
float MultiplyAddChains(int64_t rounds) {
  const Floats d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const float* values = RandomOperands();
  const auto a1 = hn::LoadU(d, values);
  const auto b1 = hn::LoadU(d, values + lanes);
  const auto a2 = hn::Neg(hn::Div(hn::Set(d, 1.0f), a1));
  const auto b2 = hn::LoadU(d, values + 2 * lanes);
  const float* start = values + 3 * lanes;
  auto s0 = hn::LoadU(d, start);
  auto s1 = hn::LoadU(d, start + lanes);
  auto s2 = hn::LoadU(d, start + 2 * lanes);
  auto s3 = hn::LoadU(d, start + 3 * lanes);
  auto s4 = hn::LoadU(d, start + 4 * lanes);
  auto s5 = hn::LoadU(d, start + 5 * lanes);
  auto s6 = hn::LoadU(d, start + 6 * lanes);
  auto s7 = hn::LoadU(d, start + 7 * lanes);
  auto s8 = hn::LoadU(d, start + 8 * lanes);
  auto s9 = hn::LoadU(d, start + 9 * lanes);
  auto s10 = hn::LoadU(d, start + 10 * lanes);
  auto s11 = hn::LoadU(d, start + 11 * lanes);
  for (int64_t i = 0; i < rounds; i += 2) {
    s0 = hn::MulAdd(s0, a1, b1);
    s1 = hn::MulAdd(s1, a1, b1);
    s2 = hn::MulAdd(s2, a1, b1);
    s3 = hn::MulAdd(s3, a1, b1);
    s4 = hn::MulAdd(s4, a1, b1);
    s5 = hn::MulAdd(s5, a1, b1);
    s6 = hn::MulAdd(s6, a1, b1);
    s7 = hn::MulAdd(s7, a1, b1);
    s8 = hn::MulAdd(s8, a1, b1);
    s9 = hn::MulAdd(s9, a1, b1);
    s10 = hn::MulAdd(s10, a1, b1);
    s11 = hn::MulAdd(s11, a1, b1);
    s0 = hn::MulAdd(s0, a2, b2);
    s1 = hn::MulAdd(s1, a2, b2);
    s2 = hn::MulAdd(s2, a2, b2);
    s3 = hn::MulAdd(s3, a2, b2);
    s4 = hn::MulAdd(s4, a2, b2);
    s5 = hn::MulAdd(s5, a2, b2);
    s6 = hn::MulAdd(s6, a2, b2);
    s7 = hn::MulAdd(s7, a2, b2);
    s8 = hn::MulAdd(s8, a2, b2);
    s9 = hn::MulAdd(s9, a2, b2);
    s10 = hn::MulAdd(s10, a2, b2);
    s11 = hn::MulAdd(s11, a2, b2);
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

const float* RandomOperands() {
  constexpr size_t kMaxLanes = 64;  // of the widest SVE
  constexpr size_t kValues = 15 * kMaxLanes;
  static std::array<float, kValues> values = [] {
    std::array<float, kValues> made{};
    for (size_t i = 0; i < kValues; ++i) {
      const float value = random_uniform(1, i);
      made[i] = (value < 0 ? -1.0f : 1.0f) + value / 2;
    }
    return made;
  }();
  return values.data();
}

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
