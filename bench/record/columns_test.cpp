#include "bench/record/columns.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>
#include <sstream>

#include "bench/record/bound.hpp"
#include "bench/record/result_files.hpp"
#include "bench/record/test_records.hpp"

namespace convscope {
namespace {

Cell cell(const ResultRecord& record, std::string_view name) {
  for (const Column& column : columns())
    if (column.name == name) return column.cell(record);
  ADD_FAILURE() << "no column " << name;
  return {};
}
double number(const ResultRecord& record, std::string_view name) {
  const Cell value = cell(record, name);
  if (const auto* whole = std::get_if<int64_t>(&value)) return static_cast<double>(*whole);
  const auto* real = std::get_if<double>(&value);
  return real == nullptr ? std::numeric_limits<double>::quiet_NaN() : *real;
}
bool is_null(const ResultRecord& record, std::string_view name) {
  return std::holds_alternative<std::monostate>(cell(record, name));
}

// The rows of a CSV text, unquoted as RFC 4180 says.
std::vector<std::vector<std::string>> parse_csv(const std::string& text) {
  std::vector<std::vector<std::string>> rows(1, {""});
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted && c == '"' && i + 1 < text.size() && text[i + 1] == '"')
      rows.back().back() += text[++i];
    else if (c == '"')
      quoted = !quoted;
    else if (c == ',' && !quoted)
      rows.back().emplace_back();
    else if (c == '\n' && !quoted)
      rows.push_back({""});
    else
      rows.back().back() += c;
  }
  rows.pop_back();
  return rows;
}

TEST(Columns, HaveUniqueSnakeCaseNamesAndAMeaning) {
  std::set<std::string_view> names;
  for (const Column& column : columns()) {
    EXPECT_TRUE(names.insert(column.name).second) << column.name;
    EXPECT_EQ(column.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_"), std::string_view::npos)
        << column.name;
    EXPECT_EQ(column.meaning.back(), '.') << column.name;
  }
  EXPECT_GT(names.size(), 90u);
}

TEST(Columns, ShowTheProblem) {
  const ResultRecord record = measured("direct.cpu", 0.1);
  EXPECT_EQ(number(record, "in_channels"), 96);
  EXPECT_EQ(number(record, "output_h"), 27);
  EXPECT_EQ(cell_text(cell(record, "problem")), to_line(conv2()));
  EXPECT_EQ(cell_text(cell(record, "benchdnn")), "mb16ic96ih27oc256oh27kh5ph2");
  EXPECT_EQ(number(record, "workspace_cap_bytes"), 256 << 20);
}

TEST(Columns, ShowTimesInMilliseconds) {
  const ResultRecord record = complete_record();
  EXPECT_DOUBLE_EQ(number(record, "full_median_ms"), 16);
  EXPECT_DOUBLE_EQ(number(record, "full_ci_low_ms"), 16 * 0.9);
  EXPECT_DOUBLE_EQ(number(record, "full_ci_high_ms"), 16 * 1.1);
  EXPECT_DOUBLE_EQ(number(record, "inference_median_ms"), 12);
  EXPECT_DOUBLE_EQ(number(record, "kernel_median_ms"), 8);
  EXPECT_DOUBLE_EQ(number(record, "inverse_ms"), 5);
  EXPECT_DOUBLE_EQ(number(record, "plan_ms"), 250);
  EXPECT_DOUBLE_EQ(number(record, "aa_ratio"), 1.25);
  EXPECT_EQ(number(record, "full_samples"), 3);
}

TEST(Columns, DivideEachFlopCountByTheMedian) {
  const ResultRecord record = complete_record();
  EXPECT_DOUBLE_EQ(number(record, "gflops_nominal"), conv2().nominal_flops() / 0.016 / 1e9);
  EXPECT_DOUBLE_EQ(number(record, "gflops_effective"), conv2().effective_flops() / 0.016 / 1e9);
  EXPECT_DOUBLE_EQ(number(record, "gflops_executed"), 1.2e9 / 0.016 / 1e9);
  EXPECT_LT(number(record, "gflops_effective"), number(record, "gflops_nominal"));
}

TEST(Columns, AreNullWhereNothingIsKnown) {
  const ResultRecord record =
      refused("fft16.cpu", Outcome::unsupported, Reason::unsupported_stride, "stride 2x2: too large");
  for (const char* name : {"full_median_ms",
                           "inference_median_ms",
                           "plan_ms",
                           "gflops_nominal",
                           "gflops_executed",
                           "flops_executed",
                           "bytes_algo",
                           "bytes_cached",
                           "arithmetic_intensity",
                           "workspace_bytes",
                           "relative_l2",
                           "integers_exact",
                           "bound",
                           "bound_ms",
                           "percent_of_ceiling",
                           "suspect_ceiling",
                           "aa_ratio",
                           "rounds",
                           "stop_reason",
                           "throttled",
                           "version",
                           "gate"})
    EXPECT_TRUE(is_null(record, name)) << name;
  EXPECT_EQ(cell_text(cell(record, "reason")), "unsupported_stride");
  EXPECT_TRUE(is_null(measured("direct.cpu", 1), "reason"));
}

TEST(Columns, ShowWhatALibraryAnswered) {
  const ResultRecord record = complete_record();
  EXPECT_EQ(cell_text(cell(record, "library_asked")), "cudnnFindConvolutionForwardAlgorithm");
  EXPECT_EQ(number(record, "library_offers"), 2);
  EXPECT_EQ(cell_text(cell(record, "library_notes")), "TENSOR_CORE NONDETERMINISTIC");
  EXPECT_EQ(cell_text(cell(record, "library_repeats")), "GEMM;FFT;GEMM");
  EXPECT_DOUBLE_EQ(number(record, "library_ms"), 15);
  EXPECT_DOUBLE_EQ(number(record, "descriptor_ms"), 1);
  EXPECT_DOUBLE_EQ(number(record, "heuristic_ms"), 21);
  EXPECT_DOUBLE_EQ(number(record, "build_ms"), 310);
  EXPECT_DOUBLE_EQ(number(record, "compile_ms"), 290);
  for (const char* name : {"library_asked", "library_offers", "library_notes", "library_ms", "compile_ms"})
    EXPECT_TRUE(is_null(measured("direct.cpu", 1), name)) << name;
}

TEST(Columns, NeverShowNan) {
  ResultRecord record = complete_record();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  record.time->full.statistics.median = nan;
  record.accuracy.relative_l2 = nan;
  record.ceilings.fma_flops = nan;
  record.health.load_before = std::numeric_limits<double>::infinity();
  for (const Column& column : columns()) {
    const Cell value = column.cell(record);
    const auto* real = std::get_if<double>(&value);
    EXPECT_TRUE(real == nullptr || std::isfinite(*real)) << column.name;
  }
}

TEST(Columns, WorkInARecordThatIsAllDefaults) {
  for (const Column& column : columns()) EXPECT_NO_THROW(column.cell(ResultRecord{})) << column.name;
}

TEST(Csv, QuotesSoThatEveryFieldReadsBack) {
  const std::vector<ResultRecord> records{complete_record(), measured("direct.cpu", 0.01)};
  std::ostringstream out;
  write_csv(out, records);
  const auto rows = parse_csv(out.str());
  ASSERT_EQ(rows.size(), 3u);
  for (const auto& row : rows) ASSERT_EQ(row.size(), columns().size());
  for (size_t i = 0; i < columns().size(); ++i) {
    EXPECT_EQ(rows[0][i], columns()[i].name);
    EXPECT_EQ(rows[1][i], cell_text(columns()[i].cell(records[0])));
    EXPECT_EQ(rows[2][i], cell_text(columns()[i].cell(records[1])));
  }
}

TEST(CellText, ReadsBackToTheSameNumber) {
  EXPECT_EQ(std::stod(cell_text(Cell{0.1 + 0.2})), 0.1 + 0.2);
  EXPECT_EQ(cell_text(Cell{}), "");
  EXPECT_EQ(cell_text(Cell{false}), "false");
  EXPECT_EQ(cell_text(Cell{int64_t{-3}}), "-3");
}

TEST(Bound, IsTheLongerOfArithmeticAndMemory) {
  ResultRecord record = measured("direct.cpu", 0.2);
  record.operations = {2e10, 0, 0};  // at 2e11 a second: 100 ms
  auto limit = bound(record);
  ASSERT_TRUE(limit);
  EXPECT_EQ(limit->kind(), "compute");
  EXPECT_DOUBLE_EQ(limit->seconds(), 0.1);
  EXPECT_DOUBLE_EQ(*percent_of_ceiling(record), 50);
  record.operations = {1, 0, 0};
  limit = bound(record);
  EXPECT_EQ(limit->kind(), "memory");
  EXPECT_DOUBLE_EQ(limit->seconds(), static_cast<double>(conv2().total_bytes()) / 2.5e10);
}

TEST(Bound, OfARecordThatIsFasterIsOfASuspectCeiling) {
  ResultRecord record = measured("direct.cpu", 0.2);
  record.operations = {4e10, 0, 0};  // at 2e11 a second: 200 ms
  EXPECT_DOUBLE_EQ(*percent_of_ceiling(record), 100);
  EXPECT_EQ(cell_text(cell(record, "suspect_ceiling")), "false");
  record.operations = {5e10, 0, 0};
  EXPECT_TRUE(beats_its_ceilings(record));
  EXPECT_EQ(cell_text(cell(record, "suspect_ceiling")), "true");
  record.device.name += " (virtual time)";
  EXPECT_FALSE(beats_its_ceilings(record));
  record.ceilings = {};
  EXPECT_TRUE(is_null(record, "suspect_ceiling"));
}

TEST(Bound, TakesHotTensorsFromTheCacheWhenAllFit) {
  ResultRecord record = measured("direct.cpu", 0.2);
  const auto total = static_cast<double>(conv2().total_bytes());
  const auto filter = static_cast<double>(conv2().bytes(Role::filter));
  record.key.cache = CacheState::hot;
  EXPECT_DOUBLE_EQ(bound(record)->memory_seconds, total / 2e11);
  record.key.cache = CacheState::weights_cold;
  EXPECT_DOUBLE_EQ(bound(record)->memory_seconds, filter / 2.5e10 + (total - filter) / 2e11);
  record.device.llc_bytes = 1 << 20;
  EXPECT_DOUBLE_EQ(bound(record)->memory_seconds, total / 2.5e10);
}

TEST(Bound, IsUnknownWithoutCeilingsOrOperations) {
  ResultRecord record = measured("direct.cpu", 0.2);
  record.ceilings = {};
  EXPECT_FALSE(bound(record));
  record = measured("direct.cpu", 0.2);
  record.operations = {};
  EXPECT_FALSE(bound(record));
  EXPECT_FALSE(percent_of_ceiling(record));
}

TEST(RerunCommand, WritesNoCapAsInf) {
  ResultRecord record = measured("direct.cpu", 1);
  record.key.workspace_cap.reset();
  EXPECT_THAT(rerun_command(record), ::testing::HasSubstr("--workspace-cap inf"));
}

TEST(RerunCommand, NamesTheEmulatorWhichNoRunTakesByItself) {
  ResultRecord record = measured("direct.tiled.cuda", 1);
  EXPECT_THAT(rerun_command(record), ::testing::Not(::testing::HasSubstr("--device")));
  record.key.device = DeviceKind::emulator;
  EXPECT_THAT(rerun_command(record), ::testing::HasSubstr("--algorithm direct.tiled.cuda --device emulator"));
}

TEST(RerunCommand, NamesAGpuThatIsNotTheFirst) {
  ResultRecord record = measured("direct.tiled.cuda", 1);
  record.key.device = DeviceKind::cuda;
  EXPECT_THAT(rerun_command(record), ::testing::Not(::testing::HasSubstr("--device")));
  record.key.device_index = 1;
  EXPECT_THAT(rerun_command(record), ::testing::HasSubstr("--algorithm direct.tiled.cuda --device cuda:1 "));
  EXPECT_EQ(number(record, "device_index"), 1);
}

TEST(RerunCommand, SaysHowManyKnobsMayBeTried) {
  ResultRecord record = measured("cudnn.engine.3.cuda", 1);
  EXPECT_THAT(rerun_command(record), ::testing::Not(::testing::HasSubstr("--knobs")));
  record.key.knobs = 12;
  EXPECT_THAT(rerun_command(record), ::testing::HasSubstr("--seed 1 --knobs 12"));
}

TEST(RerunCommand, SaysInWhatTheSamplingDiffersFromTheDefaults) {
  ResultRecord record = measured("direct.cpu", 1);
  EXPECT_THAT(rerun_command(record), ::testing::EndsWith(" --seed 1 --confidence-width 0.005"))
      << "the width where it is left out is the machine's";
  record.sampling = {2.5, 20, 300, 0.02, true, 90};
  EXPECT_THAT(rerun_command(record),
              ::testing::EndsWith(" --seed 1 --time-limit 2.5 --min-samples 20 --max-samples 300 "
                                  "--confidence-width 0.02 --stage-limit 90 --aa"));
}

}  // namespace
}  // namespace convscope
