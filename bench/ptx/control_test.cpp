#include "bench/ptx/test_kernels.hpp"

namespace convscope::ptx {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class Control : public Machine {
 protected:
  void SetUp() override { launch_.block.x = 32; }
};

TEST_F(Control, DivergedLanesTakeTheirOwnWaysAndMeetAgain) {
  // The vote behind the branch must have all lanes, as those of a GPU's reconvergence point have.
  const auto out = results(R"(
    mov.u32 %r1, %tid.x;
    setp.lt.u32 %q0, %r1, 10;
    @%q0 bra LOW;
    mov.u32 %r0, 100;
    bra.uni JOIN;
  LOW:
    mov.u32 %r0, 7;
  JOIN:
    activemask.b32 %r2;
    popc.b32 %r2, %r2;
    add.u32 %r0, %r0, %r2;)");
  EXPECT_EQ(out[0], 7u + 32);
  EXPECT_EQ(out[31], 100u + 32);
}

TEST_F(Control, EachLaneRunsALoopAsOftenAsItMust) {
  const auto out = results(R"(
    mov.u32 %r1, %tid.x;
    mov.u32 %r0, 0;
  AGAIN:
    setp.eq.u32 %q0, %r1, 0;
    @%q0 bra DONE;
    add.u32 %r0, %r0, 2;
    sub.u32 %r1, %r1, 1;
    bra AGAIN;
  DONE:)");
  for (u32 t = 0; t < 32; ++t) EXPECT_EQ(out[t], 2 * t);
}

TEST_F(Control, LanesThatReturnedNoLongerCount) {
  const auto out = results(R"(
    mov.u32 %r1, %tid.x;
    setp.ge.u32 %q0, %r1, 4;
    @%q0 ret;
    activemask.b32 %r0;)");
  EXPECT_EQ(out[0], 0xfu);
  EXPECT_EQ(out[5], 0xdeadbeefu);
}

TEST_F(Control, ShufflesReadOtherLanesWithinTheirSegments) {
  const std::string tid = "mov.u32 %r1, %tid.x; ";
  const auto up = results(tid + "shfl.sync.up.b32 %r0|%q0, %r1, 1, 0, -1;");
  EXPECT_EQ(up[0], 0u);
  EXPECT_EQ(up[9], 8u);
  const auto down = results(tid + "shfl.sync.down.b32 %r0, %r1, 2, 31, -1;");
  EXPECT_EQ(down[31], 31u);
  EXPECT_EQ(down[3], 5u);
  const auto butterfly = results(tid + "shfl.sync.bfly.b32 %r0, %r1, 16, 31, -1;");
  EXPECT_EQ(butterfly[3], 19u);
  const auto index = results(tid + "shfl.sync.idx.b32 %r0, %r1, 1, 0x1807, -1;");  // segments of 8
  EXPECT_EQ(index[13], 9u);
}

TEST_F(Control, VotesAndElectionsAgreeInAllLanes) {
  EXPECT_THAT(results("mov.u32 %r1, %tid.x; setp.lt.u32 %q0, %r1, 3; vote.sync.ballot.b32 %r0, %q0, -1;"),
              Each(7u));
  EXPECT_THAT(results("mov.u32 %r1, %tid.x; setp.lt.u32 %q0, %r1, 3; vote.sync.any.pred %q1, %q0, -1;"
                      "selp.u32 %r0, 1, 0, %q1;"),
              Each(1u));
  EXPECT_THAT(results("mov.u32 %r1, %tid.x; setp.lt.u32 %q0, %r1, 3; vote.sync.all.pred %q1, %q0, -1;"
                      "selp.u32 %r0, 1, 0, %q1;"),
              Each(0u));
  const auto elected = results("elect.sync %r1|%q0, -1; selp.u32 %r0, 1, 0, %q0;");
  EXPECT_EQ(std::count(elected.begin(), elected.end(), 1u), 1);
}

TEST_F(Control, ACollectiveThatLacksLanesOfItsMaskIsAFault) {
  const std::string half = "mov.u32 %r1, %tid.x; setp.ge.u32 %q0, %r1, 16; @%q0 bra PAST;";
  EXPECT_THAT(fault_of(half + "bar.warp.sync 255; PAST:"), HasSubstr("is not in the mask it gives"));
  EXPECT_THAT(fault_of(half + "shfl.sync.idx.b32 %r0, %r1, 20, 31, 65535; PAST:"),
              HasSubstr("shuffles from lane 20, which takes no part"));
  EXPECT_THAT(
      fault_of("mov.u32 %r1, %tid.x; setp.ge.u32 %q0, %r1, 16; @%q0 bra OTHER; bar.warp.sync -1; bra END;"
               "OTHER: bar.sync 0; END:"),
      HasSubstr("is missing in a collective"));
}

TEST_F(Control, TrapNamesItsThread) {
  EXPECT_THAT(fault_of("mov.u32 %r1, %tid.x; setp.eq.u32 %q0, %r1, 5; @%q0 trap;"),
              AllOf(HasSubstr("thread (5,0,0): trap"), HasSubstr("k: block (0,0,0)")));
}

TEST_F(Control, SpecialRegistersSayWhereAThreadIs) {
  launch_.block = {4, 3, 2};
  launch_.grid = {2, 1, 3};
  std::vector<u32> out(4 * 3 * 2 * 6, 0);
  add(out);
  run_kernel(R"(
    mov.u32 %r1, %ctaid.z; mov.u32 %r2, %nctaid.x; mov.u32 %r3, %ctaid.x;
    mad.lo.u32 %r4, %r1, %r2, %r3;
    mov.u32 %r5, %tid.z; mov.u32 %r6, %ntid.y; mov.u32 %r7, %tid.y;
    mad.lo.u32 %r5, %r5, %r6, %r7;
    mov.u32 %r6, %ntid.x; mov.u32 %r7, %tid.x;
    mad.lo.u32 %r5, %r5, %r6, %r7;
    mad.lo.u32 %r4, %r4, 24, %r5;
    mul.wide.u32 %x0, %r4, 4; add.s64 %x0, %rd0, %x0; add.u32 %r4, %r4, 1; st.global.u32 [%x0], %r4;)");
  for (u32 n = 0; n < out.size(); ++n) EXPECT_EQ(out[n], n + 1);
}

TEST_F(Control, ALaunchThatDoesNotFitItsKernelIsAFault) {
  module_ = std::make_unique<Module>(".entry k(.param .u32 a)\n.maxntid 64, 1, 1\n{\nret;\n}\n");
  launch_.kernel = module_->kernel("k");
  launch_.parameters.resize(4);
  EXPECT_NO_THROW(run(launch_, options_));
  launch_.block.x = 65;
  EXPECT_THROW(run(launch_, options_), Fault);
  launch_.block.x = 64;
  launch_.parameters.resize(8);
  EXPECT_THROW(run(launch_, options_), Fault);
}

TEST_F(Control, TextThatIsNotUnderstoodIsAFaultNotAGuess) {
  for (const char* wrong : {"bra NOWHERE;", "add.u32 %r0, %nothing, 1;", "@%q99 ret;",
                            "st.global.u32 [what], %r0;", "setp.eq.u32 %q0|%q1, %r0, 1;"})
    EXPECT_NE(fault_of(wrong), "") << wrong;
  EXPECT_THROW(Module(".global .u32 x;\n"), Fault);
  Module unfinished(".entry k()\n{\nadd.u32 %r0");
  EXPECT_THROW(unfinished.kernel("k"), Fault);
  EXPECT_EQ(unfinished.kernel("other"), nullptr);
}

TEST_F(Control, StatisticsTellWhichInstructionsWereReached) {
  const Statistics done =
      run_kernel("mov.u32 %r1, 1; setp.eq.u32 %q0, %r1, 2; @%q0 bra PAST; mov.u32 %r2, 3; PAST:");
  EXPECT_GT(done.warp_instructions, 3u);
  const auto runs_of = [&](const std::string& text) {
    for (size_t i = 0; i < done.runs.size(); ++i)
      if (launch_.kernel->texts[launch_.kernel->code[i].line].text == text) return done.runs[i];
    return u64{99};
  };
  EXPECT_EQ(runs_of("@%q0 bra PAST"), 0u);
  EXPECT_EQ(runs_of("mov.u32 %r2, 3"), 1u);
}

}  // namespace
}  // namespace convscope::ptx
