#include "bench/parallel/network/cost.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "bench/parallel/fabric/threads_fabric.hpp"

namespace convscope {
namespace {

constexpr Link kFast{450e9, 2e-6}, kSlow{5e9, 5e-6};

// A fabric that also keeps the time that messages would take on given links, and counts what a rank sends. A
// rank's messages leave one after the other and arrive one after the other; each carries when it left, and
// the sender waits until it has arrived.
class ClockedFabric : public Fabric {
 public:
  ClockedFabric(Fabric& fabric, const Ranks& ranks, const Links& links)
      : fabric_(fabric), ranks_(ranks), links_(links) {}

  int rank() const override { return fabric_.rank(); }
  int size() const override { return fabric_.size(); }
  void exchange(std::span<const Outgoing> sent, std::span<const Incoming> received) override {
    std::vector<double> left(sent.size()), began(received.size());
    std::vector<Outgoing> times_out;
    std::vector<Incoming> times_in;
    double out_free = clock, in_free = clock, latency = 0;
    for (size_t i = 0; i < sent.size(); ++i) {
      left[i] = out_free;
      out_free += seconds(sent[i].to, sent[i].bytes.size());
      bytes += static_cast<double>(sent[i].bytes.size());
      latency = std::max(latency, link(sent[i].to).latency);
      times_out.push_back({sent[i].to, std::as_bytes(std::span(&left[i], 1))});
    }
    for (size_t i = 0; i < received.size(); ++i)
      times_in.push_back({received[i].from, std::as_writable_bytes(std::span(&began[i], 1))});
    fabric_.exchange(times_out, times_in);
    fabric_.exchange(sent, received);
    for (size_t i = 0; i < received.size(); ++i) {
      in_free = std::max(in_free, began[i]) + seconds(received[i].from, received[i].bytes.size());
      latency = std::max(latency, link(received[i].from).latency);
    }
    clock = std::max(out_free, in_free) + latency;
  }

  double clock = 0, bytes = 0;

 private:
  const Link& link(int other) const {
    return other / ranks_.per_node == rank() / ranks_.per_node ? links_.within : links_.between;
  }
  double seconds(int other, size_t size) const {
    return static_cast<double>(size) / link(other).bytes_per_second;
  }

  Fabric& fabric_;
  Ranks ranks_;
  Links links_;
};

// What the algorithm itself does, rank by rank.
Cost simulated(Reduction reduction, size_t values, const Ranks& ranks, const Links& links) {
  std::vector<Cost> of_rank(static_cast<size_t>(ranks.count));
  run_ranks(ranks.count, [&](Fabric& fabric) {
    ClockedFabric clocked(fabric, ranks, links);
    std::vector<float> mine(values), scratch(scratch_values(reduction, values, ranks));
    all_reduce(reduction, clocked, mine, scratch, ranks);
    of_rank[static_cast<size_t>(fabric.rank())] = {clocked.clock, clocked.bytes};
  });
  Cost slowest;
  for (const Cost& cost : of_rank) {
    slowest.seconds = std::max(slowest.seconds, cost.seconds);
    slowest.busiest_bytes = std::max(slowest.busiest_bytes, cost.busiest_bytes);
  }
  return slowest;
}

TEST(ReductionCost, IsWhatTheAlgorithmsTakeOnLinksWithoutContention) {
  constexpr size_t kValues = 5040;  // divided by every number of ranks and node size below
  for (Reduction reduction : kReductions)
    for (const Ranks& ranks : {Ranks{2, 1}, {3, 1}, {4, 1}, {5, 1}, {6, 2}, {7, 1}, {8, 1}, {8, 4}, {9, 3}}) {
      if (refusal(reduction, ranks)) continue;
      SCOPED_TRACE(std::string(name(reduction)) + ", " + std::to_string(ranks.count));
      const bool knows_nodes = reduction == Reduction::hierarchical;
      const Links links{knows_nodes ? kFast : kSlow, kSlow};
      const Cost form = all_reduce_cost(reduction, 4.0 * kValues, ranks, links);
      const Cost run = simulated(reduction, kValues, ranks, links);
      EXPECT_NEAR(run.seconds / form.seconds, 1, 1e-3);
      EXPECT_DOUBLE_EQ(run.busiest_bytes, form.busiest_bytes);
    }
}

TEST(ReductionCost, FollowsTheTableByHand) {
  const Links links{{100, 1}, {100, 1}};  // 200 bytes take 2 s, and a message 1 s more
  const auto seconds = [&](Reduction reduction, int n) {
    return all_reduce_cost(reduction, 200, {n, 1}, links).seconds;
  };
  EXPECT_DOUBLE_EQ(seconds(Reduction::tree, 4), 2 * 2 * (2 + 1));
  EXPECT_DOUBLE_EQ(seconds(Reduction::tree, 5), 2 * 3 * (2 + 1));
  EXPECT_DOUBLE_EQ(seconds(Reduction::ring, 4), 1.5 * 2 + 6 * 1);
  EXPECT_DOUBLE_EQ(seconds(Reduction::halving, 4), 1.5 * 2 + 4 * 1);
  EXPECT_DOUBLE_EQ(seconds(Reduction::striped, 4), 1.5 * 2 + 2 * 1);
  for (Reduction reduction : kReductions) EXPECT_EQ(seconds(reduction, 1), 0);
}

// The design's figure: one all-reduce of AlexNet's gradients over 128 nodes of 8 GPUs, 450 and 50 GB/s.
TEST(ReductionCost, OfAHierarchyIsLowerThanThatOfAFlatRing) {
  const Links links{{450e9, 5e-6}, {50e9, 5e-6}};
  const Ranks ranks{1024, 8};
  const double hierarchical = all_reduce_cost(Reduction::hierarchical, 249513376, ranks, links).seconds;
  const double ring = all_reduce_cost(Reduction::ring, 249513376, ranks, links).seconds;
  EXPECT_NEAR(1e3 * hierarchical, 3.5, 0.3);
  EXPECT_GT(ring, 5 * hierarchical);
}

TEST(ReductionCost, GivesTheBusBandwidthAsNcclTestsDefineIt) {
  EXPECT_DOUBLE_EQ(bus_bandwidth(1e9, 0.5, 4), 3e9);
  // A ring at full speed: busbw is the link's bandwidth, however many ranks there are.
  for (int n : {2, 3, 64}) {
    const double seconds = all_reduce_cost(Reduction::ring, 1e9, {n, 1}, {{5e9, 0}, {5e9, 0}}).seconds;
    EXPECT_DOUBLE_EQ(bus_bandwidth(1e9, seconds, n), 5e9);
  }
}

}  // namespace
}  // namespace convscope
