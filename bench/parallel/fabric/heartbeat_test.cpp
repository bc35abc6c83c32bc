#include "bench/parallel/fabric/heartbeat.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory>
#include <sstream>
#include <stdexcept>

#include "bench/parallel/fabric/threads_fabric.hpp"

namespace convscope {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;

constexpr int kLongEnough = 12;

TEST(SignsOfLife, AreNotMissedOfARankThatWasNeverHeard) {
  SignsOfLife signs(3);
  EXPECT_TRUE(signs.heard(1));
  for (int i = 0; i < kLongEnough; ++i) signs.look();
  EXPECT_THAT(signs.silences(), ElementsAre(0, kLongEnough, 0));
}

TEST(SignsOfLife, AreMissedFromTheLastOneOn) {
  SignsOfLife signs(2);
  signs.heard(1);
  for (int i = 0; i < kLongEnough - 1; ++i) signs.look();
  EXPECT_EQ(signs.silence(1), kLongEnough - 1);
  signs.heard(1);
  EXPECT_EQ(signs.silence(1), 0);
  signs.look();
  EXPECT_EQ(signs.silence(1), 1);
}

TEST(SignsOfLife, AreThoseOfRanksOfTheJob) {
  SignsOfLife signs(2);
  EXPECT_FALSE(signs.heard(2));
  EXPECT_FALSE(signs.heard(~uint64_t{0}));
}

TEST(SilentRanks, AreNamedWithTheTimeOfTheirSilence) {
  const std::vector<RankPlace> ranks{{"node1", 7, ""}, {"node2", 8, ""}, {"node3", 9, ""}, {"node4", 10, ""}};
  EXPECT_EQ(silent_ranks(ranks, std::vector{0, 13, 11, 20}, 12),
            "rank 1 (process 8 on node2) gave no sign for 6 s, rank 3 (process 10 on node4) gave no sign for "
            "10 s");
  EXPECT_EQ(silent_ranks(ranks, std::vector{0, 11, 11, 0}, 12), "");
  EXPECT_EQ(silent_ranks(ranks, std::vector<int>{}, 12), "") << "without a heartbeat";
  EXPECT_EQ(silent_ranks(std::span(ranks).first(1), std::vector{0, 12, 12, 12}, 12), "")
      << "of ranks that have no part in it";
}

// The other side, which says what the test wants.
class Peer {
 public:
  Peer() : socket_(socket(AF_INET, SOCK_DGRAM, 0)) {
    sockaddr_in address = loopback(0);
    EXPECT_EQ(bind(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  }
  ~Peer() { close(socket_); }
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  int port() const {
    sockaddr_in address{};
    socklen_t size = sizeof address;
    getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size);
    return ntohs(address.sin_port);
  }
  void say(int port, const std::vector<uint64_t>& words) const { say(port, words.data(), words.size() * 8); }
  void say(int port, const void* bytes, size_t size) const {
    const sockaddr_in address = loopback(port);
    EXPECT_EQ(sendto(socket_, bytes, size, 0, reinterpret_cast<const sockaddr*>(&address), sizeof address),
              static_cast<ssize_t>(size));
  }
  // The next sign that arrives, and from which port.
  std::array<uint64_t, 2> hear(int* port = nullptr) const {
    std::array<uint64_t, 2> sign{};
    sockaddr_in from{};
    socklen_t size = sizeof from;
    EXPECT_EQ(
        recvfrom(socket_, sign.data(), sizeof sign, MSG_TRUNC, reinterpret_cast<sockaddr*>(&from), &size),
        static_cast<ssize_t>(sizeof sign));
    if (port != nullptr) *port = ntohs(from.sin_port);
    return sign;
  }
  bool hears_more() const {
    pollfd waiting{socket_, POLLIN, 0};
    return poll(&waiting, 1, 0) > 0;
  }

 private:
  static sockaddr_in loopback(int port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
  }

  const int socket_;
};

// How a rank 0 is reached.
struct Reached {
  explicit Reached(const Heartbeat& rank_0) { std::istringstream(rank_0.address()) >> job >> port >> host; }
  uint64_t job = 0;
  int port = 0;
  std::string host;
};

void wait_for_silence(const Heartbeat& heartbeat, size_t rank) {
  while (heartbeat.silences()[rank] < kLongEnough) std::this_thread::sleep_for(milliseconds(1));
}

TEST(Heartbeat, AnswersARankAndMissesItWhenItIsSilent) {
  const Heartbeat rank_0(3, milliseconds(1));
  const Reached at(rank_0);
  EXPECT_FALSE(at.host.empty());
  const Peer peer;
  peer.say(at.port, {at.job, 2});
  EXPECT_THAT(peer.hear(), ElementsAre(at.job, 0));
  wait_for_silence(rank_0, 2);
  EXPECT_EQ(rank_0.silences()[1], 0) << "it was never heard";
}

TEST(Heartbeat, IgnoresOtherJobsAndGarbage) {
  const Heartbeat rank_0(3, milliseconds(1));
  const Reached at(rank_0);
  const Peer peer;
  peer.say(at.port, {at.job + 1, 1});
  peer.say(at.port, {at.job, 0});
  peer.say(at.port, {at.job, 3});
  peer.say(at.port, {at.job, ~uint64_t{0}});
  peer.say(at.port, {at.job, 1, 1});
  peer.say(at.port, {at.job});
  peer.say(at.port, "", 0);
  peer.say(at.port, {at.job, 2});  // behind all of them
  EXPECT_THAT(peer.hear(), ElementsAre(at.job, 0));
  EXPECT_FALSE(peer.hears_more());
  wait_for_silence(rank_0, 2);
  EXPECT_EQ(rank_0.silences()[1], 0);
}

TEST(Heartbeat, HearsManyRanks) {
  constexpr uint64_t kRanks = 1000, kAtOnce = 50;
  const Heartbeat rank_0(kRanks, milliseconds(10));
  const Reached at(rank_0);
  const Peer peer;
  for (uint64_t first = 0; first < kRanks; first += kAtOnce) {
    for (uint64_t rank = std::max<uint64_t>(first, 1); rank < first + kAtOnce; ++rank)
      peer.say(at.port, {at.job, rank});
    for (uint64_t rank = std::max<uint64_t>(first, 1); rank < first + kAtOnce; ++rank)
      EXPECT_THAT(peer.hear(), ElementsAre(at.job, 0));
  }
  for (size_t rank = 1; rank < kRanks; ++rank) wait_for_silence(rank_0, rank);
  EXPECT_EQ(rank_0.silences()[0], 0);
}

TEST(Heartbeat, OfAnotherRankTriesAllAddressesUntilRank0AnswersAndThenMissesIt) {
  const Peer rank_0;
  const Heartbeat rank_2(2, 3, fmt::format("77 {} 127.0.0.2 127.0.0.1", rank_0.port()), milliseconds(1));
  int port = 0;
  EXPECT_THAT(rank_0.hear(&port), ElementsAre(77, 2));
  EXPECT_THAT(rank_2.silences(), ElementsAre(0)) << "it was never heard";
  rank_0.say(port, {76, 0});
  rank_0.say(port, {77, 1});
  for (int i = 0; i < 3 * kLongEnough; ++i) EXPECT_THAT(rank_0.hear(), ElementsAre(77, 2));
  EXPECT_THAT(rank_2.silences(), ElementsAre(0)) << "it was another";
  rank_0.say(port, {77, 0});
  wait_for_silence(rank_2, 0);
}

TEST(Heartbeat, OfTwoRanksIsHeardByBoth) {
  auto rank_0 = std::make_unique<Heartbeat>(2, milliseconds(1));
  const Heartbeat rank_1(1, 2, rank_0->address(), milliseconds(50));
  while (rank_0->silences()[1] == 0) std::this_thread::sleep_for(milliseconds(1));  // heard, and answered
  rank_0.reset();
  wait_for_silence(rank_1, 0);
}

TEST(Heartbeat, NeedsAnAddress) {
  EXPECT_THROW(Heartbeat(1, 2, ""), std::invalid_argument);
  EXPECT_THROW(Heartbeat(1, 2, "77 40123"), std::invalid_argument);
  EXPECT_THROW(Heartbeat(1, 2, "77 40123 node3"), std::invalid_argument);
}

TEST(Heartbeat, IsNotStartedWhereRank0SeesAllRanks) {
  run_ranks(3, [](Fabric& fabric) {
    const std::vector<RankPlace> places = gathered_places(fabric);
    if (!places.front().space.empty()) start_heartbeat(fabric, places);
    EXPECT_TRUE(heartbeat_silences().empty());
  });
}

}  // namespace
}  // namespace convscope
