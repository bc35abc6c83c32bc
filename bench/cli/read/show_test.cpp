#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/cli/test_program.hpp"
#include "bench/core/error.hpp"

namespace convscope {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(Show, PrintsTheTablesOfTheLayersAndPassesAskedFor) {
  const std::string text =
      testing::run_program({"show", testing::kKeptRun, "--layer", "conv3", "--pass", "forward"});
  EXPECT_THAT(text, HasSubstr("conv3 forward: N16 C256 13x13 -> K384 3x3 pad 1"));
  EXPECT_THAT(text, HasSubstr("* winograd.mixed.cpu"));
  EXPECT_THAT(text, Not(HasSubstr("conv4")));
  EXPECT_THAT(text, Not(HasSubstr("backward")));
}

TEST(Show, PrintsTheSumsOfTheNetwork) {
  EXPECT_THAT(testing::run_program({"show", testing::kKeptRun}), HasSubstr("* best of each layer"));
}

TEST(Show, OfFailuresSaysThatThereIsNone) {
  EXPECT_EQ(testing::run_program({"show", testing::kKeptRun, "--failed"}),
            "none of 238 records is wrong or failed\n");
}

TEST(Show, SaysThatNoRecordIsLeft) {
  EXPECT_THROW(testing::run_program({"show", testing::kKeptRun, "--layer", "nothing"}), UsageError);
  EXPECT_THROW(testing::run_program({"show", testing::kKeptRun, "--pass", "sideways"}), UsageError);
}

}  // namespace
}  // namespace convscope
