// The verb `step` where it runs one: its flags, what it prints and what it leaves.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "bench/cli/test_program.hpp"
#include "bench/cli/verbs.hpp"
#include "bench/core/problem.hpp"
#include "bench/ranking/contest.hpp"
#include "bench/record/result_files.hpp"
#include "bench/step/test_steps.hpp"

namespace convscope {
namespace {

using ::testing::HasSubstr;
using testing::refusal_of;
using Rows = nlohmann::ordered_json;

// A config of the small network, in a folder of the test's own.
class MeasuredStep : public ::testing::Test {
 protected:
  MeasuredStep() {
    const std::string name = ::testing::UnitTest::GetInstance()->current_test_info()->name();
    folder_ = ::testing::TempDir() + "measured_step_" + name;
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    config_ = folder_ + "/small.json";
    std::ofstream(config_) << to_json(testing::small_suite());
  }
  ~MeasuredStep() override { std::filesystem::remove_all(folder_); }
  std::string printed(std::vector<std::string> more) const {
    std::vector<std::string> words{"step", config_, "--time-limit", "0.01", "--threads", "1"};
    words.insert(words.end(), more.begin(), more.end());
    return testing::run_program(words, testing::step_registry());
  }
  // The network's layers, measured at batch 2.
  std::string measured_rows() const {
    testing::run_program({"run", config_, "--batch", "2", "--threads", "1", "--time-limit", "0.01",
                          "--isolate", "off", "--out", folder_ + "/rows"},
                         testing::step_registry());
    return folder_ + "/rows";
  }
  std::string folder_, config_;
};

TEST_F(MeasuredStep, PrintsTheStepAndLeavesItsRows) {
  const std::string out = folder_ + "/out", trace = folder_ + "/trace.json";
  const std::string text = printed({"--batch", "2", "--out", out, "--trace", trace});
  EXPECT_THAT(text, HasSubstr("A training step of small, batch 2: convolutions inside it and alone, in ms"));
  EXPECT_THAT(text, HasSubstr("Gradient against differences of the loss"));
  const Rows file = Rows::parse(read_file(out + "/tasks.json"));
  ASSERT_EQ(file["rows"].size(), 17U);
  EXPECT_EQ(file["rows"].back()["task"], "step");
  EXPECT_EQ(file["rows"][0]["choose"], "tuned");
  EXPECT_THAT(file["rows"][0]["rerun"].get<std::string>(),
              HasSubstr("--basis measured --batch 2 --threads 1 --choose tuned"));
  EXPECT_EQ(Rows::parse(read_file(trace))["traceEvents"].size(), 16U);
  EXPECT_THAT(read_file(out + "/tasks.csv"), HasSubstr("small,2,1,"));
}

TEST_F(MeasuredStep, ChoosesWhatIsAskedFor) {
  const Rows rows = Rows::parse(printed({"--choose", "forward.cpu,same", "--json"}));
  for (const auto& row : rows) {
    const std::string expected = row["task"] == "forward" ? "forward.cpu" : "same.cpu";
    if (!row["algorithm"].is_null()) {
      EXPECT_EQ(row["algorithm"], expected);
    }
  }
  EXPECT_EQ(rows[0]["batch"], 2) << "the config's";
}

TEST_F(MeasuredStep, TakesTheWinnersOfGivenRowsAndNamesWhatIsMissing) {
  EXPECT_THAT(
      [&] {
        printed({"--choose", "best", "--rows", testing::kKeptRun});
      },
      ::testing::ThrowsMessage<UsageError>(::testing::AllOf(
          HasSubstr("--rows: no winner under --workspace-cap 256MiB of forward fp32 nchw n=2 c=2"),
          HasSubstr("measure the layers: "), HasSubstr("--batch 2 --threads 1"))));
}

TEST_F(MeasuredStep, TakesTheWinnersOfGivenRows) {
  const std::string rows = measured_rows();
  const ResultFile file = read_all_results({rows});
  size_t convolutions = 0;
  for (const auto& row :
       Rows::parse(printed({"--batch", "2", "--choose", "best", "--rows", rows, "--json"}))) {
    if (row["problem"].is_null() || row["algorithm"].is_null()) continue;
    ++convolutions;
    const auto problem = parse_problem(row["problem"].get<std::string>());
    for (const Contest& contest : contests(file.records))
      if (contest.key().problem == problem) {
        EXPECT_EQ(row["algorithm"], contest.winner()->key.algorithm) << row["problem"];
      }
  }
  EXPECT_EQ(convolutions, 5U);
}

TEST_F(MeasuredStep, TakesNoRowsOfAnotherMachineOrCapNorOfTwoCacheStates) {
  const std::string rows = measured_rows(), other = folder_ + "/other", policy = folder_ + "/fixed.json";
  std::ofstream(policy)
      << R"({"name": "fixed", "source": "s", "library": "l", "algorithms": {"forward": ["same"],
      "backward_data": ["same"], "backward_filter": ["same"]}})";
  const auto refusal = [&](const std::string& choose, const std::string& paths, const std::string& cap) {
    return testing::error_of([&] {
      printed({"--batch", "2", "--choose", choose, "--rows", paths, "--workspace-cap", cap});
    });
  };
  EXPECT_EQ(refusal("best", rows, "256MiB"), "");
  EXPECT_THAT(
      refusal("best", rows, "1MiB"),
      ::testing::AllOf(HasSubstr("--rows: no winner under --workspace-cap 1MiB of forward fp32 nchw n=2 c=2"),
                       HasSubstr(" with 1 thread on "),
                       HasSubstr(" --threads 1 --cache cold --workspace-cap 1MiB --out DIR")));
  EXPECT_EQ(refusal(policy, rows, "1MiB"), "") << "a policy has a cap of its own";

  ResultFile file = read_results(rows);
  for (ResultRecord& record : file.records) record.key.cache = CacheState::hot;
  write_results(other, file);
  EXPECT_EQ(refusal("best", other, "256MiB"), "");
  for (const std::string& choose : {std::string("best"), policy})
    EXPECT_THAT(refusal(choose, rows + "," + other, "256MiB"),
                HasSubstr("with caches cold and hot; measure the layers: "));

  for (ResultRecord& record : file.records)
    record.device.machine_class = record.device.machine_unit = "another";
  write_results(other, file);
  EXPECT_THAT(refusal("best", other, "256MiB"), HasSubstr("--rows: no winner under"));
  EXPECT_THAT(refusal(policy, other, "256MiB"), HasSubstr("the policy takes no record of"));
  EXPECT_EQ(refusal("best", other + "," + rows, "256MiB"), "");

  // Bound to other cores, and in a container that cannot read what its unit is made from.
  file = read_results(rows);
  for (ResultRecord& record : file.records) {
    const std::string known = record.device.machine_class;
    record.device.machine_class = known.substr(0, known.rfind('-')) + "-00000000";
    record.device.machine_unit.clear();
  }
  write_results(other, file);
  EXPECT_EQ(refusal("best", other, "256MiB"), "");
}

TEST_F(MeasuredStep, TakesWhatAPolicyTakesOfGivenRows) {
  const std::string rows = measured_rows(), policy = folder_ + "/fixed.json";
  std::ofstream(policy) << R"({"name": "fixed", "title": "t", "framework": "f", "source": "s", "library": "l",
      "workspace_cap": "inf", "take": "first", "algorithms": {"forward": ["forward", "same"],
      "backward_data": ["same"], "backward_filter": ["same", "exact"]}})";
  for (const auto& row :
       Rows::parse(printed({"--batch", "2", "--choose", policy, "--rows", rows, "--json"}))) {
    if (row["problem"].is_null()) continue;
    EXPECT_EQ(row["algorithm"], row["task"] == "forward" ? "forward.cpu" : "same.cpu");
  }
}

TEST_F(MeasuredStep, LeavesItsFolderToTheCommandSetRight) {
  const std::string out = folder_ + "/out";
  EXPECT_THROW(printed({"--choose", "typo", "--out", out}), UsageError);
  EXPECT_THROW(printed({"--trace", folder_ + "/none/trace.json", "--out", out}), UsageError);
  EXPECT_FALSE(std::filesystem::exists(out + "/journal.jsonl")) << "nothing was measured";
  printed({"--out", out + "/", "--trace", out + "/trace.json"});  // as a shell completes the folder's name
  for (const char* file : {"/tasks.json", "/trace.json"}) EXPECT_TRUE(std::filesystem::exists(out + file));
}

TEST_F(MeasuredStep, RunsAgainFromALineThatAShellReadsAsItWas) {
  const std::string config = folder_ + "/my nets.json";
  std::filesystem::rename(config_, config);
  config_ = config;
  const Rows rows = Rows::parse(printed({"--algorithm", "exact*,same*", "--json"}));
  const auto rerun = rows[0]["rerun"].get<std::string>();
  EXPECT_THAT(rerun, HasSubstr(" step '" + config + "' --basis measured "));
  EXPECT_THAT(rerun, HasSubstr(" --choose tuned --algorithm 'exact*,same*' --time-limit 0.01"));
}

// What mpirun started, a program without MPI: its rows are refused, each with its line.
class FirstRank : public MeasuredStep {
 protected:
  FirstRank() {
    setenv("OMPI_COMM_WORLD_RANK", "0", 1);
    setenv("OMPI_COMM_WORLD_SIZE", "2", 1);
  }
  ~FirstRank() override {
    unsetenv("OMPI_COMM_WORLD_RANK");
    unsetenv("OMPI_COMM_WORLD_SIZE");
  }
  std::string rerun(std::vector<std::string> more) const {
    more.insert(more.end(), {"--reduce", "ring", "--json"});
    return Rows::parse(printed(more))[0]["rerun"].get<std::string>();
  }
};

TEST_F(FirstRank, RunsAgainWithAllThatItWasGiven) {
  EXPECT_THAT(rerun({"--workspace-cap", "8MiB"}), HasSubstr(" --workspace-cap 8MiB --time-limit 0.01"));
  EXPECT_THAT(rerun({"--choose", "best", "--rows", testing::kKeptRun}),
              ::testing::AllOf(HasSubstr(" --choose best "),
                               HasSubstr(" --rows " + shell_word(testing::kKeptRun) + " ")));
}

TEST_F(FirstRank, LeavesTheFolderToTheCommandSetRight) {
  const std::string out = folder_ + "/out";
  for (std::vector<std::string> wrong : {std::vector<std::string>{"--choose", "typo"},
                                         {"--batch", "3"},
                                         {"--choose", "best", "--rows", "none"}}) {
    wrong.insert(wrong.end(), {"--out", out});
    EXPECT_THROW(printed(wrong), UsageError) << wrong[1];
  }
  EXPECT_FALSE(std::filesystem::exists(out));
  printed({"--out", out});
  EXPECT_TRUE(std::filesystem::exists(out + "/steps.json"));
}

TEST_F(MeasuredStep, RefusesWhatItCannotBe) {
  EXPECT_THAT(refusal_of({"step", config_, "--gpus", "2"}), HasSubstr("--gpus: only a modelled step has it"));
  EXPECT_THAT(refusal_of({"step", config_, "--reduce", "ring"}),
              HasSubstr("or one that mpirun starts, has it"));
  EXPECT_THAT(refusal_of({"step", config_, "--rows", "out"}),
              HasSubstr("with --choose best or a policy only"));
  std::ofstream(folder_ + "/fixed.json")
      << R"({"name": "fixed", "title": "t", "framework": "f", "source": "s", "library": "l", "workspace_cap": "inf",
             "take": "first", "algorithms": {"forward": ["exact"], "backward_data": ["exact"]}})";
  EXPECT_THAT(refusal_of({"step", config_, "--choose", folder_ + "/fixed.json"}),
              HasSubstr("--rows is missing"));
  EXPECT_THAT(
      [&] {
        printed({"--choose", folder_ + "/fixed.json", "--rows", testing::kKeptRun});
      },
      ::testing::ThrowsMessage<UsageError>(
          ::testing::AllOf(HasSubstr("the policy takes no record of forward fp32 nchw n=2 c=2 hw=7x6"),
                           HasSubstr("measure the layers: "))));
  EXPECT_THAT(refusal_of({"step", config_, "--choose", "best"}), HasSubstr("--rows is missing"));
  EXPECT_THAT(refusal_of({"step", config_, "--basis", "guessed"}), HasSubstr("--basis"));
  EXPECT_THAT(refusal_of({"step", config_, "--time-limit", "0"}), HasSubstr("--time-limit"));
  EXPECT_THAT(refusal_of({"step", config_, "--under-load", "fast"}),
              HasSubstr("--under-load: found \"fast\""));
  EXPECT_THAT(refusal_of({"step", config_, "--under-load", "5GB/s:0"}),
              HasSubstr("--under-load: found \"0\""));
  EXPECT_THAT(refusal_of({"step", config_, "--under-load", "5GB/s", "--choose", "same"}),
              HasSubstr("leave --choose and mpirun out"));
  EXPECT_THAT(refusal_of({"step", config_, "--under-load", "5GB/s:4000", "--threads", "97"}),
              HasSubstr("97 and 4000 threads need as many cores"));
  EXPECT_THAT(testing::error_of([&] {
                testing::run_program({"step", config_, "--threads", "4000"}, testing::step_registry());
              }),
              HasSubstr("--threads: found 4000"));
  EXPECT_THROW(printed({"--batch", "1,2"}), UsageError);
  EXPECT_THAT(
      [&] {
        printed({"--algorithm", "samme", "--out", folder_ + "/out"});
      },
      ::testing::ThrowsMessage<UsageError>(HasSubstr("samme")));
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/out")) << "nothing was measured";
  EXPECT_THAT(
      [&] {
        printed({"--choose", "bset"});
      },
      ::testing::ThrowsMessage<UsageError>(HasSubstr("--choose: ")));
  Suite large = testing::small_suite();
  for (Layer& layer : large.layers) layer.shape.input = {8192, 8192};
  std::ofstream(config_) << to_json(large);
  EXPECT_THAT(
      [&] {
        printed({"--batch", "65536"});
      },
      ::testing::ThrowsMessage<UsageError>(HasSubstr("take a smaller --batch")));
}

}  // namespace
}  // namespace convscope
