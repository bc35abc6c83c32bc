#include <bit>
#include <cmath>
#include <limits>

#include "bench/ptx/half.hpp"
#include "bench/ptx/test_kernels.hpp"

namespace convscope::ptx {
namespace {

using ::testing::HasSubstr;

class Arithmetic : public Machine {
 protected:
  float float_result(const std::string& body) {
    return std::bit_cast<float>(result(body + "\nmov.b32 %r0, %f0;"));
  }
};

TEST_F(Arithmetic, IntegersWrapAround) {
  EXPECT_EQ(result("add.s32 %r0, 2147483647, 1;"), 0x80000000u);
  EXPECT_EQ(result("mov.u32 %r1, 7; sub.u32 %r0, %r1, 8;"), 0xffffffffu);
  EXPECT_EQ(result("mov.u32 %r1, 65537; mul.lo.s32 %r0, %r1, %r1;"), 0x20001u);
  EXPECT_EQ(result("mov.u32 %r1, 65536; mul.hi.u32 %r0, %r1, %r1;"), 1u);
  EXPECT_EQ(result("mov.u32 %r1, 3; mad.lo.s32 %r0, %r1, -5, 1;"), static_cast<u32>(-14));
}

TEST_F(Arithmetic, WideProductsKeepTheirSign) {
  EXPECT_EQ(result("mov.u32 %r1, -2; mul.wide.s32 %x0, %r1, 3; shr.s64 %x0, %x0, 32; cvt.u32.u64 %r0, %x0;"),
            0xffffffffu);
  EXPECT_EQ(result("mov.u32 %r1, -2; mul.wide.u32 %x0, %r1, 3; shr.u64 %x0, %x0, 32; cvt.u32.u64 %r0, %x0;"),
            2u);
}

TEST_F(Arithmetic, ShiftsBeyondTheRegisterClamp) {
  EXPECT_EQ(result("mov.u32 %r1, 5; mov.u32 %r2, 32; shl.b32 %r0, %r1, %r2;"), 0u);
  EXPECT_EQ(result("mov.u32 %r1, -5; mov.u32 %r2, 99; shr.s32 %r0, %r1, %r2;"), 0xffffffffu);
  EXPECT_EQ(result("mov.u32 %r1, -5; mov.u32 %r2, 99; shr.u32 %r0, %r1, %r2;"), 0u);
}

TEST_F(Arithmetic, BitInstructionsFollowTheirTables) {
  EXPECT_EQ(
      result("mov.u32 %r1, 0xf0; mov.u32 %r2, 0xcc; mov.u32 %r3, 0xaa; lop3.b32 %r0, %r1, %r2, %r3, 0x96;"),
      0xf0u ^ 0xccu ^ 0xaau);
  EXPECT_EQ(result("mov.u32 %r1, 0x44332211; mov.u32 %r2, 0x88776655; prmt.b32 %r0, %r1, %r2, 0x7410;"),
            0x88552211u);
  EXPECT_EQ(result("mov.u32 %r1, 0x80000001; mov.u32 %r2, 0x3; shf.l.wrap.b32 %r0, %r1, %r2, 1;"), 0x7u);
  EXPECT_EQ(result("mov.u32 %r1, 0x0000ff00; bfe.u32 %r0, %r1, 8, 8;"), 0xffu);
  EXPECT_EQ(result("mov.u32 %r1, 0x0000ff00; bfe.s32 %r0, %r1, 8, 8;"), 0xffffffffu);
  EXPECT_EQ(result("mov.u32 %r1, 0x5; mov.u32 %r2, 0; bfi.b32 %r0, %r1, %r2, 4, 4;"), 0x50u);
  EXPECT_EQ(result("mov.u32 %r1, 0x00010000; clz.b32 %r0, %r1;"), 15u);
}

TEST_F(Arithmetic, AMultiplyAddRoundsOnceAndAProductAndASumTwice) {
  // (1 + 2^-12)^2 - (1 + 2^-11) is 2^-24, which a rounded product loses.
  const std::string inputs = "mov.f32 %f1, 0f3F800800; mov.f32 %f2, 0fBF801000; ";
  EXPECT_EQ(float_result(inputs + "fma.rn.f32 %f0, %f1, %f1, %f2;"), std::ldexp(1.0f, -24));
  EXPECT_EQ(float_result(inputs + "mul.f32 %f3, %f1, %f1; add.f32 %f0, %f3, %f2;"), 0.0f);
}

TEST_F(Arithmetic, AReciprocalRootIsTheRoundedOne) {
  EXPECT_EQ(float_result("mov.f32 %f1, 0f40800000; rsqrt.approx.f32 %f0, %f1;"), 0.5f);
  EXPECT_EQ(float_result("mov.f32 %f1, 0f40000000; rsqrt.approx.f32 %f0, %f1;"), 0.70710678f);
}

TEST_F(Arithmetic, APowerOfTwoIsTheRoundedOne) {
  EXPECT_EQ(float_result("mov.f32 %f1, 0fC0400000; ex2.approx.f32 %f0, %f1;"), 0.125f);
  EXPECT_EQ(float_result("mov.f32 %f1, 0f3F000000; ex2.approx.f32 %f0, %f1;"), 1.41421356f);
  EXPECT_EQ(float_result("mov.f32 %f1, 0fFF800000; ex2.approx.f32 %f0, %f1;"), 0.0f);
}

TEST_F(Arithmetic, AReciprocalIsTheRoundedOne) {
  EXPECT_EQ(float_result("mov.f32 %f1, 0f40400000; rcp.rn.f32 %f0, %f1;"), 1.0f / 3);
  EXPECT_EQ(float_result("mov.f32 %f1, 0f00000000; rcp.rn.f32 %f0, %f1;"), INFINITY);
}

TEST_F(Arithmetic, ComparisonsWithNanHoldOnlyWhenTheyAreUnordered) {
  const std::string nan = "mov.f32 %f1, 0f7FC00000; mov.f32 %f2, 0f3F800000; ";
  const auto holds = [&](const std::string& comparison) {
    return result(nan + "setp." + comparison + ".f32 %q0, %f1, %f2; selp.u32 %r0, 1, 0, %q0;") == 1;
  };
  for (const char* never : {"eq", "ne", "lt", "le", "gt", "ge", "num"}) EXPECT_FALSE(holds(never)) << never;
  for (const char* always : {"equ", "neu", "ltu", "leu", "gtu", "geu", "nan"})
    EXPECT_TRUE(holds(always)) << always;
}

TEST_F(Arithmetic, ConversionsRoundAsTheySay) {
  EXPECT_EQ(result("mov.f32 %f1, 0f40200000; cvt.rni.s32.f32 %r0, %f1;"), 2u);  // 2.5 to even
  EXPECT_EQ(result("mov.f32 %f1, 0fC0200000; cvt.rzi.s32.f32 %r0, %f1;"), static_cast<u32>(-2));
  EXPECT_EQ(result("mov.f32 %f1, 0f7FC00000; cvt.rzi.s32.f32 %r0, %f1;"), 0u);  // NaN
  EXPECT_EQ(result("mov.f32 %f1, 0f50000000; cvt.rzi.s32.f32 %r0, %f1;"), 0x7fffffffu);
  // 1 + 2^-11 lies half way between two TF32 and goes away from zero.
  EXPECT_EQ(result("mov.f32 %f1, 0f3F801000; cvt.rna.tf32.f32 %r0, %f1;"), 0x3f802000u);
}

TEST_F(Arithmetic, NumbersOf16BitsRoundToNearestEven) {
  EXPECT_EQ(float_to_half(1 + std::ldexp(1.0, -11)), 0x3c00);
  EXPECT_EQ(float_to_half(1 + 3 * std::ldexp(1.0, -11)), 0x3c02);
  EXPECT_EQ(float_to_half(65520), 0x7c00);
  EXPECT_EQ(float_to_half(std::ldexp(1.0, -24)), 1);
  EXPECT_EQ(half_to_float(0x0001), std::ldexp(1.0f, -24));
  EXPECT_EQ(float_to_bfloat(1 + std::ldexp(1.0, -8)), 0x3f80);
  EXPECT_EQ(float_to_bfloat(1 + 3 * std::ldexp(1.0, -8)), 0x3f82);
  for (u32 bits = 0; bits < 0x7c00; ++bits)
    ASSERT_EQ(float_to_half(half_to_float(static_cast<u16>(bits))), bits);
}

TEST_F(Arithmetic, WhatIsNotComputedHereIsRefusedByName) {
  for (const char* refused :
       {"add.ftz.f32 %f0, %f1, %f2;", "div.approx.f32 %f0, %f1, %f2;", "rsqrt.approx.ftz.f32 %f0, %f1;",
        "ex2.approx.ftz.f32 %f0, %f1;", "ex2.approx.f16 %h0, %h1;", "rcp.approx.ftz.f32 %f0, %f1;",
        "add.rz.f32 %f0, %f1, %f2;", "tex.1d.v4.f32.s32 x;", "fma.rn.f16 %h0, %h1, %h2, %h3;",
        "add.sat.s32 %r0, %r1, %r2;", "max.NaN.f32 %f0, %f1, %f2;", "cvt.rz.f16.f32 %h0, %f0;",
        "cvt.rz.f32.s32 %f0, %r0;", "cvt.rn.bf16.f64 %h0, %d0;", "bar.red.popc.u32 %r0, 0, %q0;"})
    EXPECT_THAT(fault_of(refused), HasSubstr("instruction not known: ")) << refused;
}

}  // namespace
}  // namespace convscope::ptx
