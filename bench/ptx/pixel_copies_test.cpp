// TMA's im2col mode: runs of pixels of a box, from global to shared memory.
#include "bench/ptx/tensor_map.hpp"
#include "bench/ptx/test_kernels.hpp"

namespace convscope::ptx {
namespace {

using ::testing::HasSubstr;

// 2 images of 3 rows of 4 pixels of 4 floats; a pixel has its number, from 1, as its first channel, and the
// others go on by 1000. Copies are of 8 pixels from the box of a 3x3 filter with padding 1.
class PixelCopies : public Machine {
 protected:
  PixelCopies() : tensor_(2 * 3 * 4 * 4), out_(32), map_(128 / 4 + 16) {
    for (size_t n = 0; n < tensor_.size(); ++n) tensor_[n] = static_cast<float>(n / 4 + 1 + n % 4 * 1000);
    map_of_.magic = kTensorMapMagic;
    map_of_.base = reinterpret_cast<u64>(tensor_.data());
    map_of_.element_bytes = 4;
    set_sizes({4, 3, 2});
    map_of_.box[0] = 4;
    map_of_.pixels = 8;
    for (int d = 0; d < 2; ++d) map_of_.lower[d] = map_of_.upper[d] = -1;
  }
  // Of the dimensions after the channels.
  void set_sizes(const std::vector<u32>& sizes) {
    map_of_.rank = static_cast<u8>(sizes.size() + 1);
    map_of_.size_less_one[0] = 3;
    u64 stride = 16;
    for (size_t d = 0; d < sizes.size(); ++d) {
      map_of_.size_less_one[d + 1] = sizes[d] - 1;
      map_of_.stride[d] = stride;
      stride *= sizes[d];
    }
    std::fill_n(map_of_.step, 5, u8{1});
  }

  static std::string list(const std::vector<int>& numbers) {
    std::string text;
    for (const int n : numbers) text += (text.empty() ? "" : ", ") + std::to_string(n);
    return text;
  }
  // Copies and hands out the first channels; or the fault's text in `fault_`.
  std::vector<float> copy(const std::vector<int>& at, const std::vector<int>& offset,
                          const std::string& mode = "im2col.") {
    launch_.parameters.clear();
    ranges_.clear();
    std::fill(out_.begin(), out_.end(), -1.0f);
    const u64 map = (reinterpret_cast<u64>(map_.data()) + 63) / 64 * 64;
    std::memcpy(reinterpret_cast<void*>(map), &map_of_, sizeof map_of_);
    add_address(map);
    ranges_.push_back({reinterpret_cast<u64>(map_.data()), reinterpret_cast<u64>(map_.data() + map_.size())});
    add(out_);
    add(tensor_);
    launch_.block.x = 32;
    std::string moves, registers;
    for (size_t d = 0; d < offset.size(); ++d) {
      moves += "mov.u16 %h" + std::to_string(d) + ", " + std::to_string(offset[d]) + ";";
      registers += (d ? ", %h" : "%h") + std::to_string(d);
    }
    fault_ = fault_of(
        "mov.u32 %r1, %tid.x; setp.eq.u32 %q0, %r1, 0; mov.u32 %r2, s; mov.u32 %r3, bar;" + moves +
            "@%q0 mbarrier.init.shared::cta.b64 [bar], 1; bar.sync 0;"
            "@%q0 mbarrier.arrive.expect_tx.shared::cta.b64 %x0, [bar], 128;"
            "@%q0 cp.async.bulk.tensor." +
            std::to_string(at.size()) + "d.shared::cluster.global." + mode +
            "mbarrier::complete_tx::bytes [%r2], [%rd0, {" + list(at) + "}], [%r3]" +
            (mode.empty() ? "" : ", {" + registers + "}") +
            ";AGAIN: mbarrier.try_wait.parity.shared::cta.b64 %q1, [bar], 0; @!%q1 bra AGAIN;"
            "shl.b32 %r6, %r1, 2; add.u32 %r6, %r6, %r2; ld.shared.u32 %r7, [%r6]; mul.wide.u32 %x1, %r1, 4;"
            "add.s64 %x1, %rd1, %x1; st.global.u32 [%x1], %r7;",
        ".shared .align 128 .b8 s[1024];\n.shared .align 8 .b8 bar[8];\n");
    std::vector<float> first;
    for (size_t pixel = 0; pixel < 8; ++pixel) first.push_back(out_[pixel * 4]);
    return first;
  }

  TensorMap map_of_;
  std::vector<float> tensor_, out_;
  std::vector<u32> map_;
  std::string fault_;
};

TEST_F(PixelCopies, ARunGoesOnWithTheNextRowAndTheNextImage) {
  // From the last row of the box, -1 to 1, at x = 1 of -1 to 2.
  EXPECT_EQ(copy({0, 1, 1, 0}, {1, 1}), std::vector<float>({11, 12, 13, 14, 15, 16, 17, 18})) << fault_;
  EXPECT_EQ(out_[1], 1011);
  EXPECT_EQ(out_[31], 3018);
}

TEST_F(PixelCopies, TheOffsetIsAddedToEachPixelAndWhatIsOutsideIsZeroOrNan) {
  EXPECT_EQ(copy({0, 1, 1, 0}, {2, 0}), std::vector<float>({8, 0, 0, 0, 0, 0, 14, 15})) << fault_;
  EXPECT_EQ(copy({0, 1, 1, 1}, {0, 2}), std::vector<float>({0, 0, 0, 0, 0, 0, 0, 0})) << fault_;
  EXPECT_EQ(copy({0, 1, 1, 1}, {1, 1}), std::vector<float>({23, 24, 0, 0, 0, 0, 0, 0}))
      << "no image after the second";
  map_of_.nan_fill = 1;
  EXPECT_TRUE(copy({0, 1, 1, 1}, {1, 1})[2] != out_[2 * 4]);
}

TEST_F(PixelCopies, AStepCountsFromTheLowerCornerInEachRow) {
  map_of_.step[1] = 2, map_of_.step[2] = 2;
  // x is -1, 1; y is -1, 1.
  EXPECT_EQ(copy({0, -1, -1, 0}, {1, 1}), std::vector<float>({1, 3, 9, 11, 13, 15, 21, 23})) << fault_;
  EXPECT_EQ(copy({0, 1, -1, 0}, {2, 1}), std::vector<float>({4, 10, 12, 14, 16, 22, 24, 0})) << fault_;
}

TEST_F(PixelCopies, CornersAreOfOneDimensionEach) {
  map_of_.lower[0] = 1, map_of_.upper[0] = 0;   // x is 1 to 3
  map_of_.lower[1] = 0, map_of_.upper[1] = -1;  // y is 0 to 1
  EXPECT_EQ(copy({0, 3, 0, 0}, {0, 0}), std::vector<float>({4, 6, 7, 8, 14, 15, 16, 18})) << fault_;
}

TEST_F(PixelCopies, OfImagesOfOneAndThreeDimensions) {
  set_sizes({6, 4});
  map_of_.lower[0] = 0, map_of_.upper[0] = -2;
  EXPECT_EQ(copy({0, 2, 1}, {2}), std::vector<float>({11, 12, 15, 16, 17, 18, 21, 22})) << fault_;
  set_sizes({2, 2, 3, 2});
  std::fill_n(map_of_.lower, 3, s16{0});
  std::fill_n(map_of_.upper, 3, s16{0});
  map_of_.upper[2] = -1;
  EXPECT_EQ(copy({0, 0, 0, 1, 0}, {0, 0, 1}), std::vector<float>({9, 10, 11, 12, 17, 18, 19, 20})) << fault_;
}

TEST_F(PixelCopies, AStepOfImagesIsTaken) {
  set_sizes({2, 2, 6});
  map_of_.lower[0] = map_of_.lower[1] = map_of_.upper[0] = map_of_.upper[1] = 0;
  map_of_.step[3] = 2;
  EXPECT_EQ(copy({0, 0, 1, 1}, {0, 0}), std::vector<float>({7, 8, 13, 14, 15, 16, 21, 22})) << fault_;
}

TEST_F(PixelCopies, WithSwizzleBeginALineInEachOfItsSpans) {
  map_of_.swizzle = 1;  // 32 bytes: 4 of 8 lines of 16 bytes are in what is handed out
  copy({0, 1, 1, 0}, {1, 1});
  EXPECT_EQ(fault_, "");
  for (const size_t line : {0u, 1u, 2u, 3u}) EXPECT_EQ(out_[line * 8], static_cast<float>(11 + line));
}

TEST_F(PixelCopies, ElementsOfTheTypeTfloat32AreRounded) {
  tensor_[0] = 1 + 3 * 0x1p-12f;
  map_of_.rounds_to_tf32 = 1;
  EXPECT_EQ(copy({0, -1, -1, 0}, {1, 1})[0], 1 + 0x1p-10f) << fault_;
}

TEST_F(PixelCopies, ChannelsBehindTheLastAreZero) {
  copy({4, -1, -1, 0}, {1, 1});
  EXPECT_EQ(fault_, "");
  EXPECT_EQ(out_, std::vector<float>(32));
  map_of_.size_less_one[0] = 1;
  EXPECT_EQ(copy({0, -1, -1, 0}, {1, 1})[0], 1) << fault_;
  EXPECT_EQ(out_[1], 1001);
  EXPECT_EQ(out_[2], 0);
}

TEST_F(PixelCopies, ThatAGpuDoesNotAllowAreFaults) {
  const auto fault = [&](const std::vector<int>& at, const std::vector<int>& offset,
                         const std::string& mode = "im2col.") {
    copy(at, offset, mode);
    return fault_;
  };
  EXPECT_EQ(fault({0, -1, -1, 0}, {255, 0}), "");
  EXPECT_THAT(fault({0, -1, -1, 0}, {0, 256}), HasSubstr("an im2col offset of 256 in 4 dimensions"));
  EXPECT_THAT(fault({0, 3, -1, 0}, {0, 0}), HasSubstr("from 3, outside its box, in dimension 1"));
  EXPECT_THAT(fault({0, 0, -2, 0}, {0, 0}), HasSubstr("from -2, outside its box, in dimension 2"));
  EXPECT_THAT(fault({2, 0, 0, 0}, {0, 0}), HasSubstr("8 bytes, which is no multiple of 16"));
  EXPECT_THAT(fault({0, 0, 0, 0}, {0, 0}, ""), HasSubstr("a tensor map of the other mode"));
  map_of_.pixels = 0;
  EXPECT_THAT(fault({0, 0, 0, 0}, {0, 0}), HasSubstr("a tensor map of the other mode"));
  map_of_.pixels = 7;
  EXPECT_THAT(fault({0, 0, 0, 0}, {0, 0}), HasSubstr("nobody can go on"));
}

}  // namespace
}  // namespace convscope::ptx
