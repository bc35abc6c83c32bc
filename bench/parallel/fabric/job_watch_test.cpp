#include "bench/parallel/fabric/job_watch.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>

#include "bench/parallel/fabric/mpi_job.hpp"
#include "bench/parallel/fabric/threads_fabric.hpp"

namespace convscope {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;

// A process that does nothing until it is killed, as it is when its parent ends.
class Sleeper {
 public:
  Sleeper() {
    int ready[2];
    EXPECT_EQ(pipe(ready), 0);
    process_ = fork();
    if (process_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      close(ready[0]);
      close(ready[1]);
      for (;;) pause();
    }
    close(ready[1]);
    char none = 0;
    EXPECT_EQ(read(ready[0], &none, 1), 0);  // once the other end is closed
    close(ready[0]);
  }
  ~Sleeper() { kill(); }
  int process() const { return process_; }
  void stop() {
    ::kill(process_, SIGSTOP);
    waitpid(process_, nullptr, WUNTRACED);
  }
  void kill() {
    if (process_ == 0) return;
    ::kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
    process_ = 0;
  }

 private:
  int process_ = 0;
};

std::vector<RankPlace> places_with(int process) {
  const RankPlace here = this_place();
  return {here,
          {here.host, process, here.space},
          {here.host, 999'999'999, "a container on it"},
          {"elsewhere", 1, ""}};
}

TEST(LostRanks, AreThoseOfThisHostThatAreGoneOrStopped) {
  Sleeper other;
  const std::vector<RankPlace> places = places_with(other.process());
  EXPECT_EQ(lost_ranks(places), "");
  other.stop();
  EXPECT_THAT(lost_ranks(places), ContainsRegex("^rank 1 \\(process [0-9]+ on .*\\) is stopped$"));
  other.kill();
  EXPECT_THAT(lost_ranks(places), ContainsRegex("^rank 1 \\(process [0-9]+ on .*\\) is gone$"));
}

TEST(LostRanks, KnowWhereEveryRankIs) {
  run_ranks(3, [](Fabric& fabric) {
    const std::vector<RankPlace> places = gathered_places(fabric);
    ASSERT_EQ(places.size(), 3U);
    for (const RankPlace& place : places) {
      EXPECT_EQ(place.host, this_place().host);
      EXPECT_EQ(place.process, getpid());
      EXPECT_EQ(place.space, this_place().space);
      EXPECT_THAT(place.space, ContainsRegex("pid:"));
    }
  });
}

TEST(LostRanks, AreNotKnownOfThoseThatAreElsewhere) {
  std::vector<RankPlace> places = places_with(getpid());
  EXPECT_THAT(unseen_ranks(places),
              ContainsRegex("^rank 2 \\(process 999999999 on .*\\), rank 3 \\(process 1 on elsewhere\\)$"));
  for (int process = 2; process < 6; ++process) places.push_back({"elsewhere", process, ""});
  EXPECT_THAT(unseen_ranks(places), ContainsRegex("rank 5 \\(process 3 on elsewhere\\) and 2 more$"));
  EXPECT_EQ(unseen_ranks(std::span(places).first(2)), "");
}

TEST(RankPlaces, AreBesideEachOtherOnOneMachineAndInOneContainer) {
  const RankPlace one{"node1", 7, "boot pid:[1]"};
  EXPECT_TRUE(is_beside(one, {"node1", 8, "boot pid:[1]"}));
  EXPECT_FALSE(is_beside(one, {"node1", 8, "boot pid:[2]"})) << "a container";
  EXPECT_FALSE(is_beside(one, {"node1", 8, "other boot pid:[1]"})) << "a host of the same name";
  EXPECT_FALSE(is_beside(one, {"node2", 8, "boot pid:[1]"})) << "a copy of the machine";
  EXPECT_TRUE(is_beside({"node1", 7, ""}, {"node1", 8, ""})) << "of which no more is known";
}

TEST(RankPlaces, AreOnOneMachineInItsContainersToo) {
  const RankPlace one{"node1", 7, "boot pid:[1]"};
  EXPECT_TRUE(is_on_one_machine(one, {"node1", 8, "boot pid:[1]"}));
  EXPECT_TRUE(is_on_one_machine(one, {"5f0c", 8, "boot pid:[2]"})) << "a container";
  EXPECT_FALSE(is_on_one_machine(one, {"node2", 8, "boot pid:[1]"})) << "a copy of the machine";
  EXPECT_FALSE(is_on_one_machine(one, {"node1", 8, "other boot pid:[1]"})) << "a host of the same name";
  EXPECT_FALSE(is_on_one_machine({"node1", 7, ""}, {"node2", 8, ""})) << "of which no more is known";
}

TEST(StallLimit, GrowsWithWhatIsSent) {
  EXPECT_EQ(stall_limit(5'000'000, kSlowestOfProcesses), std::chrono::seconds(12));
  EXPECT_EQ(stall_limit(0), std::chrono::seconds(7));
  EXPECT_EQ(stall_limit(500'000'000), std::chrono::seconds(17));
}

JobWatch::AtEnd printed() {
  return [](const std::string& reason, const std::string& note) {
    std::fprintf(stderr, "kept: %s: %s\n", reason.c_str(), note.c_str());
  };
}

// Each in a process of its own, which the watch ends.
class JobWatchDeathTest : public ::testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(JobWatchDeathTest, EndsAJobThatMakesNoProgressAndSaysWhereItWaited) {
  const auto stall = [] {
    JobWatch watch(0, {this_place()}, true, printed());
    watch.beat("sums of 4KiB", milliseconds(100));
    for (;;) pause();
  };
  EXPECT_EXIT(stall(), ::testing::ExitedWithCode(2), "kept: timeout: rank 0 waited [0-9]+ s in sums of 4KiB");
}

// Ranks that are threads, as if MPI had started them. Connecting waits for all of them, as MPI's does.
class JobOfThreads final : public MpiJob {
 public:
  explicit JobOfThreads(Fabric& fabric) : fabric_(fabric) {}
  int rank() const override { return fabric_.rank(); }
  int size() const override { return fabric_.size(); }
  int local_rank() const override { return fabric_.rank(); }
  std::string library() const override { return "threads"; }
  bool takes_any_thread() const override { return true; }
  std::unique_ptr<Fabric> first_ranks(int) override {
    largest_over_ranks(fabric_, 0);
    static JobWatch unwatched(0, {}, false, nullptr);
    return std::make_unique<WatchedFabric>(fabric_, unwatched);
  }

 private:
  Fabric& fabric_;
};

TEST_F(JobWatchDeathTest, EndsAJobOfWhichARankDoesNotComeToMeetTheOthers) {
  const auto wait = [] {
    run_ranks(2, [](Fabric& fabric) {
      JobOfThreads job(fabric);
      if (fabric.rank() == 0) met_ranks(job, 1, milliseconds(100));
      for (;;) pause();
    });
  };
  EXPECT_EXIT(wait(), ::testing::ExitedWithCode(2), "timeout: rank 0 waited .* in meeting the other ranks");
}

// Whose end never comes, since another rank does not come to it.
class EndlessJob final : public MpiJob {
 public:
  explicit EndlessJob(int rank) : rank_(rank) {}
  ~EndlessJob() override {
    for (;;) pause();
  }
  int rank() const override { return rank_; }
  int size() const override { return 3; }
  int local_rank() const override { return rank_; }
  std::string library() const override { return "none"; }
  bool takes_any_thread() const override { return true; }
  std::unique_ptr<Fabric> first_ranks(int) override { return nullptr; }

 private:
  int rank_;
};

TEST_F(JobWatchDeathTest, EndsAJobOfWhichARankIsLostThatIsAwaitedInMpisEnd) {
  const auto wait = [](int rank) {
    Sleeper stopped;
    stopped.stop();
    const RankPlace here = this_place(), lost{here.host, stopped.process(), here.space};
    const OwnedJob job(new EndlessJob(rank));
    job->places = rank == 0 ? std::vector{here, here, lost} : std::vector{lost, here, lost};
  };
  EXPECT_EXIT(wait(0), ::testing::ExitedWithCode(2), "rank_lost: rank 2 .* is stopped, seen for 4 s");
  EXPECT_EXIT(wait(1), ::testing::ExitedWithCode(2), "rank_lost: rank 0 [^,]* is stopped, seen for 4 s");
}

TEST_F(JobWatchDeathTest, NamesTheRankThatIsStopped) {
  const auto stall = [] {
    Sleeper other;
    other.stop();
    JobWatch watch(0, places_with(other.process()), true, printed());
    watch.beat("sums of 4KiB", milliseconds(100));
    for (;;) pause();
  };
  EXPECT_EXIT(stall(), ::testing::ExitedWithCode(2), "kept: rank_lost: .*; rank 1 .* is stopped");
}

TEST_F(JobWatchDeathTest, NamesTheRanksThatItCannotSeeWhereItWaitedOrWasEnded) {
  const auto stall = [](bool is_ended) {
    Sleeper other;
    JobWatch watch(0, places_with(other.process()), true, printed());
    watch.beat("sums of 4KiB", milliseconds(100));
    if (is_ended) raise(SIGTERM);
    for (;;) pause();
  };
  EXPECT_EXIT(
      stall(false), ::testing::ExitedWithCode(2),
      "kept: timeout: rank 0 waited .*; not seen from rank 0: rank 2 .*rank 3 .process 1 on elsewhere");
  EXPECT_EXIT(stall(true), ::testing::ExitedWithCode(128 + SIGTERM),
              "kept: stopped: .* by a signal; not seen from rank 0: rank 2 .*; where one of them was lost");
}

TEST_F(JobWatchDeathTest, EndsAJobOfWhichARankIsLostWhileOthersCompute) {
  const auto compute = [](bool is_gone) {
    Sleeper other;
    other.stop();
    JobWatch watch(0, places_with(is_gone ? 999'999'999 : other.process()), true, printed());
    watch.beat("a step of batch 4", hours(1));
    for (;;) pause();
  };
  EXPECT_EXIT(compute(false), ::testing::ExitedWithCode(2),
              "kept: rank_lost: rank 1 .* is stopped, seen for 4 s; rank 0 was in a step of batch 4");
  EXPECT_EXIT(compute(true), ::testing::ExitedWithCode(2),
              "kept: rank_lost: rank 1 .* is gone, seen for 4 s");
}

TEST_F(JobWatchDeathTest, KeepsARecordWhereTheLauncherEndsTheJob) {
  const auto ended = [](bool is_lost) {
    Sleeper other;
    if (is_lost) other.kill();
    JobWatch watch(0, places_with(is_lost ? 999'999'999 : other.process()), true, printed());
    raise(SIGTERM);
    for (;;) pause();
  };
  EXPECT_EXIT(ended(false), ::testing::ExitedWithCode(128 + SIGTERM), "kept: stopped: the job was ended");
  EXPECT_EXIT(ended(true), ::testing::ExitedWithCode(128 + SIGTERM), "kept: rank_lost: .*rank 1 .* is gone");
}

TEST_F(JobWatchDeathTest, LeavesTheReportToTheRankThatReports) {
  const auto stall = [] {
    JobWatch watch(1, {this_place(), this_place()}, true, JobWatch::AtEnd());
    watch.beat("sums", milliseconds(1));
    for (;;) pause();
  };
  EXPECT_EXIT(stall(), ::testing::ExitedWithCode(2), "timeout: rank 1 waited");
}

TEST(JobWatch, KeepsQuietWhileThereAreSignsAndWhereNothingIsWaitedFor) {
  JobWatch watch(0, {this_place()}, false, [](const auto&, const auto&) { FAIL(); });
  watch.beat("sums", hours(1));
  watch.beat();
  watch.beat("sums", milliseconds(100));
  watch.rest();
  std::this_thread::sleep_for(milliseconds(1200));  // two looks of the watch
}

TEST(MetRanks, HaveTheirPlacesAndAreRefusedWhereTheyDiffer) {
  for (const bool differ : {false, true}) {
    const auto meet = [&] {
      run_ranks(2, [&](Fabric& fabric) {
        JobOfThreads job(fabric);
        met_ranks(job, differ && fabric.rank() == 1 ? 2 : 1);
        ASSERT_EQ(job.places.size(), 2u);
        for (const RankPlace& place : job.places) EXPECT_EQ(place.process, getpid());
      });
    };
    std::string refused;
    try {
      meet();
    } catch (const std::runtime_error& error) {
      refused = error.what();
    }
    EXPECT_THAT(refused, HasSubstr(differ ? "the ranks differ in their program, config or flags" : ""));
    EXPECT_EQ(refused.empty(), !differ);
  }
}

TEST(StallLimit, GrowsWithWhatARankIsKnownToTake) {
  EXPECT_EQ(stall_limit_beside(0), std::chrono::seconds(7));
  EXPECT_EQ(stall_limit_beside(2.5), std::chrono::seconds(17));
  EXPECT_EQ(stall_limit(2'000'000, 1e6), std::chrono::seconds(9));
}

// A fabric whose library sums by setting all values to 7.
class SevenFabric final : public Fabric {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  void exchange(std::span<const Outgoing>, std::span<const Incoming>) override {}
  bool has_all_reduce() const override { return true; }
  void library_all_reduce(std::span<float> values) override { std::ranges::fill(values, 7.F); }
};

TEST(WatchedFabric, HasTheAllReduceOfItsLibrary) {
  JobWatch watch(0, {}, false, nullptr);
  SevenFabric seven;
  WatchedFabric watched(seven, watch);
  EXPECT_TRUE(watched.has_all_reduce());
  std::vector<float> values(2);
  watched.library_all_reduce(values);
  EXPECT_EQ(values, (std::vector<float>{7, 7}));
}

TEST(WatchedFabric, CarriesWhatItIsGiven) {
  run_ranks(3, [](Fabric& fabric) {
    EXPECT_FALSE(fabric.has_all_reduce());
    std::vector<float> none;
    EXPECT_THROW(fabric.library_all_reduce(none), std::logic_error);
    JobWatch watch(fabric.rank(), {}, false, nullptr);
    watch.beat("messages", hours(1));
    WatchedFabric watched(fabric, watch);
    EXPECT_EQ(largest_over_ranks(watched, watched.rank()), 2);
    const std::vector<std::string> texts =
        gathered_texts(watched, std::string(static_cast<size_t>(watched.rank()), 'x'));
    EXPECT_EQ(texts, (std::vector<std::string>{"", "x", "xx"}));
  });
}

}  // namespace
}  // namespace convscope
