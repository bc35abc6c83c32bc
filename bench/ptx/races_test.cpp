#include "bench/ptx/test_kernels.hpp"

namespace convscope::ptx {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kOneVariable = ".shared .align 16 .b8 s[256];\n";
// %q1: the thread is of warp 1; %q2: it is the first of its warp.
constexpr const char* kWho =
    "mov.u32 %r1, %tid.x; setp.ge.u32 %q1, %r1, 32; and.b32 %r2, %r1, 31; setp.eq.u32 %q2, %r2, 0;\n";

class TwoWarps : public Machine {
 protected:
  void SetUp() override { launch_.block.x = 64; }
  std::string fault(const std::string& body) {
    warnings_.clear();
    return fault_of(kWho + body, kOneVariable);
  }
  const std::string write_ = "@!%q1 st.shared.u32 [s], %r1;\n", read_ = "@%q1 ld.shared.u32 %r3, [s];\n";
};

TEST_F(TwoWarps, AReadOfAnotherWarpsWriteWithoutABarrierIsARace) {
  EXPECT_EQ(fault(write_ + read_), "");
  EXPECT_THAT(warnings_, Contains(HasSubstr("race: reads a word that warp 0 wrote")));
  EXPECT_EQ(fault(write_ + "bar.sync 0;\n" + read_), "");
  EXPECT_THAT(warnings_, IsEmpty());
}

TEST_F(TwoWarps, ARaceIsSeenInEveryOrderOfTheWarps) {
  for (const Order order : {Order::forward, Order::reverse, Order::random}) {
    options_.order = order;
    EXPECT_EQ(fault(write_ + read_), "");
    EXPECT_THAT(warnings_, Contains(HasSubstr("race"))) << static_cast<int>(order);
  }
}

TEST_F(TwoWarps, AWriteOverAnotherWarpsReadOrWriteIsARace) {
  EXPECT_EQ(fault("@%q1 st.shared.u32 [s], %r1;\n" + write_), "");
  EXPECT_THAT(warnings_, Contains(HasSubstr("writes a word that warp")));
  options_.order = Order::reverse;  // the reading warp goes first
  EXPECT_EQ(fault(write_ + "bar.sync 0;\n@!%q1 ld.shared.u32 %r3, [s];\n@%q1 st.shared.u32 [s], %r1;\n"), "");
  EXPECT_THAT(warnings_, Contains(HasSubstr("race: writes a word that warp 0 read")));
}

TEST_F(TwoWarps, OneWarpMayUseItsOwnWordsAndTwoBytesOfOneWord) {
  EXPECT_EQ(
      fault("@!%q1 st.shared.u32 [s], %r1;\n@!%q1 ld.shared.u32 %r3, [s];\n@%q1 st.shared.u32 [s+4], %r1;\n"),
      "");
  EXPECT_EQ(fault("@!%q1 st.shared.u8 [s], %r1;\n@%q1 st.shared.u8 [s+1], %r1;\n"), "");
  EXPECT_THAT(warnings_, IsEmpty());
}

TEST_F(TwoWarps, WhoOnlyArrivesAtABarrierIsNotOrderedBehindIt) {
  const std::string arrive = "@%q1 bra WAIT;\nst.shared.u32 [s], %r1;\nbar.arrive 1, 64;\n";
  const std::string wait =
      "bra END;\nWAIT: bar.sync 1, 64;\nld.shared.u32 %r3, [s];\nld.shared.u32 %r3, [s+128];\nEND:";
  EXPECT_EQ(fault(arrive + wait), "");
  EXPECT_THAT(warnings_, IsEmpty());
  EXPECT_EQ(fault(arrive + "st.shared.u32 [s+128], %r1;\n" + wait), "");
  EXPECT_THAT(warnings_, Contains(HasSubstr("race")));
}

TEST_F(TwoWarps, BarriersOfWrongCountsAreFaults) {
  EXPECT_THAT(fault("bar.sync 1, 40;"), HasSubstr("a barrier of 40 threads"));
  EXPECT_THAT(fault("bar.sync 16;"), HasSubstr("barrier 16"));
  EXPECT_THAT(fault("@%q1 bra OTHER;\nbar.sync 1, 64;\nbra END;\nOTHER: bar.sync 1, 96;\nEND:"),
              HasSubstr("others wait at it for"));
}

TEST_F(TwoWarps, WhoWaitsForNobodyIsNamedInADeadlock) {
  EXPECT_THAT(fault("@%q1 bar.sync 1, 64;"),
              AllOf(HasSubstr("nobody can go on"), HasSubstr("warp 1 lanes 0xffffffff"),
                    HasSubstr("bar.sync 1, 64")));
}

TEST_F(TwoWarps, AWarpThatReturnedIsNotWaitedForAtBarrier0) {
  EXPECT_EQ(fault("@%q1 ret;\nbar.sync 0;"), "");
}

class Mbarriers : public TwoWarps {
 protected:
  // An mbarrier of two arrivals at [s]; the words of both warps behind it.
  const std::string init_ =
      "setp.eq.u32 %q3, %r1, 0;\n@%q3 mbarrier.init.shared::cta.b64 [s], 2;\nbar.sync 0;\n";
  const std::string arrive_ = "@%q2 mbarrier.arrive.shared::cta.b64 %x0, [s];\n";
  const std::string wait_ =
      "AGAIN: mbarrier.try_wait.parity.shared::cta.b64 %q4, [s], 0;\n@!%q4 bra AGAIN;\n";
};

TEST_F(Mbarriers, AnMbarrierOrdersWhatWasDoneBeforeItsArrivals) {
  EXPECT_EQ(fault(init_ + "@!%q1 st.shared.u32 [s+16], %r1;\n" + arrive_ + wait_ +
                  "@%q1 ld.shared.u32 %r3, [s+16];\n"),
            "");
  EXPECT_THAT(warnings_, IsEmpty());
  EXPECT_EQ(fault(init_ + arrive_ + "@!%q1 st.shared.u32 [s+16], %r1;\n" + wait_ +
                  "@%q1 ld.shared.u32 %r3, [s+16];\n"),
            "");
  EXPECT_THAT(warnings_, Contains(HasSubstr("race")));
}

TEST_F(Mbarriers, TooFewArrivalsAreADeadlockAndTooManyAFault) {
  EXPECT_THAT(fault(init_ + "@%q3 mbarrier.arrive.shared::cta.b64 %x0, [s];\n" + wait_),
              HasSubstr("nobody can go on"));
  EXPECT_THAT(fault(init_ + "@%q3 mbarrier.arrive.shared::cta.b64 %x0, [s], 3;\n"),
              HasSubstr("at which all have arrived"));
}

TEST_F(Mbarriers, OnesThatDoNotExistAndParitiesThatAreNoneAreFaults) {
  EXPECT_THAT(fault("mbarrier.arrive.shared::cta.b64 %x0, [s];"), HasSubstr("no mbarrier at"));
  EXPECT_THAT(fault("mbarrier.init.shared::cta.b64 [s], 0;"), HasSubstr("an mbarrier of 0 arrivals"));
  EXPECT_THAT(fault(init_ + "mbarrier.try_wait.parity.shared::cta.b64 %q4, [s], 2;"),
              HasSubstr("phase parity 2"));
}

}  // namespace
}  // namespace convscope::ptx
