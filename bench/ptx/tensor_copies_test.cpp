#include "bench/ptx/half.hpp"
#include "bench/ptx/tensor_map.hpp"
#include "bench/ptx/test_kernels.hpp"

namespace convscope::ptx {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A tensor of 10 rows of 32 floats and a box of 4 rows of 8.
class TensorCopies : public Machine {
 protected:
  TensorCopies() : tensor_(320), out_(32), map_(128 / 4 + 16) {
    for (size_t n = 0; n < tensor_.size(); ++n) tensor_[n] = static_cast<float>(n);
  }

  TensorMap map() const {
    TensorMap m;
    m.magic = kTensorMapMagic;
    m.base = reinterpret_cast<u64>(tensor_.data());
    m.rank = 2;
    m.element_bytes = 4;
    m.size_less_one[0] = 31;
    m.size_less_one[1] = 9;
    m.stride[0] = 128;
    m.box[0] = 8;
    m.box[1] = 4;
    m.step[0] = m.step[1] = 1;
    return m;
  }

  // Copies the box at (x, y) and hands out the 32 words of shared memory behind it.
  std::string copy(const TensorMap& m, int x, int y, const std::string& wait = kWait, int bytes = 128) {
    launch_.parameters.clear();
    ranges_.clear();
    warnings_.clear();
    std::fill(out_.begin(), out_.end(), -1.0f);
    const u64 at = (reinterpret_cast<u64>(map_.data()) + 63) / 64 * 64;
    std::memcpy(reinterpret_cast<void*>(at), &m, sizeof m);
    add_address(at);
    ranges_.push_back({reinterpret_cast<u64>(map_.data()), reinterpret_cast<u64>(map_.data() + map_.size())});
    add(out_);
    add(tensor_);
    launch_.block.x = 32;
    return fault_of(
        "mov.u32 %r1, %tid.x; setp.eq.u32 %q0, %r1, 0; mov.u32 %r2, s; mov.u32 %r3, bar;"
        "@%q0 mbarrier.init.shared::cta.b64 [bar], 1; mov.u32 %r4, " +
            std::to_string(x) + "; mov.u32 %r5, " + std::to_string(y) +
            "; mov.u32 %r8, 0; bar.sync 0;"
            "@%q0 mbarrier.arrive.expect_tx.shared::cta.b64 %x0, [bar], " +
            std::to_string(bytes) +
            ";"
            "@%q0 cp.async.bulk.tensor." +
            std::to_string(rank_) +
            "d.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%rd0, {%r4, %r5" +
            std::string(rank_ == 5   ? ", %r8, %r8, %r8"
                        : rank_ == 4 ? ", %r8, %r8"
                                     : "") +
            "}], [%r3];" + wait +
            "shl.b32 %r6, %r1, 2; add.u32 %r6, %r6, %r2; ld.shared.u32 %r7, [%r6]; mul.wide.u32 %x1, %r1, 4;"
            "add.s64 %x1, %rd1, %x1; st.global.u32 [%x1], %r7;",
        ".shared .align 128 .b8 s[1024];\n.shared .align 8 .b8 bar[8];\n");
  }
  static constexpr const char* kWait =
      "AGAIN: mbarrier.try_wait.parity.shared::cta.b64 %q1, [bar], 0; @!%q1 bra AGAIN;";

  std::vector<float> tensor_, out_;
  std::vector<u32> map_;
  int rank_ = 2;  // of the instruction; all coordinates but x and y are 0
};

TEST_F(TensorCopies, ABoxArrivesRowByRow) {
  ASSERT_EQ(copy(map(), 16, 2), "");
  for (size_t n = 0; n < 32; ++n) EXPECT_EQ(out_[n], tensor_[(2 + n / 8) * 32 + 16 + n % 8]);
  EXPECT_THAT(warnings_, IsEmpty());
}

TEST_F(TensorCopies, WhatLiesOutsideTheTensorIsZeroOrNan) {
  ASSERT_EQ(copy(map(), -4, 8), "");
  EXPECT_EQ(out_[3], 0);
  EXPECT_EQ(out_[4], tensor_[8 * 32]);
  EXPECT_EQ(out_[16 + 4], 0);
  TensorMap nan = map();
  nan.nan_fill = 1;
  ASSERT_EQ(copy(nan, -4, 8), "");
  EXPECT_NE(out_[3], out_[3]);
}

TEST_F(TensorCopies, AStepSkipsRows) {
  TensorMap m = map();
  m.step[1] = 2;
  ASSERT_EQ(copy(m, 0, 1, kWait, 64), "");
  EXPECT_EQ(out_[8], tensor_[3 * 32]);
  EXPECT_NE(out_[16], out_[16]) << "two rows arrive";
}

TEST_F(TensorCopies, ASwizzleOf128BytesMovesChunksOf16) {
  TensorMap m = map();
  m.box[0] = 32;
  m.box[1] = 8;
  m.swizzle = 3;
  ASSERT_EQ(copy(m, 0, 0, kWait, 1024), "");
  // Row 0 lies as it is; of row 1 the chunks 2 and 3 are swapped, as of 0 and 1.
  EXPECT_EQ(out_[5], 5);
  EXPECT_EQ(swizzled(128 + 16, 1), 128u);
  EXPECT_EQ(swizzled(7 * 128, 1), 7u * 128 + 7 * 16);
}

TEST_F(TensorCopies, ElementsOfTheTypeTfloat32AreRounded) {
  tensor_[0] = 1 + 3 * 0x1p-12f;
  TensorMap m = map();
  m.rounds_to_tf32 = 1;
  ASSERT_EQ(copy(m, 0, 0), "");
  EXPECT_EQ(out_[0], 1 + 0x1p-10f);
}

TEST_F(TensorCopies, AReadBeforeTheWaitFindsNothingAndIsARace) {
  EXPECT_THAT(copy(map(), 0, 0, ""), HasSubstr("ends before a TMA copy has landed"));
  EXPECT_NE(out_[0], out_[0]);
}

TEST_F(TensorCopies, CopiesThatLandAtOnceGiveTheSame) {
  options_.late = false;
  ASSERT_EQ(copy(map(), 16, 2), "");
  EXPECT_EQ(out_[0], tensor_[2 * 32 + 16]);
}

TEST_F(TensorCopies, ABarrierThatExpectsOtherBytesIsADeadlock) {
  EXPECT_THAT(copy(map(), 0, 0, kWait, 132), HasSubstr("nobody can go on"));
}

// An H100 stops at such a copy with an illegal instruction.
TEST_F(TensorCopies, AFirstCoordinateThatIsNoMultipleOf16BytesIsAFault) {
  for (const int rank : {2, 4, 5})
    for (const int bytes : {4, 2}) {
      rank_ = rank;
      TensorMap m = map();
      m.rank = static_cast<u8>(rank);
      m.element_bytes = static_cast<u8>(bytes);
      m.size_less_one[0] = static_cast<u32>(128 / bytes - 1);
      m.box[0] = static_cast<u16>(32 / bytes);
      for (int d = 2; d < rank; ++d) m.box[d] = m.step[d] = 1;
      for (const int chunk : {-1, 0, 1, 7, 8}) {
        ASSERT_EQ(copy(m, chunk * 16 / bytes, 2), "") << chunk;
        EXPECT_EQ(out_[0], chunk < 0 || chunk > 7 ? 0 : tensor_[static_cast<size_t>(2 * 32 + 4 * chunk)]);
      }
      for (const int x : {-2, -1, 1, 2, 6, 1001})
        EXPECT_THAT(copy(m, x, 2),
                    HasSubstr("coordinate " + std::to_string(x) + " of the innermost dimension, " +
                              std::to_string(x * bytes) + " bytes, which is no multiple of 16"))
            << rank;
    }
}

TEST_F(TensorCopies, MapsThatAreNoneOrOfAnotherRankAreFaults) {
  TensorMap m = map();
  m.magic = 1;
  EXPECT_THAT(copy(m, 0, 0), HasSubstr("not a tensor map"));
  m = map();
  m.rank = 3;
  EXPECT_THAT(copy(m, 0, 0), HasSubstr("a tensor map of rank 3"));
  m = map();
  m.base -= 4096;
  EXPECT_THAT(copy(m, 0, 0), HasSubstr("a TMA copy reads"));
}

}  // namespace
}  // namespace convscope::ptx
