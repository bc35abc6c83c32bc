#include "bench/report/format.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace convscope {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Shortened, JoinsNeighboursThatCountUp) {
  EXPECT_THAT(shortened({"a.cpu", "x.0.cuda", "x.1.cuda", "x.2.cuda", "x.4.cuda", "x.5.cuda", "b.cpu"}),
              ElementsAre("a.cpu", "x.{0..2}.cuda", "x.4.cuda", "x.5.cuda", "b.cpu"));
  EXPECT_THAT(shortened({"x.9", "x.10", "x.11"}), ElementsAre("x.{9..11}"));
}

TEST(Shortened, LeavesIdsWhoseNumbersAreNoPartsOfTheirOwn) {
  EXPECT_THAT(shortened({"fft16.cpu", "fft17.cpu", "fft18.cpu"}),
              ElementsAre("fft16.cpu", "fft17.cpu", "fft18.cpu"));
  EXPECT_THAT(shortened({"x.1.cpu", "y.2.cpu", "x.3.cuda"}), ElementsAre("x.1.cpu", "y.2.cpu", "x.3.cuda"));
  EXPECT_THAT(shortened({}), IsEmpty());
}

}  // namespace
}  // namespace convscope
