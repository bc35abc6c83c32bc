// The verbs `allreduce` and `step`: their flags, what they print and what they leave. MPI is tested from
// outside, by scripts/tests/test_parallel.py and test_lost_ranks.py.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/cli/step/parallel_flags.hpp"
#include "bench/cli/test_program.hpp"
#include "bench/core/error.hpp"
#include "bench/device/cuda/cuda.hpp"
#include "bench/parallel/reductions/reductions.hpp"
#include "bench/record/record_json.hpp"
#include "bench/record/result_files.hpp"
#include "bench/runner/config.hpp"
#include "bench/step/network_operations.hpp"

namespace convscope {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::refusal_of;
using Rows = nlohmann::ordered_json;

const std::string kResults = CONVSCOPE_SOURCE_FOLDER "/results/amd-zen4-2-cores/";
const std::string kConfig = CONVSCOPE_SOURCE_FOLDER "/configs/alexnet.json";

Rows rows_of(std::vector<std::string> words) {
  words.emplace_back("--json");
  return Rows::parse(testing::run_program(words));
}

std::vector<std::string> step_words(const std::vector<std::string>& more) {
  std::vector<std::string> words{
      "step",   kConfig,    "--rows", kResults + "alexnet.json.xz," + kResults + "alexnet-batch-1.json.xz",
      "--link", "5GB/s,5us"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

TEST(ParallelFlags, ReadCountsSizesLinksAndOverlaps) {
  EXPECT_THAT(read_counts("--gpus", {"1", "3", "4..16", "4"}), ElementsAre(1, 3, 4, 8, 16));
  EXPECT_THAT(read_counts("--gpus", {"3..20"}), ElementsAre(3, 6, 12));
  EXPECT_THAT(read_sizes("--bytes", {"4KiB..1MiB", "100"}),
              ElementsAre(4096, 16384, 65536, 262144, 1048576, 100));
  const Link link = read_link("--link", "5GB/s,5us");
  EXPECT_DOUBLE_EQ(link.bytes_per_second, 5e9);
  EXPECT_DOUBLE_EQ(link.latency, 5e-6);
  EXPECT_DOUBLE_EQ(read_link("--link", "125MB/s,0.1ms").latency, 1e-4);
  for (const char* overlap : {"none", "layer", "bucket:25MiB"})
    EXPECT_EQ(text(read_overlap("--overlap", overlap)), overlap);
}

TEST(ParallelFlags, RefuseWithWhatIsAllowed) {
  for (const char* gpus : {"0", "-1", "1.5", "x", "4..2", "1..", "70000", "nan", "1e9", ""})
    EXPECT_THROW(read_counts("--gpus", {gpus}), UsageError) << gpus;
  for (const char* bytes : {"0", "3", "4KB", "inf", "1MiB..4KiB", "2TiB", ""})
    EXPECT_THROW(read_sizes("--bytes", {bytes}), UsageError) << bytes;
  for (const char* link :
       {"5GB/s", "5,5", "0GB/s,5us", "5GB/s,-1us", "5GB/s,5s", "infGB/s,1us", "nanGB/s,1us", ""})
    EXPECT_THROW(read_link("--link", link), UsageError) << link;
  for (const char* overlap : {"all", "bucket", "bucket:", "bucket:0", "bucket:inf"})
    EXPECT_THROW(read_overlap("--overlap", overlap), UsageError) << overlap;
  EXPECT_THAT(refusal_of({"allreduce", "--basis", "modelled"}), HasSubstr("--link is missing"));
  for (const std::vector<std::string>& flag :
       {std::vector<std::string>{"--link", "5GB/s,5us"}, {"--platform", "a.xml"}, {"--fabric", "simgrid"}})
    EXPECT_THAT(refusal_of({"allreduce", flag[0], flag[1]}), HasSubstr("for --basis modelled only"));
  const auto modelled = [](std::vector<std::string> words) {
    words.insert(words.begin(), {"allreduce", "--basis", "modelled"});
    return refusal_of(words);
  };
  EXPECT_THAT(modelled({"--link", "5GB/s,5us", "--time-limit", "1"}),
              HasSubstr("--time-limit: only a measured allreduce has it"));
  EXPECT_THAT(modelled({"--fabric", "simgrid"}), HasSubstr("--link is missing"));
  EXPECT_THAT(modelled({"--fabric", "threads", "--link", "5GB/s,5us"}), HasSubstr("of measured rows only"));
  EXPECT_THAT(modelled({"--platform", "a.xml", "--link", "5GB/s,5us"}), HasSubstr("leave out --link"));
  EXPECT_THAT(modelled({"--platform", "missing.xml"}), HasSubstr("missing.xml: cannot read this file"));
  EXPECT_THAT(refusal_of({"allreduce", "--reduce", "rings"}), HasSubstr("did you mean \"ring\"?"));
  EXPECT_THAT(refusal_of(step_words({"--batch", "16", "--reduce", "mpi"})),
              HasSubstr("--reduce: found \"mpi\""));
  EXPECT_THAT(refusal_of(step_words({"--batch", "16", "--compress", "2bit"})),
              HasSubstr("allowed is none, 1bit"));
  EXPECT_THAT(refusal_of({"step", kConfig, "--basis", "modelled", "--rows", "out", "--batch", "16"}),
              HasSubstr("--link is missing"));
  EXPECT_THAT(refusal_of({"step", kConfig, "--link", "5GB/s,5us", "--batch", "16"}),
              HasSubstr("--rows is missing"));
  EXPECT_THAT(refusal_of({"step", kConfig, "--link", "5GB/s,5us", "--rows", "out"}),
              HasSubstr("--batch is missing"));
  EXPECT_THAT(refusal_of(step_words({"--batch", "16", "--platform", "a.xml"})),
              HasSubstr("leave out --link"));
  EXPECT_THAT(refusal_of({"step", kConfig, "--platform", "missing.xml", "--rows", "out", "--batch", "16"}),
              HasSubstr("missing.xml: cannot read this file"));
  const auto replayed = [](const std::vector<std::string>& more) {
    std::vector<std::string> words{"step", kConfig, "--basis", "replayed"};
    words.insert(words.end(), more.begin(), more.end());
    return refusal_of(words);
  };
  EXPECT_THAT(replayed({"--batch", "16"}), HasSubstr("--rows is missing"));
  EXPECT_THAT(replayed({"--rows", "out"}), HasSubstr("--batch is missing"));
  for (const char* flag : {"--link", "--platform", "--gpus"})
    EXPECT_THAT(replayed({"--rows", "out", "--batch", "16", flag, "2"}),
                HasSubstr("only a modelled step has it"));
  EXPECT_THAT(replayed({"--threads", "2"}), HasSubstr("only a measured step has it"));
  EXPECT_THAT(replayed({"--device", "cuda"}), HasSubstr("--device: only a measured step has it"));
  EXPECT_THAT(refusal_of(step_words({"--batch", "16", "--device", "cuda"})),
              HasSubstr("--device: only a measured step has it"));
  EXPECT_THAT(refusal_of({"step", kConfig, "--fabric", "simgrid"}), HasSubstr("only a modelled step has it"));
  EXPECT_THAT(refusal_of(step_words({"--batch", "16", "--time-limit", "3"})),
              HasSubstr("--time-limit: only a measured or replayed step has it"));
}

TEST(Step, RefusesRowsOfVirtualTime) {
  ResultFile file = read_results(kResults + "alexnet.json.xz");
  file.records.resize(1);
  file.records[0].device.name = "Stand-in (virtual time)";
  const std::string folder = ::testing::TempDir() + "step_of_virtual_time";
  std::filesystem::remove_all(folder);
  write_results(folder, file);
  EXPECT_THAT(
      [&] {
        testing::run_program({"step", kConfig, "--rows", folder, "--batch", "16", "--link", "5GB/s,5us"});
      },
      ::testing::ThrowsMessage<UsageError>(HasSubstr("Stand-in (virtual time): its times mean nothing")));
  std::filesystem::remove_all(folder);
}

TEST(AllReduce, ModelsRowsForEveryNumberOfGpusAndSize) {
  const Rows rows = rows_of({"allreduce", "--basis", "modelled", "--link", "5GB/s,5us", "--gpus", "2..1024",
                             "--bytes", "1MiB,64MiB", "--reduce", "tree,ring"});
  EXPECT_EQ(rows.size(), 10U * 2 * 2);
  EXPECT_EQ(rows.back()["gpus"], 1024);
  EXPECT_NEAR(rows.back()["median_ms"].get<double>(),
              1e3 * (2 * 1023.0 / 1024 * 67108864 / 5e9 + 2046 * 5e-6), 1e-6);
  EXPECT_THAT(
      rows.back()["rerun"].get<std::string>(),
      HasSubstr(" allreduce --bytes 64MiB --gpus 1024 --reduce ring --basis modelled --link 5GB/s,5us"));
}

// Where the program is, a test has no convscope_simgrid, as a build without SimGrid has none. What it gives
// is tested in bench/parallel and by scripts/tests/test_simulated_network.py.
TEST(SimulatedNetworks, WithoutSimGridAreRefusedRowByRow) {
  const Rows sums = rows_of({"allreduce", "--basis", "modelled", "--link", "5GB/s,5us", "--fabric", "simgrid",
                             "--gpus", "4", "--bytes", "1MiB", "--reduce", "ring"});
  ASSERT_EQ(sums.size(), 1U);
  EXPECT_EQ(sums[0]["reason"], "library_missing");
  EXPECT_EQ(sums[0]["fabric"], "simgrid");
  EXPECT_TRUE(sums[0]["median_ms"].is_null());
  EXPECT_THAT(sums[0]["rerun"].get<std::string>(), HasSubstr("--link 5GB/s,5us --fabric simgrid"));
  const Rows steps = rows_of(step_words({"--batch", "16", "--gpus", "16", "--fabric", "simgrid"}));
  for (const auto& row : steps) {
    EXPECT_EQ(row["reason"], "library_missing");
    EXPECT_THAT(row["note"].get<std::string>(), HasSubstr("apt install libsimgrid-dev"));
    EXPECT_THAT(row["rerun"].get<std::string>(), HasSubstr("--link 5GB/s,5us --fabric simgrid"));
  }
}

TEST(AllReduce, MeasuresOverThreadsAndWritesItsRows) {
  const std::string folder = ::testing::TempDir() + "/allreduce";
  std::filesystem::remove_all(folder);
  const std::string printed =
      testing::run_program({"allreduce", "--fabric", "threads", "--gpus", "3", "--bytes", "4KiB",
                            "--time-limit", "0.01", "--out", folder});
  EXPECT_THAT(printed, HasSubstr("all-reduce over 3 ranks"));
  EXPECT_THAT(printed, HasSubstr("halving on 3 ranks: not_power_of_two"));
  const Rows file = Rows::parse(read_file(folder + "/allreduce.json"));
  ASSERT_EQ(file["rows"].size(), 5U);
  for (const auto& row : file["rows"]) EXPECT_EQ(row["exact"].is_null(), row["reduce"] == "halving");
  EXPECT_THAT(file["rows"][0]["rerun"].get<std::string>(), HasSubstr(" --time-limit 0.01 --fabric threads"));
}

TEST(AllReduce, OverMoreThreadsThanStandForRanksIsRefused) {
  const Rows rows = rows_of({"allreduce", "--fabric", "threads", "--gpus", "65536", "--bytes", "4KiB"});
  EXPECT_EQ(rows.size(), kReductions.size());
  for (const auto& row : rows) EXPECT_EQ(row["reason"], "too_many_ranks");
}

TEST(AllReduce, NamesItsNodesWhereTheLastIsNotFull) {
  const Rows rows = rows_of({"allreduce", "--basis", "modelled", "--link", "5GB/s,5us", "--gpus", "6",
                             "--per-node", "4", "--bytes", "4KiB", "--reduce", "ring"});
  EXPECT_THAT(rows[0]["rerun"].get<std::string>(), HasSubstr(" --gpus 6 --reduce ring --per-node 4 "));
}

TEST(AllReduce, TakesGpusOnlyWithWhatBelongsToThem) {
  const auto refusal = [](std::vector<std::string> words) {
    words.insert(words.begin(), "allreduce");
    return refusal_of(words);
  };
  EXPECT_THAT(refusal({"--device", "gpu"}), HasSubstr("did you mean \"cuda\"?"));
  EXPECT_THAT(refusal({"--device", "emulator"}), HasSubstr("allowed is cpu, cuda, cuda:N"));
  EXPECT_THAT(refusal({"--device", "cuda", "--fabric", "mpi"}), HasSubstr("bytes travel by nccl"));
  EXPECT_THAT(refusal({"--device", "cuda", "--reduce", "mpi"}), HasSubstr("the library's own is nccl"));
  EXPECT_THAT(refusal({"--device", "cuda", "--basis", "modelled", "--link", "5GB/s,5us"}),
              HasSubstr("--basis measured only"));
  EXPECT_THAT(refusal({"--reduce", "nccl"}), HasSubstr("add --device cuda"));
  EXPECT_THAT(refusal({"--fabric", "nccl"}), HasSubstr("add --device cuda"));
}

TEST(AllReduce, WithoutAGpuSaysWhatItLookedFor) {
  if (cuda::device_defect().empty()) GTEST_SKIP() << "there is a GPU here";
  const Rows rows = rows_of({"allreduce", "--device", "cuda", "--gpus", "2", "--bytes", "4KiB"});
  EXPECT_EQ(rows.size(), kReductions.size() + 1);
  for (const auto& row : rows) {
    EXPECT_EQ(row["reason"], "no_device");
    EXPECT_EQ(row["note"], "no CUDA device: " + cuda::device_defect());
    EXPECT_THAT(row["rerun"].get<std::string>(), HasSubstr(" --device cuda"));
  }
}

TEST(AllReduce, WithoutALauncherSaysHowToStartIt) {
  const Rows rows = rows_of({"allreduce", "--gpus", "2", "--bytes", "4KiB", "--reduce", "ring"});
  EXPECT_EQ(rows[0]["reason"], "no_ranks");
  EXPECT_THAT(rows[0]["note"].get<std::string>(), HasSubstr("mpirun -np 2"));
}

TEST(Step, IsReplayedOnRanksThatMpirunStartedOnly) {
  std::vector<std::string> words = step_words({"--batch", "2", "--basis", "replayed"});
  std::erase(words, "--link");
  std::erase(words, "5GB/s,5us");
  EXPECT_THAT([&] { testing::run_program(words); },
              ::testing::ThrowsMessage<UsageError>(HasSubstr("start it with mpirun")));
}

TEST(Step, TakesComputeFromKeptRunsAtTheBatchOfOneGpu) {
  const Rows rows =
      rows_of(step_words({"--batch", "16", "--gpus", "1,16", "--reduce", "ring", "--overlap", "none,layer"}));
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_NEAR(rows[0]["step_ms"].get<double>(), 159, 1);
  EXPECT_EQ(rows[0]["speedup"], 1);
  EXPECT_EQ(rows[1]["batch_per_gpu"], 1);
  EXPECT_NEAR(rows[1]["compute_ms"].get<double>(), 17, 0.1);
  const double comm = 1e3 * (2 * 15.0 / 16 * rows[1]["gradient_bytes"].get<double>() / 5e9 + 30 * 5e-6);
  EXPECT_NEAR(rows[1]["step_ms"].get<double>(), rows[1]["compute_ms"].get<double>() + comm, 1e-6);
  EXPECT_LT(rows[2]["step_ms"], rows[1]["step_ms"]);
}

TEST(Step, RefusesABatchWithoutRowsWithTheCommandThatMeasuresIt) {
  const Rows rows = rows_of(step_words({"--batch", "16", "--gpus", "2,3"}));
  EXPECT_EQ(rows[0]["reason"], "no_rows");
  EXPECT_THAT(rows[0]["rerun"].get<std::string>(),
              HasSubstr("run " + kConfig + " --batch 8 --threads 2 --out out/alexnet-batch-8"));
  EXPECT_EQ(rows.back()["reason"], "batch_not_divisible");
}

TEST(Step, CountsWhatStandsBetweenTheConvolutionsWhereRowsOfItAreGiven) {
  const std::string file = ::testing::TempDir() + "step_operations.json";
  Rows document{{"rows", Rows::array()}};
  size_t count = 0;
  const Suite suite = load_suite(kConfig);
  const auto add_row = [&](const std::string& layer, const std::string& problem) {
    document["rows"].push_back({{"device", "cpu"},
                                {"device_name", "AMD EPYC"},
                                {"machine_class", ""},
                                {"threads", 2},
                                {"layer", layer},
                                {"problem", problem},
                                {"outcome", "measured"},
                                {"samples", 8},
                                {"median_ms", 3},
                                {"ci_low_ms", 2},
                                {"ci_high_ms", 4},
                                {"disturbed", 0}});
  };
  for (const LayerOperations& layer : operations_of_network(suite, 16))
    for (const OperationProblem& problem : layer.problems) add_row(layer.layer, to_text(problem));
  for (const StepLayer& layer : step_layers_of(suite))
    for (const StepLayer::Operations& of : layer.operations)
      count += of.forward.size() + of.backward.size() + of.backward_of_reads.size() + of.updates.size();
  write_file_atomically(file, document.dump());
  const std::vector<std::string> words = step_words({"--batch", "16", "--gpus", "1"});
  const Rows without = rows_of(words);
  std::vector<std::string> more = words;
  more.insert(more.end(), {"--operations", file});
  const Rows with = rows_of(more);
  EXPECT_TRUE(without[0]["operations_ms"].is_null());
  EXPECT_NEAR(with[0]["operations_ms"].get<double>(), 3 * static_cast<double>(count), 1e-9);
  EXPECT_NEAR(with[0]["step_ms"].get<double>(),
              without[0]["step_ms"].get<double>() + 3 * static_cast<double>(count), 1e-9);
  EXPECT_NE(with[0]["rows_hash"], without[0]["rows_hash"]);
  EXPECT_THAT(with[0]["rerun"].get<std::string>(), HasSubstr(" --operations " + file));
  EXPECT_THAT(testing::run_program(words), HasSubstr("the convolutions alone (--operations adds"));
  EXPECT_THAT(testing::run_program(more), HasSubstr("; with what stands between the convolutions"));
  std::erase_if(document["rows"].get_ref<Rows::array_t&>(), [](const Rows& row) {
    return row["problem"].get<std::string>().starts_with("bias+relu n=");
  });
  write_file_atomically(file, document.dump());
  const Rows refused = rows_of(more);
  EXPECT_EQ(refused[0]["reason"], "no_operations");
  EXPECT_THAT(refused[0]["note"].get<std::string>(),
              HasSubstr("(2 threads), whose records --rows has, of bias+relu n=16 "));
  const std::string command = "convscope operations " + kConfig + " --batch 16 --threads 2 --out ";
  EXPECT_THAT(refused[0]["rerun"].get<std::string>(), HasSubstr(command));
  EXPECT_THAT(testing::run_program(more), HasSubstr(command));
  std::filesystem::remove(file);
}

TEST(Step, RefusesAChoiceThatNoRecordHas) {
  const std::vector<std::string> words =
      step_words({"--batch", "16", "--gpus", "1", "--choose", "winograd.mixd"});
  EXPECT_THAT(testing::error_of([&] { testing::run_program(words); }),
              HasSubstr("--choose: no record is of \"winograd.mixd\"; did you mean"));
}

TEST(Step, RefusesResultsWithoutRecords) {
  const std::string folder = ::testing::TempDir() + "/no_records";
  write_results(folder, {});
  EXPECT_THROW(rows_of({"step", kConfig, "--rows", folder, "--link", "5GB/s,5us", "--batch", "1"}),
               UsageError);
}

TEST(Step, PrintsItsTablesAndWritesTheTrace) {
  const std::string trace = ::testing::TempDir() + "/step_trace.json";
  const std::string printed = testing::run_program(step_words(
      {"--batch", "1", "--per-gpu", "--gpus", "1,4", "--compress", "none,1bit", "--trace", trace}));
  for (const char* part :
       {"scaling: alexnet, weak scaling", "overlap: ", "compression: ", "link 5 GB/s, 5 us"})
    EXPECT_THAT(printed, HasSubstr(part));
  EXPECT_GT(Rows::parse(read_file(trace))["traceEvents"].size(), 100U);
}

}  // namespace
}  // namespace convscope
