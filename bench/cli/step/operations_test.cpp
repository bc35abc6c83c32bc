// The verb on the whole catalog, from outside.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <stdexcept>

#include "algorithms/catalog.hpp"
#include "bench/cli/verbs.hpp"
#include "bench/core/error_of_test.hpp"
#include "bench/operation/measure_operations.hpp"

namespace convscope {
namespace {

using ::testing::HasSubstr;

// A config in a folder of the test's own, as tests run beside each other.
class Operations : public ::testing::Test {
 protected:
  Operations() {
    register_all(registry_);
    std::filesystem::create_directories(folder_);
    std::ofstream(config_) << R"({"name": "small", "layers": [
      {"name": "one", "in_channels": 2, "input": [17, 16], "out_channels": 19, "filter": 3, "pad": 1,
       "after": ["bias", "relu", "lrn", "pool 3x3/2"]},
      {"name": "two", "in_channels": 19, "input": [8, 7], "out_channels": 4, "filter": 2, "after": ["pool 2x2/1 pad 1"]}]})";
  }
  ~Operations() override { std::filesystem::remove_all(folder_); }

  int run(std::vector<std::string> argv) {
    argv.insert(argv.begin(), {"convscope", "operations"});
    return parse_command(argv)({argv, registry_, out_, errors_});
  }

  std::string folder_ =
      ::testing::TempDir() + "operations_" + ::testing::UnitTest::GetInstance()->current_test_info()->name();
  std::string config_ = folder_ + "/small.json";
  Registry registry_;
  std::ostringstream out_, errors_;
};

TEST_F(Operations, OfEveryProviderAreRightAndWritten) {
  EXPECT_EQ(run({config_, "--batch", "3", "--time-limit", "0.01", "--out", folder_ + "/out", "--json"}), 0)
      << errors_.str();
  const auto rows = nlohmann::json::parse(out_.str());
  int measured = 0;
  for (const auto& row : rows) {
    EXPECT_NE(row["outcome"], "wrong") << row.dump();
    if (row["outcome"] != "measured") continue;
    ++measured;
    EXPECT_LT(row["relative_l2"], 1e-5);
    EXPECT_GT(row["gbs"], 0);
  }
  const auto providers = static_cast<int>(1 + registry_.operations().size());
  EXPECT_GE(rows.size(), 14U * static_cast<size_t>(providers));
  EXPECT_GE(measured, 14) << "ours at least";
  EXPECT_TRUE(std::filesystem::exists(folder_ + "/out/operations.csv"));
}

TEST_F(Operations, ArePrintedWithTheirShareOfACopysRate) {
  EXPECT_EQ(run({config_, "--batch", "1", "--time-limit", "0.01"}), 0);
  EXPECT_THAT(out_.str(), HasSubstr("What stands between the convolutions of small, batch 1; times in ms"));
  EXPECT_THAT(out_.str(), HasSubstr("bias+relu backward"));
}

TEST_F(Operations, RefuseWhatCannotBe) {
  const auto refusal = [&](const std::vector<std::string>& argv) {
    return testing::error_of([&] { run(argv); });
  };
  EXPECT_THAT(refusal({"no_such_config"}), HasSubstr("no_such_config"));
  EXPECT_THAT(refusal({config_, "--threads", "4000"}), HasSubstr("--threads: found 4000"));
  EXPECT_THAT(refusal({config_, "--batch", "0"}), HasSubstr("--batch"));
  EXPECT_THAT(refusal({config_, "--batch", "1000000"}), HasSubstr("take a smaller --batch"));
}

// Refuses its first problem and fails at the second.
class Failing final : public OperationAlgorithm {
 public:
  std::string provider() const override { return "failing"; }
  bool runs_on(DeviceKind) const override { return true; }
  std::optional<std::string> refusal(const OperationProblem&) const override {
    if (++asked_ > 1) throw std::runtime_error("a bug");
    return "not the first";
  }
  std::unique_ptr<OperationPlan> plan(const OperationProblem&, Device&) const override { return nullptr; }

 private:
  mutable int asked_ = 0;
};

TEST_F(Operations, LeaveTheRowsBeforeAFailure) {
  registry_.add_operations(std::make_unique<Failing>());
  const std::string out = folder_ + "/out";
  EXPECT_THROW(run({config_, "--batch", "1", "--time-limit", "0.01", "--out", out}), std::runtime_error);
  const auto rows = nlohmann::json::parse(std::ifstream(out + "/operations.json"))["rows"];
  ASSERT_FALSE(rows.empty());
  EXPECT_EQ(rows.front()["outcome"], "measured");
  EXPECT_EQ(rows.back()["note"], "not the first");
  EXPECT_EQ(rows.back()["problem"], rows.front()["problem"]);
}

std::string read_file(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

TEST(OperationFormat, IsThePageInDocs) {
  EXPECT_EQ(read_file(CONVSCOPE_SOURCE_FOLDER "/docs/operation_format.md"), operation_format_markdown())
      << "regenerate it: convscope list columns operations --markdown > docs/operation_format.md";
}

}  // namespace
}  // namespace convscope
