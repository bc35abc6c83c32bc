#include "bench/parallel/fabric/communication_queue.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <stdexcept>
#include <vector>

namespace convscope {
namespace {

using ::testing::ElementsAre;

TEST(CommunicationQueue, RunsWhatIsPostedInOrderOnAThreadOfItsOwn) {
  std::vector<int> seen;
  std::thread::id thread;
  CommunicationQueue queue([&] { thread = std::this_thread::get_id(); });
  for (int i = 0; i < 3; ++i) queue.post([&seen, i] { seen.push_back(i); });
  queue.wait();
  EXPECT_THAT(seen, ElementsAre(0, 1, 2));
  EXPECT_NE(thread, std::this_thread::get_id());
  queue.post([&] { seen.push_back(3); });
  queue.wait();
  EXPECT_EQ(seen.back(), 3);
}

TEST(CommunicationQueue, HandsOnWhatWasThrownAndRunsNothingBehindIt) {
  bool ran = false;
  CommunicationQueue queue;
  queue.post([] { throw std::runtime_error("rank 1 is lost"); });
  EXPECT_THROW(queue.wait(), std::runtime_error);
  queue.post([&] { ran = true; });
  queue.wait();
  EXPECT_TRUE(ran) << "the failure was handed on once";
}

TEST(CommunicationQueue, RunsNothingThatIsPostedAfterAFailureAndBeforeItIsHandedOn) {
  bool ran = false;
  CommunicationQueue queue;
  queue.post([] { throw std::runtime_error("rank 1 is lost"); });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));  // it has thrown, most likely
  queue.post([&] { ran = true; });
  EXPECT_THROW(queue.wait(), std::runtime_error);
  EXPECT_FALSE(ran);
}

TEST(CommunicationQueue, FinishesWhatWasPostedBeforeItEnds) {
  int done = 0;
  {
    CommunicationQueue queue;
    for (int i = 0; i < 10; ++i) queue.post([&] { ++done; });
  }
  EXPECT_EQ(done, 10);
}

}  // namespace
}  // namespace convscope
