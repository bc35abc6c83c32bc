#include "bench/parallel/allreduce/measure_reduction.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <limits>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/core/error.hpp"
#include "bench/parallel/allreduce/reduction_report.hpp"
#include "bench/parallel/fabric/threads_fabric.hpp"
#include "bench/parallel/network/model_error.hpp"
#include "bench/record/row_files.hpp"

namespace convscope {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();

// Rows of every reduction of so many bytes over n threads.
std::vector<ReductionRow> rows_of(int n, int64_t bytes) {
  std::vector<ReductionRow> rows;
  for (Reduction reduction : kReductions) {
    ReductionRow row;
    row.fleet = {{n, n}, Basis::measured, "threads", "", {}};
    row.reduce = std::string(name(reduction));
    row.bytes = bytes;
    rows.push_back(row);
  }
  return rows;
}

// Its samples, not its seconds, end a series: so many are expected however slow the machine is.
constexpr SamplingRule kQuick{.time_limit_seconds = 600, .min_samples = 6, .max_samples = 6};

// A library whose sums are wrong in a way of its own: what the row says of it is the test.
class FaultyLibrary : public Fabric {
 public:
  enum class Fault { none, first_value, rank_1, small_error };
  FaultyLibrary(Fabric& fabric, Fault fault) : fabric_(fabric), fault_(fault) {}
  int rank() const override { return fabric_.rank(); }
  int size() const override { return fabric_.size(); }
  void exchange(std::span<const Outgoing> sent, std::span<const Incoming> received) override {
    fabric_.exchange(sent, received);
  }
  bool has_all_reduce() const override { return true; }
  void library_all_reduce(std::span<float> values) override {
    std::vector<float> scratch(values.size());
    all_reduce(Reduction::tree, fabric_, values, scratch, {size(), size()});
    if (fault_ == Fault::first_value) values[0] += 1;
    // The last bit, on one rank only, of values that are not integers.
    if (fault_ == Fault::rank_1 && rank() == 1 &&
        values[1] != static_cast<float>(static_cast<int>(values[1])))
      values[1] = std::nextafter(values[1], 1e9F);
    if (fault_ == Fault::small_error && values[2] != static_cast<float>(static_cast<int>(values[2])))
      values[2] *= 1.001F;
  }

 private:
  Fabric& fabric_;
  Fault fault_;
};

ReductionRow row_of_library(FaultyLibrary::Fault fault) {
  ReductionRow result;
  run_ranks(3, [&](Fabric& fabric) {
    std::vector<ReductionRow> rows = rows_of(3, 4096);
    rows.resize(1);
    rows[0].reduce = kMpi;
    FaultyLibrary library(fabric, fault);
    measure_reductions(library, kQuick, 1, rows);
    if (fabric.rank() == 0) result = rows[0];
  });
  return result;
}

TEST(MeasuredReductions, AreVerifiedAndTimedAndSayTheSameOnEveryRank) {
  for (int n : {1, 4}) {
    std::vector<std::vector<ReductionRow>> all(static_cast<size_t>(n));
    run_ranks(n, [&](Fabric& fabric) {
      auto& rows = all[static_cast<size_t>(fabric.rank())] = rows_of(n, 4000);
      measure_reductions(fabric, kQuick, 1, rows);
    });
    for (size_t i = 0; i < all[0].size(); ++i) {
      const ReductionRow& row = all[0][i];
      SCOPED_TRACE(row.reduce);
      EXPECT_EQ(row.outcome, RowOutcome::good) << row.note;
      EXPECT_TRUE(*row.exact && *row.identical_bits && *row.repeatable);
      EXPECT_LT(*row.relative_l2, 1e-6);
      EXPECT_EQ(row.time.n, 6);
      EXPECT_GT(row.time.median, 0);
      EXPECT_EQ(*row.busiest_bytes > 4000, n == 4);
      for (const auto& rows : all) EXPECT_EQ(rows[i].time.median, row.time.median);
    }
  }
}

TEST(MeasuredReductions, RefuseByNameAndLeaveTheOthers) {
  run_ranks(3, [](Fabric& fabric) {
    std::vector<ReductionRow> rows = rows_of(3, 400);
    rows.push_back(rows[0]);
    rows.back().reduce = kMpi;
    measure_reductions(fabric, kQuick, 1, rows);
    EXPECT_EQ(rows[2].reason, "not_power_of_two");
    EXPECT_EQ(rows[5].reason, "library_missing");
    EXPECT_EQ(rows[1].outcome, RowOutcome::good);
  });
}

TEST(MeasuredReductions, RefuseWhatDoesNotFitTheMemory) {
  run_ranks(2, [](Fabric& fabric) {
    std::vector<ReductionRow> rows = rows_of(2, int64_t{1} << 50);
    measure_reductions(fabric, kQuick, 1, rows);
    for (const ReductionRow& row : rows) EXPECT_EQ(row.reason, "out_of_memory");
  });
}

TEST(MeasuredReductions, TakeTheMemoryOfAMachineForItsOwnRanksAlone) {
  const RankPlace one{"node1", 7, "a boot pid:[1]"}, other{"node2", 7, "another boot pid:[1]"};
  const std::vector<RankPlace> ranks{one, one, {"a container", 7, "a boot pid:[2]"}, other};
  EXPECT_TRUE(has_room(ranks, 0, 1000, 500, kNoLimit, 3 * 4 * 2500));
  EXPECT_FALSE(has_room(ranks, 0, 1000, 500, kNoLimit, 3 * 4 * 2500 - 1));
  EXPECT_TRUE(has_room(ranks, 3, 1000, 500, kNoLimit, 4 * 2500));
  EXPECT_FALSE(has_room(ranks, 3, 1000, 500, kNoLimit, 4 * 2500 - 1));
}

TEST(MeasuredReductions, TakeWhatAContainerMayHaveForItsOwnRanksAlone) {
  const RankPlace one{"a container", 7, "a boot pid:[1]"}, other{"another container", 7, "a boot pid:[2]"};
  const std::vector<RankPlace> ranks{one, one, other};
  EXPECT_TRUE(has_room(ranks, 0, 1000, 500, 2 * 4 * 2500, kNoLimit));
  EXPECT_FALSE(has_room(ranks, 0, 1000, 500, 2 * 4 * 2500 - 1, kNoLimit)) << "though the machine has more";
  EXPECT_TRUE(has_room(ranks, 2, 1000, 500, 4 * 2500, kNoLimit));
  EXPECT_FALSE(has_room(ranks, 2, 1000, 500, 4 * 2500, 3 * 4 * 2500 - 1)) << "though its container may";
}

TEST(MeasuredReductions, AreWrongAndWithoutATimeWhereTheSumsAre) {
  EXPECT_EQ(row_of_library(FaultyLibrary::Fault::none).outcome, RowOutcome::good);
  for (const auto& [fault, reason] : {std::pair(FaultyLibrary::Fault::first_value, "inexact_integers"),
                                      std::pair(FaultyLibrary::Fault::rank_1, "ranks_differ"),
                                      std::pair(FaultyLibrary::Fault::small_error, "too_large_error")}) {
    const ReductionRow row = row_of_library(fault);
    EXPECT_EQ(row.outcome, RowOutcome::wrong);
    EXPECT_EQ(row.reason, reason);
    EXPECT_FALSE(row.has_time());
  }
}

ReductionRow modelled(const std::string& reduce, int n) {
  ReductionRow row;
  ClosedForm network({{5e9, 5e-6}, {5e9, 5e-6}});
  row.fleet = network.fleet({n, n});
  row.reduce = reduce;
  row.bytes = 1'000'000'000;
  model_reduction(row, network);
  return row;
}

TEST(ModelledReductions, HaveTheClosedFormsTimeAndBandwidths) {
  const ReductionRow row = modelled("ring", 4);
  EXPECT_DOUBLE_EQ(row.time.median, 1.5 * 0.2 + 6 * 5e-6);
  EXPECT_DOUBLE_EQ(*row.busiest_bytes, 1.5e9);
  EXPECT_EQ(modelled("halving", 3).reason, "not_power_of_two");
  EXPECT_EQ(modelled("mpi", 4).reason, "no_model");
}

std::string csv_of(const std::vector<ReductionRow>& rows) {
  std::ostringstream out;
  write_csv(out, reduction_columns(), std::span(rows));
  return out.str();
}

TEST(ReductionRows, AreWrittenWithNullsWhereNothingIsKnown) {
  const std::string csv = csv_of({modelled("ring", 4), modelled("halving", 3)});
  EXPECT_THAT(csv,
              HasSubstr("\n4,4,modelled,closed form,,,,5,5,5,5,0.17,1.19,,ring,1000000000,300.03,,,0,,"));
  EXPECT_THAT(csv,
              HasSubstr(",refused,not_power_of_two,\"halving needs 1, 2, 4, 8, ... ranks; there are 3\","));
  for (const auto& column : reduction_columns()) EXPECT_NO_THROW(column.cell(ReductionRow{})) << column.name;
}

TEST(ReductionRows, ArePrintedWithTheirLinksAndReasons) {
  std::ostringstream out;
  const std::vector<ReductionRow> rows{modelled("ring", 3), modelled("halving", 3)};
  print_reductions(out, rows, Look(false, 120));
  EXPECT_THAT(out.str(), HasSubstr("all-reduce over 3 ranks\n  modelled, closed form; link 5 GB/s, 5 us"));
  EXPECT_THAT(out.str(), HasSubstr("ring"));
  EXPECT_THAT(out.str(), HasSubstr("halving on 3 ranks: not_power_of_two: halving needs"));
}

TEST(Fleets, AreNamedWithTheLinksThatTheirMessagesTake) {
  const auto words = [](const Ranks& ranks) {
    return words_of(ClosedForm({{100e9, 1e-6}, {5e9, 5e-6}}).fleet(ranks));
  };
  EXPECT_EQ(words({4, 4}), "modelled, closed form; link 100 GB/s, 1 us");
  EXPECT_EQ(words({4, 1}), "modelled, closed form, nodes of 1; link 5 GB/s, 5 us");
  EXPECT_EQ(words({8, 4}),
            "modelled, closed form, nodes of 4; link 5 GB/s, 5 us; within a node 100 GB/s, 1 us");
}

TEST(ReductionRows, ThatAreModelledAndNoOthersSayHowFarTheModelIsFromWhatWasMeasured) {
  std::vector<ReductionRow> rows{modelled("ring", 3), modelled("ring", 4)};
  const auto printed = [&](size_t columns) {
    std::ostringstream out;
    print_reductions(out, rows, Look(false, columns));
    return out.str();
  };
  const std::string said = model_error_text(kSumError, Look(false, 120));
  EXPECT_THAT(said,
              HasSubstr(fmt::format("median {:.0f}%, largest {:.0f}%", kSumError.median, kSumError.largest)));
  EXPECT_THAT(said, HasSubstr("model's error on sums"));
  const std::string both = printed(120);
  const size_t first = both.find(said);
  ASSERT_NE(first, std::string::npos);
  EXPECT_NE(both.find(said, first + 1), std::string::npos);  // each table has it
  EXPECT_THAT(printed(60), HasSubstr(model_error_text(kSumError, Look(false, 60))));
  for (ReductionRow& row : rows) row.fleet.basis = Basis::measured;
  EXPECT_THAT(printed(120), Not(HasSubstr("model's error")));
}

TEST(RowFolder, HoldsEveryRowInTheJournalBeforeTheFilesAreWritten) {
  const std::string folder = ::testing::TempDir() + "/row_folder";
  std::filesystem::remove_all(folder);
  const std::vector<ReductionRow> rows{modelled("ring", 4)};
  {
    RowFolder<ReductionRow> rows_folder(folder, "allreduce", {{"convscope"}, {{"system", "a test"}}},
                                        reduction_columns());
    rows_folder.add(rows[0]);
    const auto entries = Journal::read(folder);
    ASSERT_EQ(entries.size(), 2U);
    EXPECT_EQ(entries[1]["row"]["reduce"], "ring");
    EXPECT_FALSE(std::filesystem::exists(folder + "/allreduce.csv"));
    rows_folder.finish(rows);
  }
  EXPECT_EQ(read_file(folder + "/allreduce.csv"), csv_of(rows));
  const auto json = parse_json_text(read_file(folder + "/allreduce.json"));
  EXPECT_EQ(json["environment"]["system"], "a test");
  EXPECT_EQ(json["rows"][0]["busbw"], row_json(reduction_columns(), rows[0])["busbw"]);
  EXPECT_THROW(RowFolder<ReductionRow>(folder, "allreduce", {}, reduction_columns()), UsageError);
}

}  // namespace
}  // namespace convscope
