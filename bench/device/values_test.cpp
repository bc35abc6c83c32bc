#include "bench/device/values.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <stdexcept>

#include "bench/core/float16.hpp"
#include "bench/device/cpu/cpu_device.hpp"

namespace convscope {
namespace {

using ::testing::ElementsAre;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

TEST(Float16, RoundsToNearestEven) {
  EXPECT_EQ(f16_bits(1.0f), 0x3c00);
  EXPECT_EQ(f16_bits(1.0f + 0x1p-11f), 0x3c00);             // a tie, to even
  EXPECT_EQ(f16_bits(1.0f + 0x1p-10f + 0x1p-11f), 0x3c02);  // a tie, to even
  EXPECT_EQ(f16_bits(1.0f + 0x1p-11f + 0x1p-20f), 0x3c01);
  EXPECT_EQ(f16_bits(-0.0f), 0x8000);
  EXPECT_EQ(bf16_bits(1.0f + 0x1p-8f), 0x3f80);
  EXPECT_EQ(bf16_bits(1.0f + 0x1p-7f + 0x1p-8f), 0x3f82);
  EXPECT_EQ(bf16_bits(1.0f + 0x1p-8f + 0x1p-20f), 0x3f81);
}

TEST(Float16, HasSubnormalsInfinitiesAndNaN) {
  EXPECT_EQ(f16_bits(0x1p-24f), 1);
  EXPECT_EQ(f16_bits(0x1p-25f), 0);
  EXPECT_EQ(f16_bits(65504.0f), 0x7bff);
  EXPECT_EQ(f16_bits(65519.0f), 0x7bff);
  EXPECT_EQ(f16_bits(65520.0f), 0x7c00);
  EXPECT_EQ(f16_bits(-kInfinity), 0xfc00);
  EXPECT_EQ(bf16_bits(std::numeric_limits<float>::max()), 0x7f80);
  EXPECT_TRUE(std::isnan(from_f16_bits(f16_bits(std::nanf("")))));
  EXPECT_TRUE(std::isnan(from_bf16_bits(bf16_bits(std::nanf("")))));
}

TEST(Float16, EveryPatternSurvivesTheWayToF32AndBack) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto pattern = static_cast<uint16_t>(bits);
    const float half = from_f16_bits(pattern), bfloat = from_bf16_bits(pattern);
    EXPECT_TRUE(std::isnan(half) || f16_bits(half) == pattern) << bits;
    EXPECT_TRUE(std::isnan(bfloat) || bf16_bits(bfloat) == pattern) << bits;
  }
}

TEST(Values, GoUpRoundedAndComeDownAsTheyAreStored) {
  CpuDevice device;
  const std::vector<float> values{1.0f, -2.5f, 0.1f};
  for (DataType type : {DataType::f32, DataType::bf16, DataType::f16}) {
    Buffer buffer(device, values.size() * static_cast<size_t>(bytes_per_element(type)));
    upload_values(buffer, type, values);
    std::vector<float> back(values.size());
    download_values(buffer, type, back);
    EXPECT_THAT(back, ElementsAre(1.0f, -2.5f, rounded_to(type, 0.1f)));
    EXPECT_TRUE(buffer.guards_intact());
  }
}

TEST(Values, RefuseABufferOfAnotherSize) {
  CpuDevice device;
  Buffer buffer(device, 8);
  std::vector<float> three(3);
  EXPECT_THROW(upload_values(buffer, DataType::f32, three), std::out_of_range);
  EXPECT_THROW(download_values(buffer, DataType::bf16, three), std::out_of_range);
}

TEST(Values, AFilledBufferIsNaNInEveryFormat) {
  CpuDevice device;
  Buffer buffer(device, 8);
  buffer.fill_with_nan();
  for (DataType type : {DataType::f32, DataType::bf16, DataType::f16}) {
    std::vector<float> values(8 / static_cast<size_t>(bytes_per_element(type)));
    download_values(buffer, type, values);
    for (float value : values) EXPECT_TRUE(std::isnan(value));
  }
}

}  // namespace
}  // namespace convscope
