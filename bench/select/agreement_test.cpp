// Who wins is the same on the console, in the roll-up, in results.csv and for `select`, on records of two
// machines with wrong, throttled, disturbed, tied, repeated and refused ones. The Python side's test of the
// same is scripts/tests/test_report_winner.py.
#include <gtest/gtest.h>

#include <map>
#include <sstream>

#include "bench/ranking/ranking.hpp"
#include "bench/ranking/test_contests.hpp"
#include "bench/record/columns.hpp"
#include "bench/report/console.hpp"
#include "bench/select/selection.hpp"

namespace convscope {
namespace {

Records some_of_every_kind() {
  Records records;
  for (const char* machine : {"one processor", "another processor"}) {
    const auto add = [&](ResultRecord record, const char* layer) {
      record.key.layer = layer;
      record.device.name = machine;
      records.push_back(std::move(record));
    };
    const auto throttled = [](ResultRecord record) {
      record.health.throttled = true;
      return record;
    };
    add(throttled(right("hot.cpu", 1)), "throttled");
    add(right("cool.cpu", 1.5), "throttled");
    add(right("cool.cpu", 1), "slow_and_throttled");
    add(throttled(right("hot.cpu", 9)), "slow_and_throttled");
    add(throttled(right("hot.cpu", 2)), "all_throttled");
    add(throttled(right("hotter.cpu", 1)), "all_throttled");
    ResultRecord disturbed = right("hurt.cpu", 1);
    disturbed.health.disturbed = true;
    add(disturbed, "disturbed");
    add(right("left_alone.cpu", 1.5), "disturbed");
    add(wrong_record("wrong.cpu", 1), "wrong");
    add(right("right.cpu", 2), "wrong");
    add(right("first.cpu", 1), "tied");
    add(right("second.cpu", 1.1), "tied");
    add(right("third.cpu", 9), "tied");
    add(right("often.cpu", 5), "repeated");
    add(throttled(right("often.cpu", 1)), "repeated");
    add(right("often.cpu", 3), "repeated");
    add(library_record("onednn.auto.cpu", 4, "jit"), "repeated");
    add(refused("no.cpu", Outcome::unsupported, Reason::unsupported_stride, "no"), "refused");
    add(library_record("onednn.auto.cpu", 4, "jit"), "refused");
    add(refused("no.cpu", Outcome::crashed, Reason::crashed, "signal 11"), "none");
  }
  rank_records(records);
  return records;
}

std::string csv_text(const ResultRecord& record, std::string_view column) {
  for (const Column& candidate : columns())
    if (candidate.name == column) return cell_text(candidate.cell(record));
  ADD_FAILURE() << "no column " << column;
  return "";
}

// The algorithms on the console's lines that begin with `mark`.
std::vector<std::string> marked(const Contest& contest, char mark) {
  Records records;
  for (const ResultRecord* record : contest.records) records.push_back(*record);
  std::ostringstream out;
  print_group(out, records, {false, 200});
  std::istringstream lines(out.str());
  std::vector<std::string> found;
  for (std::string line; std::getline(lines, line);)
    if (line.size() > 2 && line[0] == mark && line[1] == ' ')
      found.push_back(line.substr(2, line.find(' ', 2) - 2));
  return found;
}

std::vector<std::string> algorithms_with(const Contest& contest, std::string_view column,
                                         std::string_view value) {
  std::vector<std::string> found;
  for (const ResultRecord* record : contest.records)
    if (csv_text(*record, column) == value) found.push_back(record->key.algorithm);
  return found;
}

TEST(WhoWins, IsTheSameOnTheConsoleAndInTheTable) {
  const Records records = some_of_every_kind();
  const auto all = contests(records);
  ASSERT_EQ(all.size(), 18u);
  for (const Contest& contest : all) {
    EXPECT_EQ(marked(contest, '*'), algorithms_with(contest, "rank", "1")) << label(contest);
    EXPECT_EQ(marked(contest, '~'), algorithms_with(contest, "in_doubt", "true")) << label(contest);
    EXPECT_EQ(marked(contest, '!'), algorithms_with(contest, "standing", "wrong")) << label(contest);
  }
}

TEST(WhoWins, IsWhatTheRulesSay) {
  const Records records = some_of_every_kind();
  std::map<std::string, std::string> winners;
  for (const ResultRecord& record : records)
    if (record.ranking->rank == 1) winners[record.key.layer] = record.key.algorithm;
  const std::map<std::string, std::string> expected{
      {"throttled", "hot.cpu"},  {"slow_and_throttled", "cool.cpu"}, {"all_throttled", "hotter.cpu"},
      {"wrong", "right.cpu"},    {"disturbed", "hurt.cpu"},          {"tied", "first.cpu"},
      {"repeated", "often.cpu"}, {"refused", "onednn.auto.cpu"}};
  EXPECT_EQ(winners, expected);
}

TEST(WhoWins, IsTheOracleOfSelect) {
  const Records records = some_of_every_kind();
  const auto json = to_json(select(records, default_choosers()));
  std::map<std::pair<std::string, std::string>, std::string> oracles, winners;
  for (const auto& network : json["networks"])
    for (const auto& oracle : network["oracles"])
      if (!oracle["oracle"].is_null())
        oracles[{network["device_name"], oracle["layer"]}] = oracle["oracle"]["algorithm"];
  for (const ResultRecord& record : records)
    if (record.ranking->rank == 1) winners[{record.device.name, record.key.layer}] = record.key.algorithm;
  EXPECT_EQ(oracles, winners);
}

TEST(WhoWins, IsTheBestOfItsLayerInTheRollUp) {
  const Records records = some_of_every_kind();
  std::ostringstream out;
  print_roll_up(out, records, {false, 200});
  const std::string text = out.str();
  for (const ResultRecord& record : records) {
    if (record.ranking->rank != 1) continue;
    const size_t line = text.find("\n  " + record.key.layer + " ");
    ASSERT_NE(line, std::string::npos) << record.key.layer;
    EXPECT_NE(text.substr(line + 1, text.find('\n', line + 1) - line).find(" " + record.key.algorithm + " "),
              std::string::npos)
        << record.key.layer;
  }
}

}  // namespace
}  // namespace convscope
