#include "bench/parallel/reductions/reductions.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/core/random.hpp"
#include "bench/parallel/fabric/threads_fabric.hpp"

namespace convscope {
namespace {

using Value = std::function<float(int rank, size_t index)>;

// What every rank holds after an all-reduce of values(rank, 0), values(rank, 1), ...
std::vector<std::vector<float>> reduced(Reduction reduction, const Ranks& ranks, size_t size,
                                        const Value& value) {
  std::vector<std::vector<float>> all(static_cast<size_t>(ranks.count));
  run_ranks(ranks.count, [&](Fabric& fabric) {
    std::vector<float>& mine = all[static_cast<size_t>(fabric.rank())];
    for (size_t i = 0; i < size; ++i) mine.push_back(value(fabric.rank(), i));
    std::vector<float> scratch(scratch_values(reduction, size, ranks));
    all_reduce(reduction, fabric, mine, scratch, ranks);
  });
  return all;
}

uint64_t hash(const std::vector<float>& values) {
  uint64_t hash = 0;
  for (float value : values) hash = random_bits(hash, std::bit_cast<uint32_t>(value));
  return hash;
}

// Calls body(reduction, ranks) for each reduction with 1 to 9 ranks that it does not refuse, in nodes of 1
// to 4.
void for_each_case(const std::function<void(Reduction, const Ranks&)>& body) {
  for (Reduction reduction : kReductions)
    for (int n = 1; n <= 9; ++n)
      for (int per_node = 1; per_node <= (reduction == Reduction::hierarchical ? 4 : 1); ++per_node) {
        const Ranks ranks{n, per_node};
        if (refusal(reduction, ranks)) continue;
        SCOPED_TRACE(std::string(name(reduction)) + ", " + std::to_string(n) + " ranks, nodes of " +
                     std::to_string(per_node));
        body(reduction, ranks);
      }
}

TEST(Ranks, AreOnAsManyNodesAsTheyNeed) {
  EXPECT_EQ((Ranks{6, 4}).nodes(), 2) << "the last is not full";
  EXPECT_EQ((Ranks{8, 4}).nodes(), 2);
  EXPECT_EQ((Ranks{4, 4}).nodes(), 1);
  EXPECT_EQ(Ranks().nodes(), 1);
  EXPECT_TRUE(refusal(Reduction::hierarchical, {6, 4}));
  EXPECT_FALSE(refusal(Reduction::ring, {6, 4}));
}

// Sizes that no number of ranks divides, fewer values than ranks, and none.
constexpr size_t kSizes[] = {0, 1, 5, 64, 1009};

float integer(int rank, size_t i) {
  return static_cast<float>(random_below(static_cast<uint64_t>(rank), i, 2001) - 1000);
}
float uniform(int rank, size_t i) {
  return random_uniform(static_cast<uint64_t>(rank) + 100, i);
}

TEST(AllReduce, SumsIntegersExactlyInEveryOrder) {
  for_each_case([](Reduction reduction, const Ranks& ranks) {
    for (size_t size : kSizes) {
      std::vector<float> sums(size, 0);
      for (int rank = 0; rank < ranks.count; ++rank)
        for (size_t i = 0; i < size; ++i) sums[i] += integer(rank, i);
      for (const std::vector<float>& mine : reduced(reduction, ranks, size, integer)) EXPECT_EQ(mine, sums);
    }
  });
}

TEST(AllReduce, IsWithinTheBoundOfAnySummationOfRandomValues) {
  for_each_case([](Reduction reduction, const Ranks& ranks) {
    constexpr size_t size = 1009;
    const std::vector<float> sums = reduced(reduction, ranks, size, uniform).back();
    for (size_t i = 0; i < size; ++i) {
      double exact = 0, magnitudes = 0;
      for (int rank = 0; rank < ranks.count; ++rank) {
        exact += double{uniform(rank, i)};
        magnitudes += std::abs(double{uniform(rank, i)});
      }
      ASSERT_LE(std::abs(double{sums[i]} - exact), (ranks.count - 1) * 0x1p-24 * magnitudes) << i;
    }
  });
}

TEST(AllReduce, LeavesTheSameBitsOnAllRanks) {
  for_each_case([](Reduction reduction, const Ranks& ranks) {
    const auto all = reduced(reduction, ranks, 1009, uniform);
    for (const std::vector<float>& mine : all) EXPECT_EQ(hash(mine), hash(all.front()));
  });
}

TEST(AllReduce, GivesTheSameBitsWhenItIsRepeated) {
  for_each_case([](Reduction reduction, const Ranks& ranks) {
    EXPECT_EQ(hash(reduced(reduction, ranks, 257, uniform).front()),
              hash(reduced(reduction, ranks, 257, uniform).front()));
  });
}

TEST(AllReduce, RefusesByName) {
  for (int n : {3, 5, 6, 7, 9, 12})
    EXPECT_EQ(refusal(Reduction::halving, {n, 1})->reason, "not_power_of_two");
  for (int n : {1, 2, 4, 8, 1024}) EXPECT_FALSE(refusal(Reduction::halving, {n, 1}));
  EXPECT_EQ(refusal(Reduction::hierarchical, {6, 4})->reason, "uneven_nodes");
  EXPECT_THAT(refusal(Reduction::hierarchical, {6, 4})->note, ::testing::HasSubstr("6 ranks"));
  for (Reduction reduction : {Reduction::tree, Reduction::ring, Reduction::striped})
    EXPECT_FALSE(refusal(reduction, {7, 2}));
  run_ranks(1, [](Fabric& fabric) {
    EXPECT_THROW(all_reduce(Reduction::halving, fabric, {}, {}, {3, 1}), std::invalid_argument);
    EXPECT_THROW(all_reduce(Reduction::ring, fabric, {}, {}, {3, 1}),
                 std::invalid_argument);  // of a fabric of 1
  });
}

TEST(AllReduce, IsNamedAndFoundByItsName) {
  for (Reduction reduction : kReductions) EXPECT_EQ(from_name(kReductions, name(reduction)), reduction);
  EXPECT_FALSE(from_name(kReductions, "Ring"));
}

TEST(ThreadsFabric, KeepsMessagesOfOnePairInOrder) {
  run_ranks(2, [](Fabric& fabric) {
    constexpr int kMessages = 100;
    std::vector<std::byte> bytes(kMessages);
    std::vector<Outgoing> out;
    std::vector<Incoming> in;
    for (size_t i = 0; i < bytes.size(); ++i) {
      if (fabric.rank() == 0) bytes[i] = static_cast<std::byte>(i);
      if (fabric.rank() == 0) out.push_back({1, std::span(bytes).subspan(i, 1)});
      if (fabric.rank() == 1) in.push_back({0, std::span(bytes).subspan(i, 1)});
    }
    fabric.exchange(out, in);
    for (size_t i = 0; i < bytes.size(); ++i) EXPECT_EQ(bytes[i], static_cast<std::byte>(i));
  });
}

TEST(ThreadsFabric, EndsAllRanksWhenOneFailsAndNamesIt) {
  const auto body = [](Fabric& fabric) {
    if (fabric.rank() == 2) throw std::runtime_error("out of gradients");
    std::vector<float> values(100), scratch(100);
    all_reduce(Reduction::ring, fabric, values, scratch, {4, 1});
  };
  EXPECT_THAT([&] { run_ranks(4, body); },
              ::testing::ThrowsMessage<std::runtime_error>("rank 2: out of gradients"));
}

TEST(ThreadsFabric, RefusesAMessageOfAnotherSize) {
  const auto body = [](Fabric& fabric) {
    std::vector<std::byte> bytes(8);
    const Outgoing out{1, std::span(bytes).first(4)};
    const Incoming in{0, bytes};
    if (fabric.rank() == 0)
      fabric.exchange(std::span(&out, 1), {});
    else
      fabric.exchange({}, std::span(&in, 1));
  };
  EXPECT_THAT([&] { run_ranks(2, body); }, ::testing::ThrowsMessage<std::runtime_error>(::testing::HasSubstr(
                                               "a message of 4 bytes from rank 0 where 8 were expected")));
}

TEST(Fabric, FindsTheLargestValueAndWhetherAllAreTheSameOnEveryRank) {
  for (int n : {1, 2, 5})
    run_ranks(n, [n](Fabric& fabric) {
      EXPECT_EQ(largest_over_ranks(fabric, -1.0 * fabric.rank()), 0);
      EXPECT_EQ(largest_over_ranks(fabric, fabric.rank()), n - 1);
      EXPECT_TRUE(std::isnan(largest_over_ranks(fabric, fabric.rank() == n - 1 ? NAN : 1.0)));
      EXPECT_TRUE(same_on_all_ranks(fabric, 7));
      EXPECT_EQ(same_on_all_ranks(fabric, fabric.rank() == 1 ? 8 : 7), n == 1);
    });
}

}  // namespace
}  // namespace convscope
