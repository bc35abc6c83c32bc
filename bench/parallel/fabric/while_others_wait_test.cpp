#include "bench/parallel/fabric/while_others_wait.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "bench/parallel/fabric/threads_fabric.hpp"

namespace convscope {
namespace {

constexpr int kParts = 4;  // of rank 0's work

// What a watch would see of a rank.
class CountingFabric final : public Fabric {
 public:
  explicit CountingFabric(Fabric& fabric) : fabric_(fabric) {}
  int rank() const override { return fabric_.rank(); }
  int size() const override { return fabric_.size(); }
  void exchange(std::span<const Outgoing> sent, std::span<const Incoming> received) override {
    ++exchanges;
    fabric_.exchange(sent, received);
  }

  int exchanges = 0;

 private:
  Fabric& fabric_;
};

TEST(WhileOthersWait, EachPartOfTheWorkIsASignOnEveryRank) {
  for (int ranks : {1, 3})
    run_ranks(ranks, [](Fabric& fabric) {
      CountingFabric counting(fabric);
      int done = 0;
      while_others_wait(counting, [&](const auto& begin_part) {
        for (int part = 0; part < kParts; ++part) {
          begin_part();
          ++done;
        }
      });
      EXPECT_EQ(done, fabric.rank() == 0 ? kParts : 0);
      EXPECT_EQ(counting.exchanges, 2 * (kParts + 1)) << "there and back: of each part, and of the end";
    });
}

TEST(WhileOthersWait, NoRankGoesOnWhereTheWorkFails) {
  EXPECT_THAT(
      [] {
        run_ranks(2, [](Fabric& fabric) {
          while_others_wait(fabric, [](const auto& begin_part) {
            begin_part();
            throw std::runtime_error("no algorithm can run it");
          });
          ADD_FAILURE() << "rank " << fabric.rank() << " went on";
        });
      },
      ::testing::ThrowsMessage<std::runtime_error>(::testing::HasSubstr("no algorithm can run it")));
}

}  // namespace
}  // namespace convscope
