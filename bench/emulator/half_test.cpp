// Conversions of the emulated 16-bit floats, against the definition.
#include "bench/emulator/half.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace convscope::emulated {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

TEST(Half, KeepsEachOfItsValues) {
  for (unsigned bits = 0; bits < 65536; ++bits) {
    const auto value = std::bit_cast<__half>(static_cast<uint16_t>(bits));
    if (std::isnan(float(value)))
      EXPECT_TRUE(std::isnan(float(__half(float(value)))));
    else
      EXPECT_EQ(__half(float(value)).bits, bits);
  }
}

TEST(Half, RoundsToNearestTiesToEven) {
  // Between each value and the next: below the middle, the middle, above it.
  for (unsigned bits = 0; bits < 0x7bff; ++bits) {
    const float low = std::bit_cast<__half>(static_cast<uint16_t>(bits));
    const float high = std::bit_cast<__half>(static_cast<uint16_t>(bits + 1));
    const float middle = (low + high) / 2;
    EXPECT_EQ(__half(std::nextafter(middle, 0.0f)).bits, bits);
    EXPECT_EQ(__half(middle).bits, bits % 2 ? bits + 1 : bits);
    EXPECT_EQ(__half(std::nextafter(middle, kInfinity)).bits, bits + 1);
  }
}

TEST(Half, OverflowsToInfinity) {
  EXPECT_EQ(float(__half(65504.0f)), 65504.0f);
  EXPECT_EQ(float(__half(65519.9f)), 65504.0f);
  EXPECT_EQ(float(__half(65520.0f)), kInfinity);
  EXPECT_EQ(float(__half(-1e30f)), -kInfinity);
}

TEST(Bfloat16, KeepsEachOfItsValues) {
  for (unsigned bits = 0; bits < 65536; ++bits) {
    const auto value = std::bit_cast<__nv_bfloat16>(static_cast<uint16_t>(bits));
    if (std::isnan(float(value)))
      EXPECT_TRUE(std::isnan(float(__nv_bfloat16(float(value)))));
    else
      EXPECT_EQ(__nv_bfloat16(float(value)).bits, bits);
  }
}

TEST(Bfloat16, RoundsToNearestTiesToEven) {
  const float unit = 1.0f / 128;
  EXPECT_EQ(float(__nv_bfloat16(1 + unit * 0.49f)), 1.0f);
  EXPECT_EQ(float(__nv_bfloat16(1 + unit * 0.5f)), 1.0f);
  EXPECT_EQ(float(__nv_bfloat16(1 + unit * 0.51f)), 1 + unit);
  EXPECT_EQ(float(__nv_bfloat16(1 + unit * 1.5f)), 1 + 2 * unit);
  EXPECT_EQ(float(__nv_bfloat16(std::numeric_limits<float>::max())), kInfinity);
}

}  // namespace
}  // namespace convscope::emulated
