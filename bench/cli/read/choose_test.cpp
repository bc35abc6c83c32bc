// The verb `choose` over results that are in the repository, and its bad input.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "bench/cli/test_program.hpp"
#include "bench/core/error.hpp"

namespace convscope {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::ordered_json;

TEST(Choose, OnTheCommittedResultsHasLessRegretThanTheLibrary) {
  const Json scores =
      Json::parse(testing::run_program({"choose", "--results", testing::kKeptRun, "--json"}))[0]["scores"];
  EXPECT_EQ(scores["own"]["judged"], 14);
  EXPECT_LT(scores["own"]["regret"].get<double>(), 0.05);
  EXPECT_NEAR(scores["onednn.auto.cpu"]["regret"].get<double>(), 0.3850 / 0.1590 - 1, 1e-3);
}

TEST(Choose, NeedsAConfigOrResultsAndNotBoth) {
  const auto message = [](std::vector<std::string> words) -> std::string {
    words.insert(words.begin(), {"convscope", "choose"});
    try {
      parse_command(words);
    } catch (const UsageError& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_THAT(message({}), HasSubstr("needs a CONFIG or --results"));
  EXPECT_THAT(message({"a.json", "--results", "out"}), HasSubstr("leave out CONFIG"));
  EXPECT_THAT(message({"--results", "out", "--batch", "1"}), HasSubstr("leave out --batch"));
  EXPECT_EQ(message({"--results", "out,other", "--json"}), "no error");
  EXPECT_EQ(message({"a.json", "--batch", "1"}), "no error");
}

}  // namespace
}  // namespace convscope
