#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "bench/record/columns.hpp"

namespace convscope {
namespace {

using ::testing::HasSubstr;

TEST(ResultsFormat, IsWhatTheCommittedDocumentSays) {
  std::ifstream file(CONVSCOPE_SOURCE_FOLDER "/docs/results_format.md");
  std::ostringstream committed;
  committed << file.rdbuf();
  EXPECT_EQ(committed.str(), results_format_markdown())
      << "regenerate it: build/convscope list columns --markdown > docs/results_format.md";
}

TEST(ResultsFormat, NamesEveryColumnOnce) {
  const std::string text = results_format_markdown();
  for (const Column& column : columns()) {
    const std::string row = "\n| `" + std::string(column.name) + "` | " + std::string(column.unit) + " |";
    ASSERT_THAT(text, HasSubstr(row));
  }
}

TEST(ResultsFormat, SaysWhichFieldsMayBeNull) {
  const std::string text = results_format_markdown();
  EXPECT_THAT(text, HasSubstr("\n| `key.workspace_cap_bytes` | whole number or null |\n"));
  EXPECT_THAT(text, HasSubstr("\n| `key.seed` | whole number |\n"));
  EXPECT_THAT(text, HasSubstr("\n| `time` | object or null |\n"));
  EXPECT_THAT(text, HasSubstr("\n| `time.full.samples_seconds` | list of numbers |\n"));
  EXPECT_THAT(text, HasSubstr("\n| `time.inference` | object or null |\n"));
  EXPECT_THAT(text, HasSubstr("\n| `time.kernel.ci_low_seconds` | number or null |\n"));
  EXPECT_THAT(text, HasSubstr("\n| `time.full.median_seconds` | number |\n"));
  EXPECT_THAT(text, HasSubstr("\n| `time.phase_seconds.product` | number or null |\n"));
  EXPECT_THAT(text, HasSubstr("\n| `accuracy.integers_exact` | true or false or null |\n"));
}

}  // namespace
}  // namespace convscope
