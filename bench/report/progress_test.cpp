#include <gtest/gtest.h>

#include <sstream>

#include "bench/report/console.hpp"
#include "bench/report/format.hpp"

namespace convscope {
namespace {

TEST(ProgressText, EstimatesWhatIsLeftFromWhatIsDone) {
  EXPECT_EQ(progress_text({"conv2", "forward", "direct.cpu", 10, 40, 65}),
            "[10/40] conv2 forward direct.cpu, 1m05s, about 3m15s left");
  EXPECT_EQ(progress_text({"conv2", "forward", "", 0, 40, 2}), "[0/40] conv2 forward, 2 s");
  EXPECT_EQ(progress_text({"", "", "", 40, 40, 7300}), "[40/40], 2h01m");
}

TEST(Progress, DrawsOverItselfAndCutsLongLines) {
  std::ostringstream out;
  Progress progress(out, true, 12);
  progress.update({"conv2", "forward", "direct.cpu", 1, 2, 3});
  EXPECT_EQ(out.str(), "\r\033[K[1/2] conv2");
  progress.clear();
  progress.clear();
  EXPECT_EQ(out.str(), "\r\033[K[1/2] conv2\r\033[K");
}

TEST(Progress, CutsNoCharacterInTwo) {
  std::ostringstream out;
  Progress(out, true, 12).update("[1/2] conv\u00e92");
  EXPECT_EQ(out.str(), "\r\033[K[1/2] conv");
}

TEST(Progress, IsSilentWhenNotEnabled) {
  std::ostringstream out;
  Progress progress(out, false);
  progress.update({"conv2", "forward", "direct.cpu", 1, 2, 3});
  progress.clear();
  EXPECT_EQ(out.str(), "");
}

TEST(Words, ReadWell) {
  EXPECT_EQ(milliseconds_text(1.5), "1500");
  EXPECT_EQ(milliseconds_text(0.0123456), "12.35");
  EXPECT_EQ(milliseconds_text(0.00001234), "0.0123");
  EXPECT_EQ(milliseconds_text(0.0099, 0.0123), "9.90");
  EXPECT_EQ(flops_text(14.33e9), "14.3 GFLOP");
  EXPECT_EQ(flops_text(0), "0 FLOP");
  EXPECT_EQ(bytes_text(int64_t{512}), "512 B");
  EXPECT_EQ(bytes_text(1.5 * (1 << 30)), "1.5 GiB");
  EXPECT_EQ(duration_text(59.6), "1m00s");
  EXPECT_EQ(problem_words(parse_problem("n=1 c=4 hw=9x8 k=6 rs=3x2 stride=2 pad=1x0 dilation=2 groups=2")),
            "N1 C4 9x8 -> K6 3x2 stride 2 pad 1x0 dilation 2 groups 2");
}

}  // namespace
}  // namespace convscope
