// A file of its own, so that sanitized builds optimise it too. A line is one row of sums. Usual numbers are
// added in f32, which holds their products, and in 32-bit integers, of quanta; all others in f64.
#include "bench/emulator/fragments.hpp"

#include <algorithm>
#include <bit>
#include <cfloat>
#include <cmath>
#include <cstdint>
#include <stdexcept>

#include "bench/emulator/executor.hpp"
#include "bench/emulator/half.hpp"

namespace convscope::emulated::executor {
namespace {

constexpr int kMaxDepth = 16;
constexpr uint32_t kMagnitude = 0x7fffffffu, kInfinity = 0x7f800000u;

uint32_t bits_of(float x) {
  return std::bit_cast<uint32_t>(x);
}

// The power of two that is the exponent of x, or 0 of 0; at least `smallest`, a power of two.
float power_in(float x, float smallest) {
  const float power = std::bit_cast<float>(bits_of(x) & kInfinity);
  const float floor = (bits_of(x) & kMagnitude) == 0 ? 0.0f : smallest;
  return power > floor ? power : floor;
}

// Toward zero, to infinity beyond the largest float.
float cut_to_f32(double x) {
  if (std::fabs(x) < FLT_MIN) return static_cast<float>(std::trunc(x * 0x1p149) * 0x1p-149);
  constexpr uint64_t kBelowF32 = (uint64_t{1} << 29) - 1;
  return static_cast<float>(std::bit_cast<double>(std::bit_cast<uint64_t>(x) & ~kBelowF32));
}

bool all_finite(const float* values, int count) {
  uint32_t largest = 0;
  for (int i = 0; i < count; ++i) largest = std::max(largest, bits_of(values[i]) & kMagnitude);
  return largest < kInfinity;
}

bool all_zero(const float* values, int count) {
  uint32_t bits = 0;
  for (int i = 0; i < count; ++i) bits |= bits_of(values[i]);
  return (bits & kMagnitude) == 0;
}

// A block of products, in order, where one of them or the sum is infinite or NaN.
void add_not_finite(int products, int columns, const float* a, const float* b, float* sums) {
  for (int column = 0; column < columns; ++column)
    for (int k = 0; k < products; ++k) sums[column] += a[k] * b[k * columns + column];
}

// One column, of any finite numbers. The powers are those in a and b.
float add_column(const TensorCore& core, int columns, const float* a, const float* a_powers, const float* b,
                 const float* b_powers, float sum) {
  // No quantum is finer than that of a sum with this exponent.
  double largest = std::max(std::ldexp(1.0, -131 - core.extra_bits), double{power_in(sum, FLT_MIN)});
  for (int k = 0; k < core.products; ++k)
    largest = std::max(largest, double{a_powers[k]} * double{b_powers[k * columns]});
  const double quantum = std::ldexp(largest, -23 - core.extra_bits);
  double total = std::trunc(sum / quantum);
  for (int k = 0; k < core.products; ++k)
    total += std::trunc(double{a[k]} * double{b[k * columns]} / quantum);
  return cut_to_f32(total * quantum);
}

// One block of products to a line of sums.
template <int Columns>
void add_block(const TensorCore& core, const float* a, const float* a_powers, const float* b,
               const float* b_powers, float* sums) {
  float largest[Columns], scale[Columns];
  for (int column = 0; column < Columns; ++column) largest[column] = power_in(sums[column], FLT_MIN);
  for (int k = 0; k < core.products; ++k)
    for (int column = 0; column < Columns; ++column) {
      const float power = a_powers[k] * b_powers[k * Columns + column];
      largest[column] = power > largest[column] ? power : largest[column];
    }
  bool usual = true;  // neither product nor scale leaves the range of f32
  for (int column = 0; column < Columns; ++column)
    usual &= largest[column] > 0x1p-90f && largest[column] < 0x1p120f;
  if (!usual) {
    for (int column = 0; column < Columns; ++column)
      sums[column] = add_column(core, Columns, a, a_powers, b + column, b_powers + column, sums[column]);
    return;
  }
  // Of quanta, products have 27 bits at most: eight of them and the sum fit into 32.
  const auto bits = static_cast<uint32_t>(23 + core.extra_bits) << 23;
  int first[Columns], second[Columns] = {};
  for (int column = 0; column < Columns; ++column) {
    scale[column] = std::bit_cast<float>((254u << 23) + bits - bits_of(largest[column]));
    first[column] = static_cast<int>(sums[column] * scale[column]);
  }
  for (int k = 0; k < core.products; ++k) {
    int* const total = k < 8 ? first : second;
    for (int column = 0; column < Columns; ++column)
      total[column] += static_cast<int>(a[k] * b[k * Columns + column] * scale[column]);
  }
  for (int column = 0; column < Columns; ++column)
    sums[column] = cut_to_f32((static_cast<double>(first[column]) + second[column]) / scale[column]);
}

template <int Columns>
void multiply(const TensorCore& core, int rows, int depth, const float* a, const float* b, float* sums) {
  const float smallest = std::ldexp(1.0f, core.smallest_exponent);
  float a_powers[kMaxDepth], b_powers[kMaxDepth * Columns];
  for (int i = 0; i < depth * Columns; ++i) b_powers[i] = power_in(b[i], smallest);
  const bool b_finite = all_finite(b, depth * Columns);
  for (int row = 0; row < rows; ++row, a += depth, sums += Columns) {
    for (int k = 0; k < depth; ++k) a_powers[k] = power_in(a[k], smallest);
    const bool finite = b_finite && all_finite(a, depth);
    for (int k = 0; k < depth; k += core.products) {
      if (!finite || !all_finite(sums, Columns))
        add_not_finite(core.products, Columns, a + k, b + k * Columns, sums);
      else if (!all_zero(a + k, core.products))
        add_block<Columns>(core, a + k, a_powers + k, b + k * Columns, b_powers + k * Columns, sums);
    }
  }
}

float bf16_element(uint32_t word, int index) {
  return std::bit_cast<float>(index ? word & 0xffff0000u : word << 16);
}
float f16_element(uint32_t word, int index) {
  return std::bit_cast<__half>(static_cast<uint16_t>(index ? word >> 16 : word));
}

// Element gives one of the PerWord elements of a register.
template <int PerWord, float (*Element)(uint32_t, int), const TensorCore& Core>
void multiply_tile(void* const* fragments, unsigned present, const CallSite& site) {
  constexpr int depth = 8 * PerWord;
  if (present != ~0u) fail("mma.sync needs a whole warp", site);
  float a[16][depth], b[depth][8], sums[16][8];
  for (int lane = 0; lane < 32; ++lane) {
    const auto* part = static_cast<const WarpFragments*>(fragments[lane]);
    const int g = lane / 4, t = lane % 4;
    for (int word = 0; word < 4; ++word)
      for (int e = 0; e < PerWord; ++e)
        a[g + 8 * (word % 2)][(t + 4 * (word / 2)) * PerWord + e] = Element(part->a[word], e);
    for (int word = 0; word < 2; ++word)
      for (int e = 0; e < PerWord; ++e) b[(t + 4 * word) * PerWord + e][g] = Element(part->b[word], e);
    for (int i = 0; i < 4; ++i) sums[g + 8 * (i / 2)][t * 2 + i % 2] = part->c[i];
  }
  multiply<8>(Core, 16, depth, &a[0][0], &b[0][0], &sums[0][0]);
  for (int lane = 0; lane < 32; ++lane) {
    auto* part = static_cast<WarpFragments*>(fragments[lane]);
    for (int i = 0; i < 4; ++i) part->d[i] = sums[lane / 4 + 8 * (i / 2)][lane % 4 * 2 + i % 2];
  }
}

}  // namespace

void multiply_tf32_tile(void* const* fragments, unsigned present, const CallSite& site) {
  multiply_tile<1, tf32_element, kMmaTf32>(fragments, present, site);
}
void multiply_bf16_tile(void* const* fragments, unsigned present, const CallSite& site) {
  multiply_tile<2, bf16_element, kMmaBf16>(fragments, present, site);
}
void multiply_f16_tile(void* const* fragments, unsigned present, const CallSite& site) {
  multiply_tile<2, f16_element, kMmaF16>(fragments, present, site);
}

void multiply_fragments(const TensorCore& core, int rows, int columns, int depth, const float* a,
                        const float* b, float* sums) {
  if (depth > kMaxDepth || depth % core.products != 0) throw std::invalid_argument("depth of fragments");
  switch (columns) {
    case 1:
      return multiply<1>(core, rows, depth, a, b, sums);
    case 8:
      return multiply<8>(core, rows, depth, a, b, sums);
    case 16:
      return multiply<16>(core, rows, depth, a, b, sums);
    case 24:
      return multiply<24>(core, rows, depth, a, b, sums);
    case 32:
      return multiply<32>(core, rows, depth, a, b, sums);
    case 48:
      return multiply<48>(core, rows, depth, a, b, sums);
    default:
      throw std::invalid_argument("columns of fragments");
  }
}

}  // namespace convscope::emulated::executor
