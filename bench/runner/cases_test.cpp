#include "bench/runner/cases.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "bench/algorithm/described_test.hpp"
#include "bench/core/error_of_test.hpp"
#include "bench/runner/overrides.hpp"

namespace convscope {
namespace {

using testing::error_of;

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

void add(Registry& registry, const char* id, DeviceKind kind, bool candidate = true,
         bool on_request = false) {
  registry.add(std::make_unique<testing::Described>(
      AlgorithmInfo{id, "", "", "", kind, "", false, candidate, true, on_request}));
}

Registry test_registry() {
  Registry registry;
  add(registry, "direct.cpu", DeviceKind::cpu);
  add(registry, "fft16.cpu", DeviceKind::cpu);
  add(registry, "fft32.cpu", DeviceKind::cpu);
  add(registry, "fft16.cuda", DeviceKind::cuda);
  add(registry, "reference.cpu", DeviceKind::cpu, false);
  return registry;
}

DeviceInfo device(DeviceKind kind, int cores, int64_t memory_bytes = 0) {
  DeviceInfo info;
  info.kind = kind;
  info.cores = cores;
  info.memory_bytes = memory_bytes;
  return info;
}
const DeviceList kCpuOnly{{device(DeviceKind::cpu, 2)}, {}};
const DeviceList kAllDevices{
    {device(DeviceKind::cpu, 2), device(DeviceKind::cuda, 132), device(DeviceKind::emulator, 2)}, {}};

Layer layer(const std::string& name, bool first = false) {
  Layer result;
  result.name = name;
  result.first = first;
  result.shape.in_channels = 4;
  result.shape.out_channels = 4;
  result.shape.input = {8, 8};
  result.shape.filter = {3, 3};
  return result;
}

Suite test_suite() {
  Suite suite;
  suite.name = "net";
  suite.file = "net.json";
  suite.layers = {layer("a", true), layer("b")};
  return suite;
}

std::vector<std::string> lines(const std::vector<Group>& groups) {
  std::vector<std::string> result;
  for (const Group& group : groups) result.push_back(candidate_key(group.common));
  return result;
}

std::string expand_error(const Suite& suite, const DeviceList& devices = kCpuOnly) {
  return error_of([&] { expand(suite, test_registry(), devices); });
}

TEST(Expand, GoesThroughLayersAndPassesAndSkipsTheFirstLayersBackwardData) {
  std::vector<std::string> seen;
  for (const Group& group : expand(test_suite(), test_registry(), kCpuOnly)) {
    seen.push_back(group.common.layer + " " + std::string(name(group.common.problem.pass)));
    EXPECT_THAT(group.algorithms, ElementsAre("direct.cpu", "fft16.cpu", "fft32.cpu"));
    EXPECT_EQ(group.common.algorithm, "");
    EXPECT_EQ(group.common.network, "net");
    EXPECT_EQ(group.common.problem.batch, 16);
    EXPECT_EQ(group.common.threads, 2);
  }
  EXPECT_THAT(seen, ElementsAre("a forward", "a backward_filter", "b forward", "b backward_data",
                                "b backward_filter"));
}

TEST(Expand, RunsRowsOnRequestOnlyWhereAPatternNamesThem) {
  Registry registry = test_registry();
  add(registry, "many.0.cpu", DeviceKind::cpu, true, true);
  Suite suite = test_suite();
  EXPECT_THAT(expand(suite, registry, kCpuOnly)[0].algorithms,
              ElementsAre("direct.cpu", "fft16.cpu", "fft32.cpu"));
  suite.algorithms = {"direct.cpu", "many.*"};
  EXPECT_THAT(expand(suite, registry, kCpuOnly)[0].algorithms, ElementsAre("direct.cpu", "many.0.cpu"));
}

TEST(Expand, GivesForwardItsEpilogueAndEveryAlgorithmASeparateFormBesideIt) {
  Suite suite = test_suite();
  suite.layers = {layer("a")};
  suite.algorithms = {"direct", "fft16"};
  suite.epilogues = {Epilogue::bias_relu, Epilogue::none};
  const auto groups = expand(suite, test_registry(), kCpuOnly);
  std::vector<std::string> seen;
  for (const Group& group : groups)
    seen.push_back(std::string(name(group.common.problem.pass)) + " " +
                   std::string(name(group.common.problem.epilogue)));
  EXPECT_THAT(seen,
              ElementsAre("forward none", "forward bias+relu", "backward_data none", "backward_filter none"));
  EXPECT_THAT(groups[0].algorithms, ElementsAre("direct.cpu", "fft16.cpu"));
  EXPECT_THAT(groups[1].algorithms,
              ElementsAre("direct.cpu", "direct.separate.cpu", "fft16.cpu", "fft16.separate.cpu"));
  EXPECT_NE(candidate_key(groups[0].common), candidate_key(groups[1].common));

  suite.epilogues = {Epilogue::relu};
  EXPECT_EQ(expand(suite, test_registry(), kCpuOnly).size(), 1U);
  suite.passes = {Pass::backward_data};
  EXPECT_THAT(expand_error(suite),
              HasSubstr("net.json: at /epilogues: found relu; only forward has an epilogue"));
}

TEST(Expand, RunsTheFirstLayersBackwardDataWhenAsked) {
  Suite suite = test_suite();
  suite.first_backward_data = true;
  EXPECT_EQ(expand(suite, test_registry(), kCpuOnly).size(), 6u);
}

TEST(Expand, NestsBatchMathLayoutThreadsCacheAndCapInThisOrder) {
  Suite suite = test_suite();
  suite.layers = {layer("a")};
  suite.passes = {Pass::forward};
  suite.batch[DeviceKind::cpu] = {1, 2};
  suite.math = {MathMode::fp32, MathMode::bf16};
  suite.layouts = {Layout::nhwc, Layout::nchw};
  suite.threads = {1, 2};
  suite.measuring.cache = {CacheState::cold, CacheState::hot};
  suite.measuring.workspace_caps = {1024, std::nullopt};
  const auto groups = expand(suite, test_registry(), kCpuOnly);
  ASSERT_EQ(groups.size(), 64u);
  std::vector<std::string> expected;
  for (const char* batch : {"1", "2"})
    for (const char* math : {"fp32", "bf16"})
      for (const char* layout : {"nhwc", "nchw"})
        for (const char* threads : {"1", "2"})
          for (const char* cache : {"cold", "hot"})
            for (const char* cap : {"1KiB", "inf"})
              expected.push_back(
                  std::string("\"net\" \"a\" forward ") + math + " " + layout + " n=" + batch +
                  " c=4 hw=8x8 k=4 rs=3x3 stride=1x1 pad=0x0 dilation=1x1 groups=1  cpu threads=" + threads +
                  " cache=" + cache + " cap=" + cap);
  EXPECT_EQ(lines(groups), expected);
}

TEST(Expand, CarriesCountAndSeed) {
  Suite suite = test_suite();
  suite.layers[0].count = 5;
  suite.measuring.seed = 77;
  const auto groups = expand(suite, test_registry(), kCpuOnly);
  EXPECT_EQ(groups[0].common.count, 5);
  EXPECT_EQ(groups[0].common.seed, 77u);
}

TEST(Expand, PrefersALayersOwnBatch) {
  Suite suite = test_suite();
  suite.layers[1].batch = 3;
  suite.passes = {Pass::forward};
  const auto groups = expand(suite, test_registry(), kCpuOnly);
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_EQ(groups[0].common.problem.batch, 16);
  EXPECT_EQ(groups[1].common.problem.batch, 3);
}

TEST(Expand, RunsOnEveryDeviceButTheEmulatorUnlessItIsNamed) {
  Suite suite = test_suite();
  suite.layers = {layer("a")};
  suite.passes = {Pass::forward};
  auto groups = expand(suite, test_registry(), kAllDevices);
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_EQ(groups[0].common.device, DeviceKind::cpu);
  EXPECT_EQ(groups[1].common.device, DeviceKind::cuda);
  EXPECT_EQ(groups[1].common.problem.batch, 256);
  EXPECT_EQ(groups[1].common.threads, 1);
  EXPECT_THAT(groups[1].algorithms, ElementsAre("fft16.cuda"));
  suite.devices = {DeviceKind::emulator};
  groups = expand(suite, test_registry(), kAllDevices);
  ASSERT_EQ(groups.size(), 1u);
  EXPECT_EQ(groups[0].common.problem.batch, 1);
  EXPECT_EQ(groups[0].common.device, DeviceKind::emulator);
  EXPECT_THAT(groups[0].algorithms, ElementsAre("fft16.cuda")) << "the emulator runs CUDA's algorithms";
}

TEST(Expand, ListsAnAlgorithmOnceThatTwoGlobsMatch) {
  Suite suite = test_suite();
  suite.algorithms = {"fft*", "fft16.*"};
  EXPECT_THAT(expand(suite, test_registry(), kCpuOnly)[0].algorithms, ElementsAre("fft16.cpu", "fft32.cpu"));
}

TEST(Expand, LeavesOutADeviceForWhichNoGlobMatches) {
  Suite suite = test_suite();
  suite.algorithms = {"direct.*"};
  for (const Group& group : expand(suite, test_registry(), kAllDevices))
    EXPECT_EQ(group.common.device, DeviceKind::cpu);
}

TEST(Expand, CountsEveryCoreAndItsNumberAsOne) {
  Suite suite = test_suite();
  suite.threads = {0, 1, 2};
  suite.passes = {Pass::forward};
  std::vector<int> threads;
  for (const Group& group : expand(suite, test_registry(), kCpuOnly)) threads.push_back(group.common.threads);
  EXPECT_THAT(threads, ElementsAre(2, 1, 2, 1));
}

TEST(Expand, RefusesAGlobThatMatchesNothing) {
  Suite suite = test_suite();
  suite.algorithms = {"fft*", "direkt.cpu"};
  EXPECT_THAT(expand_error(suite),
              AllOf(HasSubstr("net.json: at /algorithms/1: found \"direkt.cpu\", which matches no algorithm"),
                    HasSubstr("did you mean \"direct.cpu\"?")));
}

TEST(Expand, NamesTheFlagInsteadOfTheFileWhereTheFlagIsAtFault) {
  Suite suite = test_suite();
  Overrides overrides;
  overrides.add("--algorithm", "direkt.cpu");
  apply(overrides, suite);
  EXPECT_THAT(expand_error(suite),
              ::testing::StartsWith("--algorithm: found \"direkt.cpu\", which matches no"));
}

TEST(Expand, RefusesTheReferenceAsACandidate) {
  Suite suite = test_suite();
  suite.algorithms = {"reference.*"};
  EXPECT_THAT(expand_error(suite),
              AllOf(HasSubstr("at /algorithms/0"), HasSubstr("reference.cpu"), HasSubstr("never timed")));
}

DeviceList two_gpus() {
  DeviceList devices = kAllDevices;
  devices.present[1].name = "GPU A";
  devices.present.push_back(device(DeviceKind::cuda, 132));
  devices.present.back().index = 1;
  devices.present.back().name = "GPU B";
  return devices;
}

TEST(Expand, RunsOnTheFirstGpuOnlyUnlessOthersAreNamed) {
  Suite suite = test_suite();
  suite.layers = {layer("b")};
  suite.passes = {Pass::forward};
  const auto devices_of = [&] {
    std::vector<std::string> names;
    for (const Group& group : expand(suite, test_registry(), two_gpus()))
      names.push_back(name(group.common.device_id()));
    return names;
  };
  EXPECT_THAT(devices_of(), ElementsAre("cpu", "cuda"));
  suite.devices = {DeviceId(DeviceKind::cuda, 1), DeviceId(DeviceKind::cuda)};
  EXPECT_THAT(devices_of(), ElementsAre("cuda:1", "cuda"));
}

TEST(Expand, KeepsTheRowsOfTwoGpusApart) {
  Suite suite = test_suite();
  suite.devices = {DeviceKind::cuda, DeviceId(DeviceKind::cuda, 1)};
  std::set<std::string> keys;
  for (const Group& group : expand(suite, test_registry(), two_gpus()))
    EXPECT_TRUE(keys.insert(candidate_key(group.common)).second) << candidate_key(group.common);
}

TEST(Expand, NamesTheGpusThatThereAreWhereOneIsNot) {
  Suite suite = test_suite();
  suite.devices = {DeviceId(DeviceKind::cuda, 3)};
  EXPECT_THAT(error_of([&] { expand(suite, test_registry(), two_gpus()); }),
              EndsWith("cuda:3: this machine has 2 CUDA devices: cuda:0 GPU A, cuda:1 GPU B"));
}

TEST(Expand, SaysWhyThereIsNoGpu) {
  Suite suite = test_suite();
  suite.devices = {DeviceKind::cuda};
  DeviceList devices = kCpuOnly;
  devices.missing.push_back({DeviceKind::cuda, "no CUDA device: no NVIDIA driver"});
  suite.flag_of["devices"] = "--device";
  const std::string error = expand_error(suite, devices);
  EXPECT_THAT(error,
              ::testing::StartsWith("--device: no CUDA device: no NVIDIA driver; --device emulator runs"));
}

TEST(Expand, RefusesADeviceThatIsNotThere) {
  Suite suite = test_suite();
  suite.devices = {DeviceKind::cuda};
  EXPECT_THAT(expand_error(suite), HasSubstr("net.json: at /devices: cuda: this machine has no CUDA device"));
}

TEST(Expand, RefusesMoreThreadsThanCores) {
  Suite suite = test_suite();
  suite.threads = {1, 3};
  EXPECT_THAT(expand_error(suite), AllOf(HasSubstr("net.json: at /threads: found the number 3"),
                                         HasSubstr("allowed is 0 (every core) to 2")));
}

TEST(Expand, RefusesALayerThatDoesNotFitTheMemory) {
  Suite suite = test_suite();
  suite.layers[1].batch = 1024;
  const int64_t bytes = 4 * (1024 * 4 * 8 * 8 + 4 * 4 * 3 * 3 + 1024 * 4 * 6 * 6);
  EXPECT_EQ(expand_error(suite, {{device(DeviceKind::cpu, 2, bytes)}, {}}), "");
  EXPECT_THAT(expand_error(suite, {{device(DeviceKind::cpu, 2, bytes - 1)}, {}}),
              AllOf(HasSubstr("net.json: at /layers/1: layer \"b\" at batch 1024 needs 1.6 MiB"),
                    HasSubstr("allowed is at most 1.6 MiB, the memory of the device cpu")));
}

TEST(Expand, RefusesAnEmptyRun) {
  Suite suite = test_suite();
  suite.layers = {layer("a", true)};
  suite.passes = {Pass::backward_data};
  EXPECT_THAT(expand_error(suite),
              AllOf(HasSubstr("net.json: at /passes"), HasSubstr("first_backward_data")));
  Suite other = test_suite();
  other.algorithms = {"*.cuda"};
  EXPECT_THAT(expand_error(other),
              AllOf(HasSubstr("at /algorithms: found *.cuda"), HasSubstr("this run's devices (cpu)")));
}

TEST(CandidateKey, TellsEveryCandidateOfASuiteApart) {
  Suite suite = test_suite();
  suite.batch[DeviceKind::cpu] = {1, 2};
  suite.layouts = {Layout::nchw, Layout::nhwc};
  suite.measuring.workspace_caps = {1000, 1024, std::nullopt};
  std::set<std::string> keys;
  size_t candidates = 0;
  for (const Group& group : expand(suite, test_registry(), kAllDevices))
    for (const std::string& id : group.algorithms) {
      CaseKey key = group.common;
      key.algorithm = id;
      keys.insert(candidate_key(key));
      ++candidates;
    }
  EXPECT_EQ(keys.size(), candidates);
}

TEST(CandidateKey, IsOneReadableLine) {
  CaseKey key;
  key.network = "net \"1\"";
  key.layer = "a\nb";
  key.algorithm = "direct.cpu";
  key.workspace_cap = 256 << 20;
  EXPECT_EQ(candidate_key(key), "\"net \\\"1\\\"\" \"a\\nb\" " + to_line(key.problem) +
                                    " direct.cpu cpu threads=1 cache=cold cap=256MiB");
}

TEST(CandidateKey, TellsKnobsApartWhereThereAreAny) {
  CaseKey key;
  EXPECT_THAT(candidate_key(key), Not(HasSubstr("knobs")));
  key.knobs = 8;
  EXPECT_THAT(candidate_key(key), EndsWith(" knobs=8"));
}

TEST(CandidateKey, DoesNotDependOnTheSeed) {
  CaseKey one, other;
  other.seed = 99;
  EXPECT_EQ(candidate_key(one), candidate_key(other));
}

std::vector<Group> groups_of_many_sizes() {
  Suite suite = test_suite();
  suite.layers.clear();
  for (int i = 0; i < 20; ++i) {
    Layer next = layer("l" + std::to_string(i));
    next.shape.input = {5 + i, 5 + i};
    suite.layers.push_back(next);
  }
  return expand(suite, test_registry(), kCpuOnly);
}

TEST(Shard, PartsAreDisjointAndCompleteAndInOrder) {
  const auto groups = groups_of_many_sizes();
  const auto all = lines(groups);
  for (int64_t count : {1, 2, 3, 7, 59, 60, 61}) {
    std::multiset<std::string> joined;
    for (int64_t index = 1; index <= count; ++index) {
      const auto part = lines(shard(groups, index, count));
      joined.insert(part.begin(), part.end());
      size_t position = 0;  // each line is found behind the one before
      for (const std::string& line : part) {
        const auto found = std::find(all.begin() + static_cast<std::ptrdiff_t>(position), all.end(), line);
        ASSERT_NE(found, all.end());
        position = static_cast<size_t>(found - all.begin()) + 1;
      }
    }
    EXPECT_EQ(joined, std::multiset<std::string>(all.begin(), all.end())) << count;
  }
}

TEST(Shard, PartsHaveAboutTheSameWork) {
  const auto groups = groups_of_many_sizes();
  std::vector<double> work;
  for (int64_t index = 1; index <= 4; ++index) {
    work.push_back(0);
    for (const Group& group : shard(groups, index, 4)) work.back() += group.common.problem.nominal_flops();
  }
  const auto [least, most] = std::minmax_element(work.begin(), work.end());
  EXPECT_LT(*most, 1.05 * *least);
}

TEST(Shard, KeepsTheAlgorithmsOfAGroup) {
  const auto groups = groups_of_many_sizes();
  EXPECT_EQ(shard(groups, 1, 2)[0].algorithms, groups[0].algorithms);
}

TEST(Shard, RefusesAPartThatIsNotThere) {
  for (auto [index, count] : {std::pair{0, 2}, {3, 2}, {1, 0}, {-1, -1}})
    EXPECT_THAT(error_of([&, i = index, c = count] { shard({}, i, c); }),
                HasSubstr("allowed is I/N with 1 <= I <= N"));
}

}  // namespace
}  // namespace convscope
