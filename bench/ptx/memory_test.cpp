#include "bench/ptx/test_kernels.hpp"

namespace convscope::ptx {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr const char* kShared = ".shared .align 16 .b8 s[256];\n";
constexpr const char* kTwoShared = ".shared .align 4 .b8 s[128];\n.shared .align 4 .b8 t[128];\n";

class Memory : public Machine {
 protected:
  Memory() : data_(64, 5) {}
  // Of a body with the address of 64 words in %rd0.
  std::string with_data(const std::string& body) {
    launch_.parameters.clear();
    ranges_.clear();
    add(data_);
    return fault_of(body, kShared);
  }
  std::vector<u32> data_;
};

TEST_F(Memory, LoadsExtendAndStoresTruncate) {
  data_[0] = 0xfffefdff;
  EXPECT_EQ(
      with_data("ld.global.s8 %r1, [%rd0]; st.global.u32 [%rd0+4], %r1; ld.global.u8 %r1, [%rd0+1];"
                "st.global.u32 [%rd0+8], %r1; ld.global.s16 %r1, [%rd0+2]; st.global.u32 [%rd0+12], %r1;"
                "mov.u32 %r2, 0x12345678; st.global.u8 [%rd0+16], %r2;"),
      "");
  EXPECT_EQ(data_[1], 0xffffffffu);
  EXPECT_EQ(data_[2], 0xfdu);
  EXPECT_EQ(data_[3], 0xfffffffeu);
  EXPECT_EQ(data_[4], 0x78u);
}

TEST_F(Memory, ASignedParameterIsExtendedToAWideRegister) {
  add(data_);
  add_address(0xfffffffe);
  EXPECT_EQ(fault_of("ld.param.s32 %x0, [p1]; st.global.u64 [%rd0], %x0;"), "");
  EXPECT_EQ(data_[0], 0xfffffffeu);
  EXPECT_EQ(data_[1], 0xffffffffu);
}

TEST_F(Memory, VectorsGoToConsecutiveWords) {
  EXPECT_EQ(
      with_data("mov.u32 %r1, 1; mov.u32 %r2, 2; mov.u32 %r3, 3; mov.u32 %r4, 4;"
                "st.global.v4.u32 [%rd0+16], {%r1, %r2, %r3, %r4}; ld.global.v2.u32 {%r5, %r6}, [%rd0+24];"
                "st.global.v2.u32 [%rd0], {%r6, %r5};"),
      "");
  EXPECT_THAT(std::vector(data_.begin(), data_.begin() + 8), ::testing::ElementsAre(4, 3, 5, 5, 1, 2, 3, 4));
}

TEST_F(Memory, GlobalAccessesOutsideAnAllocationAreFaults) {
  EXPECT_THAT(with_data("ld.global.u32 %r1, [%rd0+256];"), HasSubstr("which is in no allocation"));
  EXPECT_THAT(with_data("st.global.u32 [%rd0+-4], %r1;"), HasSubstr("writes 4 bytes"));
  launch_.describe = [](u64) { return "which was freed"; };
  EXPECT_THAT(with_data("ld.u32 %r1, [%rd0+4096];"), HasSubstr("which was freed"));
  EXPECT_THAT(with_data("ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%rd0+248];"),
              AllOf(HasSubstr("8 bytes beyond an allocation of 256"), HasSubstr("thread (0,0,0)")));
}

TEST_F(Memory, MisalignedAccessesAreFaults) {
  EXPECT_THAT(with_data("ld.global.u32 %r1, [%rd0+2];"), HasSubstr("not aligned"));
  EXPECT_THAT(with_data("ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%rd0+8];"), HasSubstr("not aligned"));
  EXPECT_THAT(with_data("ld.shared.u64 %x0, [s+4];"), HasSubstr("not aligned"));
}

TEST_F(Memory, SharedAccessesOutsideAVariableAreFaults) {
  EXPECT_THAT(with_data("st.shared.u32 [s+256], %r1;"), HasSubstr("between the variables"));
  EXPECT_THAT(with_data("mov.u32 %r2, 0; st.shared.u32 [%r2], %r1;"), HasSubstr("of shared memory"));
  EXPECT_THAT(with_data("mov.u64 %x1, s; add.s64 %x1, %x1, 100000; st.shared.u32 [%x1], %r1;"),
              HasSubstr("of shared memory, which ends at"));
  EXPECT_THAT(fault_of("ld.shared.u32 %r1, [s+128];", kTwoShared), HasSubstr("between the variables"));
}

TEST_F(Memory, DynamicSharedMemoryEndsWhereTheLaunchSays) {
  const std::string outside = ".extern .shared .align 16 .b8 dynamic[];\n";
  launch_.dynamic_shared = 64;
  EXPECT_EQ(fault_of("st.shared.u32 [dynamic+60], %r1;", outside), "");
  EXPECT_THAT(fault_of("st.shared.u32 [dynamic+64], %r1;", outside), HasSubstr("which ends at"));
}

TEST_F(Memory, SharedMemoryIsNanUntilWritten) {
  EXPECT_EQ(with_data("ld.shared.u32 %r1, [s+8]; st.global.u32 [%rd0], %r1;"), "");
  EXPECT_EQ(data_[0], 0xffffffffu);
}

TEST_F(Memory, ParametersAndLocalMemoryEndWhereTheyEnd) {
  EXPECT_THAT(with_data("ld.param.u64 %x0, [p0+8];"), HasSubstr("beyond the parameters"));
  EXPECT_THAT(with_data(".local .align 4 .b8 own[8]; st.local.u32 [own+8], %r1;"),
              HasSubstr("beyond local memory"));
}

TEST_F(Memory, AtomicsOfAllLanesAddUp) {
  launch_.block.x = 96;
  data_[0] = 0;
  data_[1] = 7;
  EXPECT_EQ(with_data("mov.u32 %r1, 2; red.global.add.u32 [%rd0], %r1; mov.u32 %r2, %tid.x;"
                      "atom.global.max.u32 %r3, [%rd0+4], %r2; atom.global.cas.b32 %r3, [%rd0+8], 5, 9;"),
            "");
  EXPECT_EQ(data_[0], 192u);
  EXPECT_EQ(data_[1], 95u);
  EXPECT_EQ(data_[2], 9u);
}

TEST_F(Memory, AnAsynchronousCopyLandsAtItsWaitOrAtOnce) {
  const std::string copy =
      "mov.u32 %r1, 1; st.shared.u32 [s], %r1; mov.u32 %r9, s; cp.async.ca.shared.global [%r9], [%rd0+4], 4;"
      "cp.async.commit_group; ld.shared.u32 %r2, [s]; st.global.u32 [%rd0+8], %r2; cp.async.wait_group 0;"
      "ld.shared.u32 %r2, [s]; st.global.u32 [%rd0+12], %r2;";
  EXPECT_EQ(with_data(copy), "");
  EXPECT_EQ(data_[2], 1u) << "not landed yet";
  EXPECT_EQ(data_[3], 5u);
  options_.late = false;
  EXPECT_EQ(with_data(copy), "");
  EXPECT_EQ(data_[2], 5u);
}

TEST_F(Memory, OnlyTheGroupsThatAreWaitedForHaveLanded) {
  EXPECT_EQ(with_data("mov.u32 %r9, s; cp.async.ca.shared.global [%r9], [%rd0+4], 4; cp.async.commit_group;"
                      "cp.async.ca.shared.global [%r9+4], [%rd0+4], 4; cp.async.commit_group;"
                      "cp.async.wait_group 1; ld.shared.u32 %r2, [s]; st.global.u32 [%rd0+8], %r2;"
                      "ld.shared.u32 %r2, [s+4]; st.global.u32 [%rd0+12], %r2;"),
            "");
  EXPECT_EQ(data_[2], 5u);
  EXPECT_EQ(data_[3], 0xffffffffu);
}

TEST_F(Memory, ACopyOfFewerBytesFillsTheRestWithZeros) {
  EXPECT_EQ(
      with_data("mov.u32 %r9, s; cp.async.cg.shared.global [%r9], [%rd0+16], 16, 8; cp.async.wait_all;"
                "ld.shared.v4.u32 {%r1, %r2, %r3, %r4}, [s]; st.global.v4.u32 [%rd0], {%r1, %r2, %r3, %r4};"),
      "");
  EXPECT_THAT(std::vector(data_.begin(), data_.begin() + 4), ::testing::ElementsAre(5, 5, 0, 0));
}

TEST_F(Memory, CopiesOfWrongSizesOrPlacesAreFaults) {
  const std::string at = "mov.u32 %r9, s; ";
  EXPECT_THAT(with_data(at + "cp.async.ca.shared.global [%r9], [%rd0], 12;"), HasSubstr("cp-size"));
  EXPECT_THAT(with_data(at + "cp.async.ca.shared.global [%r9], [%rd0], 8, 12;"), HasSubstr("copies 12 of 8"));
  EXPECT_THAT(with_data(at + "cp.async.cg.shared.global [%r9+8], [%rd0], 16;"), HasSubstr("not aligned"));
  EXPECT_THAT(with_data(at + "cp.async.cg.shared.global [%r9], [%rd0+256], 16;"),
              HasSubstr("in no allocation"));
}

}  // namespace
}  // namespace convscope::ptx
