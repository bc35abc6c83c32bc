#include "bench/parallel/network/simulated_network.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "bench/core/error.hpp"
#include "bench/record/result_files.hpp"

namespace convscope {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

constexpr Link kWithin{450e9, 2e-6}, kBetween{5e9, 5e-6};
constexpr double kBytes = 1e8;
const std::string kProgram = CONVSCOPE_SIMGRID;  // empty where the build has none

class SimulatedNetworks : public ::testing::Test {
 protected:
  void SetUp() override {
    if (kProgram.empty()) GTEST_SKIP() << "built without SimGrid (Debian: apt install libsimgrid-dev)";
  }
  ~SimulatedNetworks() override { std::filesystem::remove(file_); }

  // A platform file with these hosts, links and routes.
  std::string platform(const std::string& inside) const {
    write_file_atomically(file_, R"(<?xml version="1.0"?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">)" + inside + "</platform>\n");
    return file_;
  }

  const std::string file_ =
      ::testing::TempDir() + ::testing::UnitTest::GetInstance()->current_test_info()->name() + ".xml";
};

// Sixteen hosts with links as kBetween, and twice the bandwidth of one behind them all.
const std::string kCluster =
    R"(<cluster id="all" prefix="gpu-" suffix="" radical="0-15" speed="1Gf" bw="5GBps" lat="2.5us")"
    R"( bb_bw="10GBps" bb_lat="0us"/>)";

TEST(SimulatedNetworksWithoutSimGrid, RefuseEveryNumberOfGpusAndSayWhatToInstall) {
  SimulatedNetwork network("", Links{kBetween, kBetween});
  for (int n : {1, 8, 5000}) {
    const auto refused = network.refusal(Reduction::ring, {n, n});
    ASSERT_TRUE(refused);
    EXPECT_EQ(refused->reason, "library_missing");
    EXPECT_THAT(refused->note, HasSubstr("apt install libsimgrid-dev"));
  }
  EXPECT_EQ(network.fleet({8, 8}).fabric, "simgrid");
  EXPECT_EQ(network.fleet({8, 8}).fabric_version, "");
}

TEST_F(SimulatedNetworks, TakeTheTimeOfTheClosedFormWhereNothingIsShared) {
  for (const Ranks& nodes :
       {Ranks{1, 1}, {2, 1}, {3, 3}, {4, 2}, {5, 5}, {6, 3}, {7, 7}, {8, 8}, {8, 4}, {9, 3}, {64, 8}})
    for (Reduction reduction : kReductions) {
      // The closed form of the others knows one kind of link.
      const Ranks ranks = reduction == Reduction::hierarchical ? nodes : Ranks{nodes.count, 1};
      if (refusal(reduction, ranks)) continue;
      SCOPED_TRACE(std::string(name(reduction)) + ", " + std::to_string(ranks.count));
      SimulatedNetwork network(kProgram, Links{kWithin, kBetween});
      EXPECT_FALSE(network.refusal(reduction, ranks));
      const Cost form = all_reduce_cost(reduction, kBytes, ranks, {kWithin, kBetween});
      const Cost simulated = network.all_reduce(reduction, kBytes, ranks);
      EXPECT_NEAR(simulated.seconds, form.seconds, 1e-3 * form.seconds);
      EXPECT_NEAR(simulated.busiest_bytes, form.busiest_bytes, 1e-9 * form.busiest_bytes);
    }
}

TEST_F(SimulatedNetworks, TakeTheTimeOfTheClosedFormWithoutLatencyAndWithoutBytesToSpeakOf) {
  for (const auto& [link, bytes] :
       {std::pair(Link{5e9, 0}, kBytes), {Link{1e6, 1e-6}, 4.0}, {Link{1e12, 1}, 64.0}}) {
    SimulatedNetwork network(kProgram, Links{link, link});
    for (Reduction reduction : {Reduction::tree, Reduction::halving}) {
      const double form = all_reduce_cost(reduction, bytes, {4, 4}, {link, link}).seconds;
      EXPECT_NEAR(network.all_reduce(reduction, bytes, {4, 4}).seconds, form, 1e-3 * form);
    }
  }
}

TEST_F(SimulatedNetworks, HoldAThousandGpus) {
  for (const auto& [reduction, ranks] : {std::pair(Reduction::tree, Ranks{1024, 1}),
                                         {Reduction::halving, {1024, 1}},
                                         {Reduction::ring, {256, 1}}}) {
    SimulatedNetwork network(kProgram, Links{kBetween, kBetween});
    const double form = all_reduce_cost(reduction, kBytes, ranks, {kBetween, kBetween}).seconds;
    EXPECT_NEAR(network.all_reduce(reduction, kBytes, ranks).seconds, form, 1e-3 * form) << name(reduction);
  }
  SimulatedNetwork network(kProgram, Links{kBetween, kBetween});
  EXPECT_EQ(network.refusal(Reduction::tree, {kMaxSimulated + 1, 1})->reason, "too_many_gpus");
  EXPECT_EQ(network.refusal(Reduction::striped, {kMaxStriped + 1, 1})->reason, "too_many_gpus");
}

// Of a tree over nodes of four GPUs the messages within a node are fast; the closed form takes all to be
// slow.
TEST_F(SimulatedNetworks, KnowWhichMessagesStayWithinANode) {
  SimulatedNetwork network(kProgram, Links{kWithin, kBetween});
  const double seconds = network.all_reduce(Reduction::tree, kBytes, {16, 4}).seconds;
  EXPECT_NEAR(seconds, 4 * (kBytes / 5e9 + 5e-6) + 4 * (kBytes / 450e9 + 2e-6), 1e-3 * seconds);
}

TEST_F(SimulatedNetworks, AreSlowerWhereLinksAreShared) {
  SimulatedNetwork network(kProgram, platform(kCluster));
  const double two = network.all_reduce(Reduction::ring, kBytes, {2, 2}).seconds;
  EXPECT_NEAR(two, all_reduce_cost(Reduction::ring, kBytes, {2, 2}, {kBetween, kBetween}).seconds,
              1e-3 * two);
  // All sixteen messages of a round are on the link behind them.
  const double sixteen = network.all_reduce(Reduction::ring, kBytes, {16, 16}).seconds;
  EXPECT_NEAR(sixteen, 2 * 15 * kBytes / 10e9 + 30 * 5e-6, 1e-3 * sixteen);
  EXPECT_GT(sixteen, 7 * all_reduce_cost(Reduction::ring, kBytes, {16, 16}, {kBetween, kBetween}).seconds);
}

TEST_F(SimulatedNetworks, OfAFileAreNamedByItAndItsHash) {
  SimulatedNetwork network(kProgram, platform(kCluster));
  const Fleet fleet = network.fleet({4, 4});
  EXPECT_EQ(fleet.basis, Basis::modelled);
  EXPECT_EQ(fleet.platform, file_);
  EXPECT_THAT(fleet.fabric_version, HasSubstr("SimGrid "));
  EXPECT_FALSE(fleet.links);
  EXPECT_EQ(SimulatedNetwork(kProgram, file_).fleet({8, 8}).platform_hash, fleet.platform_hash);
  EXPECT_NE(SimulatedNetwork(kProgram, platform(kCluster + "<!-- -->")).fleet({4, 4}).platform_hash,
            fleet.platform_hash);
}

TEST_F(SimulatedNetworks, NumberTheHostsOfAFileByNameAndNumbersInItByValue) {
  SimulatedNetwork network(kProgram, platform(R"(<zone id="all" routing="Full">
  <host id="gpu-10" speed="1Gf"/><host id="gpu-2" speed="1Gf"/><host id="gpu-1" speed="1Gf"/>
  <link id="slow" bandwidth="1GBps" latency="0us"/><link id="fast" bandwidth="100GBps" latency="0us"/>
  <route src="gpu-1" dst="gpu-2"><link_ctn id="fast"/></route>
  <route src="gpu-1" dst="gpu-10"><link_ctn id="slow"/></route>
  <route src="gpu-2" dst="gpu-10"><link_ctn id="slow"/></route></zone>)"));
  EXPECT_NEAR(network.all_reduce(Reduction::tree, 1e9, {2, 2}).seconds, 0.02, 1e-5);
}

TEST_F(SimulatedNetworks, TakeTheirModelFromHereWhateverAFileConfigures) {
  SimulatedNetwork network(kProgram, platform(R"(<config><prop id="network/model" value="LV08"/>
  <prop id="network/crosstraffic" value="1"/></config>)" +
                                              kCluster));
  const double seconds = network.all_reduce(Reduction::ring, kBytes, {2, 2}).seconds;
  EXPECT_NEAR(seconds, kBytes / 5e9 + 2 * 5e-6, 1e-3 * seconds);
}

TEST_F(SimulatedNetworks, RefuseMoreGpusThanAFileHasHosts) {
  SimulatedNetwork network(kProgram, platform(kCluster));
  EXPECT_FALSE(network.refusal(Reduction::ring, {16, 4}));
  const auto refused = network.refusal(Reduction::ring, {17, 17});
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->reason, "too_few_hosts");
  EXPECT_THAT(refused->note, HasSubstr(file_ + " has 16 hosts"));
  SimulatedNetwork empty(kProgram, platform(R"(<zone id="all" routing="Full"/>)"));
  EXPECT_EQ(empty.refusal(Reduction::ring, {1, 1})->reason, "too_few_hosts");
}

TEST_F(SimulatedNetworks, SayWhatIsWrongWithAFile) {
  const auto use = [&](int ranks) {
    SimulatedNetwork network(kProgram, file_);
    if (!network.refusal(Reduction::ring, {ranks, ranks}))
      network.all_reduce(Reduction::ring, kBytes, {ranks, ranks});
  };
  EXPECT_THAT([&] { use(2); }, ThrowsMessage<UsageError>(HasSubstr(file_ + ": cannot read this file")));
  for (const auto& [inside, says] :
       {std::pair("<hosts/>", "Invalid XML"),
        {R"(<zone id="all" routing="Full"><host id="a" speed="1Gx"/></zone>)", "unknown unit: Gx"},
        {R"(<zone id="all" routing="Full"><host id="a" speed="1f"/><host id="a" speed="1f"/></zone>)",
         "second host named 'a'"},
        {R"(<zone id="all" routing="Full"><host id="a" speed="1f"/>)"
         R"(<link id="l" bandwidth="0Bps" latency="0us"/></zone>)",
         "the link 'l' has no bandwidth"},
        {R"(<zone id="all" routing="Full"><host id="a" speed="1f"/><host id="b" speed="1f"/></zone>)",
         "no connecting path"}}) {
    platform(inside);
    EXPECT_THAT([&] { use(2); }, ThrowsMessage<UsageError>(::testing::AllOf(
                                     HasSubstr("--platform: " + file_ + ": SimGrid: "), HasSubstr(says))));
  }
  write_file_atomically(file_, "not XML");
  EXPECT_THAT([&] { use(1); }, ThrowsMessage<UsageError>(HasSubstr("Unexpected character")));
}

}  // namespace
}  // namespace convscope
