#include "bench/report/console.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include "bench/record/test_records.hpp"

namespace convscope {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

using Records = std::vector<ResultRecord>;

constexpr size_t kWide = 200;

std::string group(const Records& records, bool colour = false, size_t columns = kWide) {
  std::ostringstream out;
  print_group(out, records, {colour, columns});
  return out.str();
}

std::string roll_up(const Records& records, size_t columns = kWide) {
  std::ostringstream out;
  print_roll_up(out, records, {false, columns});
  return out.str();
}

// The first line that holds `word`, its runs of spaces made one; "" when there is none.
std::string line_with(const std::string& text, const std::string& word) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.find(word) == std::string::npos) continue;
    std::string narrow;
    for (char c : line)
      if (c != ' ' || narrow.empty() || narrow.back() != ' ') narrow += c;
    return narrow;
  }
  return "";
}

ResultRecord wrong(const std::string& algorithm, double seconds) {
  ResultRecord r = measured(algorithm, seconds);
  r.outcome = Outcome::wrong;
  r.reason = Reason::accuracy;
  r.note = "relative L2 error 3e-01 against a gate of 2e-05";
  return r;
}

// The record as another layer, `count` times in the network.
ResultRecord in_layer(ResultRecord record, const std::string& layer, int64_t count = 1) {
  record.key.layer = layer;
  record.key.count = count;
  return record;
}
ResultRecord in_pass(ResultRecord record, Pass pass) {
  record.key.problem.pass = pass;
  return record;
}

TEST(PrintGroup, SaysWhatWasRun) {
  const std::string text = group({measured("direct.cpu", 0.1)});
  EXPECT_THAT(text, HasSubstr("conv2 forward: N16 C96 27x27 -> K256 5x5 pad 2, 14.3 GFLOP\n"));
  EXPECT_THAT(text, HasSubstr("fp32 nchw, 2 threads, cold cache, workspace up to 256.0 MiB, Test processor "
                              "(amd-f25m17s1-1234abcd)\n"));
}

TEST(PrintGroup, SortsByMedianAndMarksTheWinner) {
  const std::string text =
      group({measured("slow.cpu", 0.4), measured("fast.cpu", 0.1), measured("onednn.auto.cpu", 0.2)});
  EXPECT_LT(text.find("fast.cpu"), text.find("onednn.auto.cpu"));
  EXPECT_LT(text.find("onednn.auto.cpu"), text.find("slow.cpu"));
  EXPECT_EQ(line_with(text, "fast.cpu"), "* fast.cpu 100.0 [90.0, 110.0] 143.3 71.7 3.0 MiB 1.2e-06 2.00x");
  EXPECT_EQ(line_with(text, "onednn.auto.cpu"),
            " onednn.auto.cpu 200.0 [180.0, 220.0] 71.7 35.8 3.0 MiB 1.2e-06 1.00x");
  EXPECT_THAT(line_with(text, "slow.cpu"), HasSubstr("0.50x"));
}

TEST(PrintGroup, MarksRecordsThatAreNotShownToBeSlower) {
  // Intervals reach 10% to either side: [90, 110], [103.5, 126.5] and [112.5, 137.5].
  const std::string text =
      group({measured("b.cpu", 0.1), measured("c.cpu", 0.125), measured("d.cpu", 0.115)});
  EXPECT_EQ(line_with(text, "b.cpu")[0], '*');
  EXPECT_EQ(line_with(text, "d.cpu")[0], '~');
  EXPECT_EQ(line_with(text, "c.cpu")[0], ' ');
  EXPECT_THAT(text, HasSubstr("  ~ not shown to be slower than *: their intervals overlap, or may on a quiet "
                              "machine, or one has none\n"));
  EXPECT_THAT(group({measured("b.cpu", 0.1), measured("c.cpu", 0.125)}), Not(HasSubstr("~")));
}

TEST(PrintGroup, ShowsADashForAnIntervalOfTooFewSamples) {
  ResultRecord few = measured("few.cpu", 0.1);
  few.time->full.statistics.ci_low = few.time->full.statistics.ci_high =
      std::numeric_limits<double>::quiet_NaN();
  const std::string text = group({few, measured("b.cpu", 0.1001)});
  EXPECT_EQ(line_with(text, "few.cpu"), "* few.cpu 100.0 - 143.3 71.7 3.0 MiB 1.2e-06 -");
  EXPECT_EQ(line_with(text, "b.cpu")[0], '~') << "not shown to be slower";
}

TEST(PrintGroup, MarksTheShareOfACeilingThatARecordBeats) {
  const std::string text = group({measured("a.cpu", 0.05), measured("b.cpu", 0.1)});
  EXPECT_EQ(line_with(text, "a.cpu"), "* a.cpu 50.00 [45.00, 55.00] 286.7 143.3? 3.0 MiB 1.2e-06 -");
  EXPECT_THAT(line_with(text, "b.cpu"), HasSubstr(" 71.7 "));
  EXPECT_THAT(text, HasSubstr("\n  ? suspect ceiling, measured too low, as a.cpu shows: "));
  EXPECT_THAT(group({measured("b.cpu", 0.1)}), Not(HasSubstr("suspect")));
}

TEST(PrintGroup, MarksAThrottledRecordWhetherItWinsOrMayWin) {
  ResultRecord throttled = measured("a.cpu", 0.2);
  throttled.health.throttled = true;
  const std::string text = group({throttled, measured("b.cpu", 0.1)});
  EXPECT_THAT(line_with(text, "b.cpu"), ::testing::StartsWith("* b.cpu 100.0"));
  EXPECT_THAT(line_with(text, "a.cpu"), ::testing::StartsWith("~ a.cpu (throttled) 200.0"));
  EXPECT_THAT(line_with(group({throttled}), "a.cpu"), ::testing::StartsWith("* a.cpu (throttled) 200.0"));
}

TEST(PrintGroup, MarksARatioToAThrottledBaseline) {
  ResultRecord throttled = measured("onednn.auto.cpu", 0.3);
  throttled.health.throttled = true;
  const std::string text = group({throttled, measured("onednn.gemm.cpu", 0.4), measured("b.cpu", 0.2)});
  EXPECT_THAT(line_with(text, "b.cpu"), HasSubstr(" 1.50x?"));
  EXPECT_THAT(
      text, HasSubstr("  ? behind a ratio: one of the two was throttled or disturbed, its time too long\n"));
  const std::string good = group({measured("onednn.gemm.cpu", 0.4), measured("b.cpu", 0.2)});
  EXPECT_THAT(good, Not(HasSubstr("?")));
}

TEST(PrintGroup, NeverLetsAWrongRecordWinNorBeTheBaseline) {
  const std::string text =
      group({wrong("onednn.gemm.cpu", 0.01), measured("direct.cpu", 0.2), measured("onednn.auto.cpu", 0.4)});
  EXPECT_THAT(line_with(text, "* "), HasSubstr("direct.cpu"));
  EXPECT_THAT(line_with(text, "direct.cpu"), HasSubstr("2.00x"));
  EXPECT_EQ(line_with(text, "onednn.gemm.cpu"),
            "! onednn.gemm.cpu 10.00 [9.00, 11.00] 1433.3 716.6 3.0 MiB 1.2e-06 -");
  EXPECT_THAT(text,
              HasSubstr("onednn.gemm.cpu: accuracy: relative L2 error 3e-01 against a gate of 2e-05\n"));
}

TEST(PrintGroup, ShowsADashWithoutABaseline) {
  EXPECT_THAT(line_with(group({measured("direct.cpu", 0.2)}), "direct.cpu"), ::testing::EndsWith(" -"));
}

TEST(PrintGroup, PutsRefusalsWithTheSameSentenceOnOneLine) {
  const std::string text =
      group({refused("a.cpu", Outcome::unsupported, Reason::unsupported_stride, "stride 2x2 is too large"),
             measured("direct.cpu", 0.2), refused("b.cpu", Outcome::crashed, Reason::crashed, "signal 11"),
             refused("c.cpu", Outcome::unsupported, Reason::unsupported_stride, "stride 2x2 is too large")});
  EXPECT_THAT(text, HasSubstr("  a.cpu, c.cpu: unsupported_stride: stride 2x2 is too large\n"));
  EXPECT_THAT(text, HasSubstr("  b.cpu: crashed: signal 11\n"));
  EXPECT_LT(text.find("direct.cpu"), text.find("a.cpu"));
}

TEST(PrintGroup, SaysWhenNothingIsCorrect) {
  EXPECT_THAT(group({wrong("direct.cpu", 0.1)}),
              AllOf(HasSubstr("no correct record"), Not(HasSubstr("\n* "))));
  EXPECT_THAT(group({refused("a.cpu", Outcome::timeout, Reason::timeout, "")}),
              AllOf(HasSubstr("no correct record"), HasSubstr("a.cpu: timeout\n")));
  EXPECT_EQ(group({}), "");
}

TEST(PrintGroup, ShowsVerifiedRecordsWithoutATime) {
  ResultRecord record = measured("direct.emulator", 0.1);
  record.outcome = Outcome::verified_only;
  record.time.reset();
  EXPECT_EQ(line_with(group({record}), "direct.emulator"), " direct.emulator 3.0 MiB 1.2e-06");
  EXPECT_EQ(line_with(group({record}), "  error"), " algorithm workspace error");
  EXPECT_EQ(line_with(group({record, measured("direct.cpu", 0.01)}), "direct.emulator"),
            " direct.emulator - - - - 3.0 MiB 1.2e-06 -")
      << "beside one with a time";
}

TEST(PrintGroup, NamesRecordsWhoseTimeIsDoubtful) {
  ResultRecord hurried = measured("a.cpu", 0.1), hot = measured("b.cpu", 0.2);
  hurried.time->stop_reason = "time_limit";
  hot.health.throttled = true;
  const std::string text = group({hurried, hot});
  EXPECT_THAT(text, HasSubstr("stopped before converging: a.cpu\n"));
  EXPECT_THAT(text, HasSubstr("throttled while measured: b.cpu\n"));
}

TEST(PrintGroup, WrapsItsNotes) {
  Records records{measured("a.cpu", 0.1)};
  for (const char letter : std::string("bcdefgh")) {
    records.push_back(measured(std::string(20, letter) + ".cpu", 0.2));
    records.back().time->stop_reason = "time_limit";
    records.push_back(refused(std::string(20, letter) + ".other.cpu", Outcome::unsupported,
                              Reason::unsupported_stride, "stride 2x2 is too large"));
  }
  std::istringstream lines(group(records, false, 80));
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80u) << line;
}

TEST(PrintGroup, MarksADisturbedRecordAndSaysWhatDisturbedMost) {
  ResultRecord first = measured("a.cpu", 0.1), second = measured("b.cpu", 0.1),
               quiet = measured("c.cpu", 0.3);
  first.health.disturbed = second.health.disturbed = second.health.throttled = true;
  first.health.lost_share = 0.25;
  second.health.lost_share = 0.5;
  first.health.disturbed_by = "somebody";
  second.health.disturbed_by = "somebody else";
  const std::string text = group({first, second, quiet});
  EXPECT_THAT(line_with(text, "* "), HasSubstr("a.cpu (disturbed) 100.0"));
  EXPECT_THAT(text, HasSubstr("disturbed while measured: a.cpu, b.cpu (b.cpu: somebody else)\n"));
  EXPECT_THAT(text, Not(HasSubstr("throttled while")));
}

TEST(PrintGroup, AlignsItsColumns) {
  std::istringstream lines(group({measured("a.cpu", 12.5), measured("a_much_longer_name.cpu", 0.0001)}));
  std::string line, heading;
  std::getline(lines, line);
  std::getline(lines, line);
  std::getline(lines, heading);
  const size_t end_of_medians = heading.find("median ms") + std::string("median ms").size();
  std::getline(lines, line);
  EXPECT_EQ(line.substr(0, end_of_medians).find_last_not_of(' '), end_of_medians - 1);
  EXPECT_EQ(line[end_of_medians], ' ');
  std::getline(lines, line);
  EXPECT_EQ(line.substr(end_of_medians - 5, 5), "12500");
}

// The longest line of a table: its heading, and the rows below it.
size_t table_width(const std::string& text, const std::string& first_heading) {
  std::istringstream lines(text.substr(text.find("\n  " + first_heading) + 1));
  size_t width = 0;
  for (std::string line; std::getline(lines, line) && line.find("  ") != std::string::npos;)
    if (line.find("left out") == std::string::npos) width = std::max(width, line.size());
  return width;
}

TEST(PrintGroup, FitsItsLineWithShortHeadingsAndFewerColumnsAndWholeNumbers) {
  const Records records{measured("im2col_gemm.packed.cpu", 0.1), measured("onednn.auto.cpu", 0.2)};
  const std::string wide = group(records), narrow = group(records, false, 80);
  EXPECT_THAT(wide,
              AllOf(HasSubstr("nominal GFLOP/s  % ceiling  workspace    error"), Not(HasSubstr("left out"))));
  EXPECT_GT(table_width(wide, "algorithm"), 80u);
  EXPECT_LE(table_width(narrow, "algorithm"), 80u);
  EXPECT_THAT(narrow,
              HasSubstr("\n  left out to fit 80 columns: % ceiling, workspace (COLUMNS=120 shows more)\n"));
  EXPECT_EQ(line_with(narrow, "im2col_gemm.packed.cpu").substr(0, 64),
            "* im2col_gemm.packed.cpu 100.0 [90.0, 110.0] 143.3 1.2e-06 2.00x");
  EXPECT_EQ(line_with(group(records, false, 30), "onednn.auto.cpu"), " onednn.auto.cpu 200.0 1.00x")
      << "what does not fit at all is printed all the same";
}

TEST(PrintRollUp, FitsItsLine) {
  const Records records{in_layer(measured("im2col_gemm.packed.cpu", 0.1), "res2a_branch2a"),
                        in_layer(measured("onednn.auto.cpu", 0.3), "res2b_branch2b")};
  EXPECT_THAT(roll_up(records), HasSubstr("nominal GFLOP/s"));
  const std::string narrow = roll_up(records, 80);
  EXPECT_LE(table_width(narrow, "layer"), 80u);
  EXPECT_THAT(narrow, HasSubstr("  ms  GFLOP/s  vs onednn\n"));
}

TEST(PrintGroup, ColoursOnlyWhenAsked) {
  const Records records{measured("direct.cpu", 0.1), wrong("b.cpu", 0.1)};
  EXPECT_EQ(group(records).find('\033'), std::string::npos);
  EXPECT_NE(group(records, true).find("\033[1;32m* direct.cpu"), std::string::npos);
}

TEST(PrintRollUp, AddsTheBestRecordsByCount) {
  const std::string text = roll_up({in_layer(measured("direct.cpu", 0.1), "conv2", 3),
                                    in_layer(measured("onednn.auto.cpu", 0.2), "conv2", 3),
                                    in_layer(measured("direct.cpu", 0.4), "conv3"),
                                    in_layer(measured("onednn.auto.cpu", 0.3), "conv3")});
  EXPECT_THAT(text, HasSubstr("alexnet forward, batch 16\n"));
  EXPECT_EQ(line_with(text, " conv2"), " conv2 3 direct.cpu 100.0 50% 143.3 2.00x");
  EXPECT_EQ(line_with(text, " conv3"), " conv3 1 onednn.auto.cpu 300.0 50% 47.8 1.00x");
  EXPECT_EQ(line_with(text, "best of each layer"), "* best of each layer 600.0 95.6 1.50x");
  EXPECT_EQ(line_with(text, "best onednn of each layer"), " best onednn of each layer 900.0 63.7 1.00x");
  EXPECT_EQ(line_with(text.substr(text.find("best onednn of")), " direct.cpu"),
            " direct.cpu 700.0 81.9 1.29x");
}

TEST(PrintRollUp, ListsOnlyAlgorithmsThatCoverEveryLayer) {
  const std::string text =
      roll_up({in_layer(measured("a.cpu", 0.1), "conv2"), in_layer(measured("b.cpu", 0.2), "conv2"),
               in_layer(measured("b.cpu", 0.2), "conv3"), in_layer(wrong("a.cpu", 0.1), "conv3")});
  const std::string sums = text.substr(text.find("sum over"));
  EXPECT_EQ(line_with(sums, "a.cpu"), "");
  EXPECT_EQ(line_with(sums, "b.cpu"), " b.cpu 400.0 71.7 -");
  EXPECT_EQ(line_with(sums, "best onednn"), "");
}

TEST(PrintRollUp, SaysWhichLayersHaveNoMeasuredRecord) {
  const std::string text = roll_up(
      {in_layer(measured("a.cpu", 0.1), "conv2"), in_layer(wrong("a.cpu", 0.1), "conv3"),
       in_layer(refused("a.cpu", Outcome::unsupported, Reason::unsupported_size, "too small"), "conv4")});
  EXPECT_THAT(text, HasSubstr("no correct measured record, so not in the sums: conv3, conv4\n"));
  EXPECT_THAT(text, HasSubstr("no single algorithm has a correct record for every layer"));
  EXPECT_EQ(line_with(text, "best of each layer"), "* best of each layer 100.0 143.3 -");
}

TEST(PrintRollUp, MarksThrottledRecordsAndTheRatiosToThem) {
  ResultRecord throttled = in_layer(measured("onednn.auto.cpu", 0.2), "conv2");
  throttled.health.throttled = true;
  const std::string text = roll_up({throttled, in_layer(measured("b.cpu", 0.1), "conv2"),
                                    in_layer(measured("onednn.auto.cpu", 0.3), "conv3"),
                                    in_layer(measured("b.cpu", 0.15), "conv3")});
  EXPECT_THAT(line_with(text, " conv2"), ::testing::EndsWith(" 2.00x?"));
  EXPECT_THAT(line_with(text, " conv3"), ::testing::EndsWith(" 2.00x"));
  EXPECT_THAT(text, HasSubstr("  ? behind a ratio: "));
  EXPECT_THAT(line_with(text, "best of each layer"), ::testing::EndsWith(" 2.00x?"));
  EXPECT_THAT(text, HasSubstr("best onednn of each layer (suspect records in it)"));
  Records of_two = {throttled, in_layer(measured("b.cpu", 0.1), "conv2")};
  for (size_t i : {0, 1}) of_two.push_back(in_pass(of_two[i], Pass::backward_data));
  const std::string both = roll_up(of_two);
  const std::string sums = both.substr(both.find("forward + backward_data"));
  EXPECT_THAT(sums, HasSubstr(" 2.00x?\n"));
  EXPECT_THAT(sums, HasSubstr("  ? behind a ratio: "));
  const std::string won = roll_up({throttled, in_layer(measured("b.cpu", 0.3), "conv3")});
  EXPECT_THAT(line_with(won, " conv2"), HasSubstr("onednn.auto.cpu (throttled)"));
  EXPECT_THAT(line_with(won, "best of each"), HasSubstr("best of each layer (suspect records in it)"));
}

TEST(PrintRollUp, AddsUpThePassesToo) {
  Records records;
  for (Pass pass : {Pass::forward, Pass::backward_filter})
    for (const char* layer : {"conv2", "conv3"})
      records.push_back(in_pass(in_layer(measured("a.cpu", 0.1), layer), pass));
  const std::string text = roll_up(records);
  EXPECT_THAT(text, HasSubstr("alexnet forward, batch 16\n"));
  EXPECT_THAT(text, HasSubstr("alexnet backward_filter, batch 16\n"));
  const std::string all = text.substr(text.find("alexnet forward + backward_filter, batch 16\n"));
  EXPECT_EQ(line_with(all, "best of each layer"), "* best of each layer 400.0 143.3 -");
  EXPECT_EQ(line_with(all, " a.cpu"), " a.cpu 400.0 143.3 -");
}

std::string verdict(const Records& records) {
  std::ostringstream out;
  print_verdict(out, records, {false, kWide});
  return out.str();
}

TEST(PrintVerdict, SaysWhoWonTheSumAndThatTheMachineWasQuiet) {
  const std::string text = verdict(
      {in_layer(measured("direct.cpu", 0.1), "conv2", 3),
       in_layer(measured("onednn.auto.cpu", 0.2), "conv2", 3), in_layer(measured("direct.cpu", 0.4), "conv3"),
       in_layer(measured("onednn.auto.cpu", 0.3), "conv3"), in_layer(measured("direct.cpu", 0.1), "conv4"),
       in_layer(measured("onednn.auto.cpu", 0.3), "conv4")});
  EXPECT_THAT(text, HasSubstr("alexnet, batch 16: fp32 nchw, "));
  EXPECT_THAT(text, HasSubstr("\nconvscope won 2 of 3 layers and passes, onednn 1\n"));
  EXPECT_THAT(text,
              HasSubstr("\n700.0 ms for the best of each, 1.71x faster than the best of onednn (1200 ms)\n"));
  EXPECT_THAT(text, HasSubstr("\nthe machine was quiet: none of 6 records was disturbed or throttled\n"));
}

TEST(PrintVerdict, CallsNoMachineQuietWhereIntervalsMayBeWide) {
  Records records{measured("direct.cpu", 0.1), measured("onednn.auto.cpu", 0.2)};
  records[1].sampling.confidence_width = 0.156;
  EXPECT_THAT(verdict(records),
              HasSubstr("\nnone of 2 records was disturbed or throttled; series could end at "
                        "intervals of up to 15.6%\n"));
  records[1].sampling.confidence_width = 0.05;
  EXPECT_THAT(verdict(records), HasSubstr("\nthe machine was quiet: "));
}

TEST(PrintVerdict, CountsWinsOverAnotherSideThatAreInDoubt) {
  const Records near{measured("direct.cpu", 0.1), measured("onednn.auto.cpu", 0.1001)};
  EXPECT_THAT(verdict(near), HasSubstr("convscope won 1 of 1 layer (1 in doubt)\n"));
  const Records own{measured("direct.cpu", 0.1), measured("fft16.cpu", 0.1001)};
  EXPECT_THAT(verdict(own), HasSubstr("convscope won 1 of 1 layer\n"));
  EXPECT_THAT(verdict(own), HasSubstr("\n100.0 ms for the best of each\n")) << "no library";
}

TEST(PrintVerdict, SaysThatAWinIsInDoubtAndASumSuspectWhereARecordIs) {
  Records records{measured("direct.cpu", 0.1), measured("onednn.auto.cpu", 0.25)};
  records[1].health.throttled = true;
  EXPECT_THAT(verdict(records), HasSubstr("convscope won 1 of 1 layer (1 in doubt)\n"));
  EXPECT_THAT(verdict(records), HasSubstr("(250.0 ms); suspect: throttled or disturbed records are in it\n"));
  records[1].health.core_share = 0.7;
  EXPECT_THAT(verdict(records), HasSubstr("convscope won 1 of 1 layer\n"));
}

TEST(PrintVerdict, SaysThatTheMachineWasNotQuiet) {
  Records records{measured("a.cpu", 0.1), measured("b.cpu", 0.2), measured("c.cpu", 0.3)};
  records[1].health.disturbed = true;
  records[2].health.throttled = true;
  EXPECT_THAT(verdict(records),
              HasSubstr("the machine was not quiet: 1 of 3 records disturbed, 1 throttled\n"));
  records[2].health.throttle_reasons = "hot (software)";
  EXPECT_THAT(verdict(records), HasSubstr("1 throttled, most by the driver: hot (software)\n"));
}

TEST(PrintVerdict, IsSilentWhereNothingCanWin) {
  EXPECT_EQ(verdict({wrong("a.cpu", 0.1)}), "");
}

TEST(PrintRollUp, KeepsDifferentCircumstancesApart) {
  Records records;
  for (int threads : {1, 2})
    for (const char* layer : {"conv2", "conv3"}) {
      records.push_back(in_layer(measured("a.cpu", 0.1 * threads), layer));
      records.back().key.threads = threads;
    }
  const std::string text = roll_up(records);
  EXPECT_THAT(text, AllOf(HasSubstr("1 thread,"), HasSubstr("2 threads,")));
  EXPECT_EQ(line_with(text, "best of each layer"), "* best of each layer 200.0 143.3 -");
}

TEST(PrintRollUp, AddsUpNoTimesOfTwoMachines) {
  Records records;
  for (const char* machine : {"one processor", "another processor"})
    for (const char* layer : {"conv2", "conv3"}) {
      records.push_back(in_layer(measured("a.cpu", 0.1), layer));
      records.back().device.name = machine;
    }
  const std::string text = roll_up(records);
  EXPECT_THAT(text, AllOf(HasSubstr("one processor"), HasSubstr("another processor")));
}

TEST(PrintRollUp, IsSilentAboutASingleLayer) {
  EXPECT_EQ(roll_up({measured("a.cpu", 0.1), measured("b.cpu", 0.1)}), "");
  EXPECT_EQ(roll_up({}), "");
}

}  // namespace
}  // namespace convscope
