// The arithmetic of tensor cores is the hardware's, to the last bit where results of GPUs are published.
#include "bench/emulator/fragments.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "bench/emulator/half.hpp"
#include "bench/emulator/intrinsics.hpp"

namespace convscope::emulated::executor {
namespace {

float sum_of(const TensorCore& core, const std::vector<float>& a, const std::vector<float>& b, float c) {
  multiply_fragments(core, 1, 1, static_cast<int>(a.size()), a.data(), b.data(), &c);
  return c;
}

// d = c + the sum of a[i] b[i], as bits of f32.
struct Measured {
  const char* gpu;
  TensorCore core;
  std::vector<uint32_t> a, b;
  uint32_t c, d;
};

// What GPUs return, from the validation data of Khattak and Mikaitis
// (github.com/north-numerical-computing/MATLAB-tensor-core at b12b5a7): of each type and generation a row or
// two on which one extra bit more or less, half as many products at a time and a correctly rounded sum all
// give something else. All 45,000 rows of A100, H100 and H200 in tf32, bf16 and fp16 agree.
const Measured kMeasured[] = {
    {"A100, tf32",
     kMmaTf32,
     {0xbdc52000, 0x3fa08000, 0xbf280000, 0x3f572000},
     {0x3dd70000, 0xbf9d0000, 0x3f52a000, 0x3f868000},
     0x3f418c50,
     0xbee5e08e},
    {"A100, tf32",
     kMmaTf32,
     {0xbf3a6000, 0x3ee98000, 0xbfe92000, 0xbf42c000},
     {0xbfdde000, 0xbfaba000, 0x3bb9a000, 0x3f99a000},
     0x3ee63be1,
     0x3e350946},
    {"A100, bf16",
     kMmaBf16,
     {0x3ed00000, 0xbef00000, 0xbf8d0000, 0x3fa40000, 0x3ea60000, 0x3ee90000, 0xbcd10000, 0x3fd80000},
     {0xbf360000, 0x3f190000, 0xbe940000, 0xbf890000, 0x40110000, 0xbe650000, 0x3e870000, 0x3ee00000},
     0x3e871edf,
     0x3bd07980},
    {"A100, fp16",
     kMmaF16,
     {0xbe286000, 0x3f97a000, 0x3ee5e000, 0x3fd90000, 0x3e088000, 0x3f618000, 0x3f40e000, 0xbde28000},
     {0x3e10e000, 0x4005e000, 0x3df2a000, 0x3dd78000, 0xbfb00000, 0xc01e2000, 0xbfb1e000, 0xbf1b6000},
     0x3f6a6da4,
     0x3e865e58},
    {"H200, tf32",
     kWgmmaTf32,
     {0x3c736000, 0xbe62a000, 0x3ee30000, 0x3ec16000, 0, 0, 0, 0},
     {0x3f12a000, 0xbf3f4000, 0xbef7a000, 0xbf626000, 0, 0, 0, 0},
     0x3e9f4253,
     0xbd8210d9},
    {"H100, tf32",
     kWgmmaTf32,
     {0xbe286000, 0x3f97a000, 0x3ee5e000, 0x3fd90000, 0, 0, 0, 0},
     {0x3e10e000, 0x4005e000, 0x3df2a000, 0x3dd78000, 0, 0, 0, 0},
     0x3ed64235,
     0x4046b2e6},
    {"H200, bf16",
     kWgmmaBf16,
     {0x3d450000, 0x3ec50000, 0xbd4f0000, 0xc02b0000, 0xbde90000, 0x401e0000, 0x3f3c0000, 0xbf2c0000,
      0x3e230000, 0xc0460000, 0xbee50000, 0xbf710000, 0xbda30000, 0xbfc70000, 0xbd8c0000, 0xbe3b0000},
     {0xbfdf0000, 0xbe1b0000, 0xbed80000, 0xbfa60000, 0xbef10000, 0x3fbc0000, 0xbeec0000, 0xbfcb0000,
      0x3ed70000, 0x3fe50000, 0xbdd80000, 0x40110000, 0xbf0e0000, 0x3f220000, 0xbd840000, 0xbf0b0000},
     0x3e2045c7,
     0xbef6ff3e},
    {"H200, fp16",
     kWgmmaF16,
     {0x3ff16000, 0x3fda0000, 0xbf022000, 0xbf0ac000, 0xbf5ea000, 0x3e086000, 0x3fe9c000, 0x3eaa6000,
      0x3e54a000, 0xbf5d2000, 0x3fb5c000, 0x3d9fe000, 0xbe880000, 0x3f646000, 0x3d074000, 0xbfc9e000},
     {0xbece0000, 0xbf0f2000, 0x3ff68000, 0x3e330000, 0x3dac2000, 0x40238000, 0x3f50e000, 0x3ccc6000,
      0xbfae0000, 0x3eacc000, 0x3f84a000, 0x3db6e000, 0xbfcd8000, 0x3dbde000, 0x3e9d2000, 0x3ef14000},
     0x3e142f36,
     0xbe465b6e},
};

TEST(TensorCore, ReturnsWhatGpusReturn) {
  for (const Measured& row : kMeasured) {
    std::vector<float> a, b;
    for (const uint32_t bits : row.a) a.push_back(std::bit_cast<float>(bits));
    for (const uint32_t bits : row.b) b.push_back(std::bit_cast<float>(bits));
    EXPECT_EQ(std::bit_cast<uint32_t>(sum_of(row.core, a, b, std::bit_cast<float>(row.c))), row.d) << row.gpu;
  }
}

// 3xtf32 of normal operands, all three products to one accumulator: relative error in L2.
double error_in_one_accumulator(int depth) {
  constexpr int rows = 64, columns = 32;
  std::mt19937 bits(1);
  std::normal_distribution<float> normal;
  std::vector<float> a(static_cast<size_t>(rows * depth)), b(static_cast<size_t>(depth * columns));
  for (float& x : a) x = normal(bits);
  for (float& x : b) x = normal(bits);
  std::vector<float> sums(rows * columns);
  const auto part = [](float x, bool rest) {
    const float high = std::bit_cast<float>(to_tf32(x));
    return rest ? tf32_element(std::bit_cast<uint32_t>(x - high), 0) : high;
  };
  for (int first = 0; first < depth; first += 32)
    for (int product = 0; product < 3; ++product)
      for (int k = first; k < first + 32; k += 8) {
        float left[rows * 8], right[8 * columns];
        for (int i = 0; i < rows * 8; ++i)
          left[i] = part(a[static_cast<size_t>(i / 8 * depth + k + i % 8)], product == 0);
        for (int i = 0; i < 8 * columns; ++i)
          right[i] = part(b[static_cast<size_t>(k * columns + i)], product == 1);
        multiply_fragments(kMmaTf32, rows, columns, 8, left, right, sums.data());
      }
  double error = 0, square = 0;
  for (int i = 0; i < rows * columns; ++i) {
    double exact = 0;
    for (int k = 0; k < depth; ++k)
      exact += static_cast<double>(a[static_cast<size_t>(i / columns * depth + k)]) *
               b[static_cast<size_t>(k * columns + i % columns)];
    error += std::pow(sums[static_cast<size_t>(i)] - exact, 2);
    square += exact * exact;
  }
  return std::sqrt(error / square);
}

// github.com/triton-lang/triton/issues/4603, on an A100: mean square errors of sums of `depth` products of
// normal operands, 1.366855e-9 at depth 256, 9.253924e-8 at 1024, 1.064476e-6 at 2304, 4.016e-6 at 3584, over
// the mean square of such a sum, which is the depth.
TEST(TensorCore, ErrsInThreeTimesTf32AsWasPublished) {
  EXPECT_NEAR(error_in_one_accumulator(256), 2.31e-6, 0.03 * 2.31e-6);
  EXPECT_NEAR(error_in_one_accumulator(1024), 9.51e-6, 0.03 * 9.51e-6);
  EXPECT_NEAR(error_in_one_accumulator(2304), 2.15e-5, 0.03 * 2.15e-5);
  EXPECT_NEAR(error_in_one_accumulator(3584), 3.35e-5, 0.03 * 3.35e-5);
}

TEST(TensorCore, CutsTowardZeroAndNeverRoundsUp) {
  const float unit = 0x1p-23f;
  const std::vector<float> one{1, 0, 0, 0}, minus{-1, 0, 0, 0};
  EXPECT_EQ(sum_of(kMmaTf32, {unit * 0.75f, 0, 0, 0}, one, 1.0f), 1.0f);
  EXPECT_EQ(sum_of(kMmaTf32, {unit * 0.75f, 0, 0, 0}, minus, -1.0f), -1.0f);
  // Halves of a unit add up; what is less is lost before the sum.
  EXPECT_EQ(sum_of(kMmaTf32, {unit / 2, unit / 2, 0, 0}, {1, 1, 1, 1}, 1.0f), 1 + unit);
  EXPECT_EQ(sum_of(kMmaTf32, {unit / 4, unit / 4, unit / 4, unit / 4}, {1, 1, 1, 1}, 1.0f), 1.0f);
  const std::vector<float> ones(8, 1.0f);
  EXPECT_EQ(sum_of(kWgmmaTf32, std::vector<float>(8, unit / 4), ones, 1.0f), 1 + 2 * unit);
  EXPECT_EQ(sum_of(kWgmmaTf32, std::vector<float>(8, unit / 8), ones, 1.0f), 1.0f);
}

TEST(TensorCore, AddsABlockOfProductsAtATime) {
  // The large terms cancel before the next block only.
  const std::vector<float> ones(8, 1.0f);
  EXPECT_EQ(sum_of(kMmaTf32, {0x1p30f, -0x1p30f, 1, 0, 0, 0, 0, 0}, ones, 0), 0);
  EXPECT_EQ(sum_of(kMmaTf32, {0x1p30f, -0x1p30f, 0, 0, 1, 0, 0, 0}, ones, 0), 1);
  EXPECT_EQ(sum_of(kWgmmaTf32, {0x1p30f, -0x1p30f, 0, 0, 1, 0, 0, 0}, ones, 0), 0);
}

TEST(TensorCore, IsExactOnSmallIntegers) {
  std::mt19937 bits(2);
  for (const TensorCore& core : {kMmaTf32, kMmaBf16, kMmaF16, kWgmmaTf32, kWgmmaBf16, kWgmmaF16}) {
    float sum = 1000;
    int expected = 1000;
    for (int step = 0; step < 500; ++step) {
      std::vector<float> a, b;
      for (int k = 0; k < core.products; ++k) {
        const int x = static_cast<int>(bits() % 257) - 128, y = static_cast<int>(bits() % 257) - 128;
        a.push_back(static_cast<float>(x)), b.push_back(static_cast<float>(y));
        expected += x * y;
      }
      sum = sum_of(core, a, b, sum);
    }
    EXPECT_EQ(sum, static_cast<float>(expected));
  }
}

TEST(TensorCore, KeepsSubnormalSums) {
  const std::vector<float> none(8);
  EXPECT_EQ(sum_of(kMmaTf32, none, none, 0x1.8p-148f), 0x1.8p-148f);
  EXPECT_EQ(sum_of(kMmaTf32, {0x1p-75f, 0, 0, 0}, {0x1p-73f, 0, 0, 0}, 0), 0x1p-148f);
  EXPECT_EQ(sum_of(kMmaTf32, {0x1p-75f, 0, 0, 0}, {0x1.8p-74f, 0, 0, 0}, 0), 0x1p-149f);  // cut
}

TEST(TensorCore, PassesInfinityAndNanOn) {
  const float infinity = std::numeric_limits<float>::infinity(), nan = std::nanf("");
  const std::vector<float> ones(4, 1.0f);
  EXPECT_EQ(sum_of(kMmaTf32, {infinity, 1, 1, 1}, ones, 1), infinity);
  EXPECT_EQ(sum_of(kMmaTf32, ones, ones, -infinity), -infinity);
  EXPECT_TRUE(std::isnan(sum_of(kMmaTf32, {infinity, -infinity, 1, 1}, ones, 1)));
  EXPECT_TRUE(std::isnan(sum_of(kMmaTf32, {infinity, 1, 1, 1}, {0, 1, 1, 1}, 1)));
  EXPECT_TRUE(std::isnan(sum_of(kMmaTf32, {1, 1, 1, nan}, ones, 1)));
  EXPECT_TRUE(std::isnan(sum_of(kMmaTf32, ones, ones, nan)));
  const std::vector<float> large(4, 0x1p127f);
  EXPECT_EQ(sum_of(kMmaTf32, large, ones, 0), infinity);
}

// PTX ISA, cvt: .rna is to nearest, ties away from zero.
TEST(TensorCore, TakesTf32OperandsRoundedByCvtAndCutWithoutIt) {
  const auto rounded = [](uint32_t bits) { return to_tf32(std::bit_cast<float>(bits)); };
  EXPECT_EQ(rounded(0x3f800fff), 0x3f800000u);
  EXPECT_EQ(rounded(0x3f801000), 0x3f802000u);
  EXPECT_EQ(rounded(0x3f803000), 0x3f804000u);
  EXPECT_EQ(rounded(0xbf801000), 0xbf802000u);
  EXPECT_EQ(rounded(0x3fffffff), 0x40000000u);
  EXPECT_EQ(rounded(0x00001000), 0x00002000u);
  EXPECT_EQ(rounded(0x7f7fffff), 0x7f800000u);
  EXPECT_EQ(rounded(0x7f800000), 0x7f800000u);
  EXPECT_EQ(rounded(0xff800000), 0xff800000u);
  for (const uint32_t nan : {0x7f800001u, 0x7fc00000u, 0xffffffffu})
    EXPECT_TRUE(std::isnan(tf32_element(rounded(nan), 0))) << nan;
  EXPECT_EQ(tf32_element(0x3f801fff, 0), 1.0f);
  EXPECT_EQ(tf32_element(0xbf803fff, 0), std::bit_cast<float>(0xbf802000u));
}

}  // namespace
}  // namespace convscope::emulated::executor
