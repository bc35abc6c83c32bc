#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "bench/cli/test_program.hpp"
#include "bench/core/error.hpp"
#include "bench/record/result_files.hpp"
#include "bench/record/test_records.hpp"

namespace convscope {
namespace {

using ::testing::AllOf;
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

TEST(Show, TakesSeveralPatternsOfLayersAsRunDoes) {
  const std::string text = testing::run_program({"show", testing::kKeptRun, "--layer", "conv1,*3"});
  EXPECT_THAT(text, AllOf(HasSubstr("conv1 forward"), HasSubstr("conv3 forward")));
  EXPECT_THAT(text, Not(HasSubstr("conv4")));
}

TEST(Show, PrintsTheSumsOfTheNetwork) {
  EXPECT_THAT(testing::run_program({"show", testing::kKeptRun}), HasSubstr("* best of each layer"));
}

TEST(Show, OfFailuresSaysThatThereIsNone) {
  EXPECT_EQ(testing::run_program({"show", testing::kKeptRun, "--failed"}),
            "none of 238 records is wrong or failed\n");
}

TEST(Show, SaysThatNoRecordIsLeft) {
  const auto nothing = [] { testing::run_program({"show", testing::kKeptRun, "--layer", "nothing"}); };
  EXPECT_THAT(
      testing::error_of(nothing),
      HasSubstr("no record of nothing in the passes asked for; there are conv1, conv2, conv3, conv4"));
  EXPECT_THROW(testing::run_program({"show", testing::kKeptRun, "--pass", "sideways"}), UsageError);
}

TEST(Show, OfARunWithoutRecordsSaysThatItWasInterrupted) {
  const std::string folder = ::testing::TempDir() + "convscope_no_records";
  write_results(folder, ResultFile{});
  EXPECT_THAT(testing::error_of([&] {
                testing::run_program({"show", folder});
              }),
              HasSubstr("hold no records: the run was interrupted"));
  std::filesystem::remove_all(folder);
}

TEST(Show, RefusesFilesThatDifferInTheMeasuringProtocolAlone) {
  const std::string folder = ::testing::TempDir() + "convscope_two_protocols_";
  ResultFile file;
  file.records = {measured("direct.cpu", 0.01)};
  for (const int version : {1, 2}) {
    file.records.front().time->protocol = version;
    write_results(folder + std::to_string(version), file);
  }
  EXPECT_THAT(testing::run_program({"show", folder + "1"}), HasSubstr("direct.cpu"));
  const std::string refusal = testing::error_of([&] {
    testing::run_program({"show", folder + "1", folder + "2"});
  });
  EXPECT_THAT(refusal, HasSubstr(folder + "2: conv2 forward direct.cpu was timed by version 2"));
  EXPECT_THAT(refusal, HasSubstr(folder + "1 has times of this machine by version 1"));
  for (const char* version : {"1", "2"}) std::filesystem::remove_all(folder + version);
}

}  // namespace
}  // namespace convscope
