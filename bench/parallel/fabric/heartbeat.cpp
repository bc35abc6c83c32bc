#include "bench/parallel/fabric/heartbeat.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <exception>
#include <memory>
#include <random>
#include <sstream>
#include <stdexcept>
#include <system_error>

namespace convscope {
namespace {

// The job's number and the rank that sends it. All ranks run the same program, and have one order of bytes.
using Sign = std::array<uint64_t, 2>;

// After so many looks without an answer all of rank 0's addresses are tried again.
constexpr int kLooksForAnAnswer = 2;

// In the first period: a rank is missed only when it was heard, which is to be soon.
constexpr int kFirstSigns = 10;

// A thread that wakes for every datagram would disturb what rank 0 measures, since samples count how long any
// thread waits for a core. So they wait in the socket's memory, of which Linux gives a process 416 KiB unless
// it is told otherwise, and each takes 768 bytes, of some network cards 2.3 KiB.
constexpr int kBytesOfSocket = 1 << 20;
constexpr int kRanksOfANap = 128;

sockaddr* generic(sockaddr_in* address) {
  return reinterpret_cast<sockaddr*>(address);
}
const sockaddr* generic(const sockaddr_in* address) {
  return reinterpret_cast<const sockaddr*>(address);
}

// Those at which other hosts may reach this one; the loopback's where there are no others.
std::vector<std::string> addresses_of_host() {
  ifaddrs* first = nullptr;
  if (getifaddrs(&first) != 0) return {};
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> freed(first, freeifaddrs);
  std::vector<std::string> outside, inside;
  for (const ifaddrs* at = first; at != nullptr; at = at->ifa_next) {
    if (at->ifa_addr == nullptr || at->ifa_addr->sa_family != AF_INET || (at->ifa_flags & IFF_UP) == 0)
      continue;
    char text[INET_ADDRSTRLEN] = {};
    inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(at->ifa_addr)->sin_addr, text, sizeof text);
    ((at->ifa_flags & IFF_LOOPBACK) != 0 ? inside : outside).emplace_back(text);
  }
  return outside.empty() ? inside : outside;
}

Heartbeat* heartbeat_of_process = nullptr;  // never destroyed

// Whether rank 0 has to be told of the rank, which it does not see itself.
bool is_far(const RankPlace& rank, const RankPlace& rank_0) {
  return rank_0.space.empty() || !is_beside(rank, rank_0);
}

}  // namespace

bool SignsOfLife::heard(uint64_t rank) {
  if (rank >= looks_.size()) return false;
  looks_[rank] = 0;
  return true;
}

void SignsOfLife::look() {
  for (int& looks : looks_)
    if (looks != kNeverHeard) ++looks;
}

std::vector<int> SignsOfLife::silences() const {
  std::vector<int> all;
  for (size_t rank = 0; rank < looks_.size(); ++rank) all.push_back(silence(rank));
  return all;
}

Heartbeat::Heartbeat(Open, int rank, int heard_ranks, std::chrono::milliseconds period)
    : rank_(rank), period_(period), naps_(1 + heard_ranks / kRanksOfANap), signs_(heard_ranks) {
  socket_ = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  sockaddr_in any{};
  any.sin_family = AF_INET;
  if (socket_ < 0 || bind(socket_, generic(&any), sizeof any) != 0) {
    const int failed = errno;
    if (socket_ >= 0) close(socket_);
    throw std::system_error(failed, std::generic_category(), "no socket for signs of life");
  }
  setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &kBytesOfSocket, sizeof kBytesOfSocket);  // or less
}

Heartbeat::Heartbeat(int ranks, std::chrono::milliseconds period) : Heartbeat(Open(), 0, ranks, period) {
  std::random_device random;
  job_ = (uint64_t{random()} << 32) | random();
  thread_ = std::thread([this] { beat({}); });
}

Heartbeat::Heartbeat(int rank, int ranks, const std::string& address, std::chrono::milliseconds period)
    : Heartbeat(Open(), rank, 1, period) {
  std::istringstream in(address);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  uint16_t port = 0;
  in >> job_ >> port;
  to.sin_port = htons(port);
  for (std::string text; in >> text;)
    if (inet_pton(AF_INET, text.c_str(), &to.sin_addr) == 1) rank_0_.push_back(to);
  // The destructor closes the socket: the other constructor has made a whole object.
  if (rank_0_.empty()) throw std::invalid_argument(fmt::format("no address of rank 0: '{}'", address));
  // All ranks start at once; their signs are to arrive evenly, so that no moment has more than fit the
  // socket.
  thread_ = std::thread([this, first = std::chrono::nanoseconds(period) * rank / ranks] { beat(first); });
}

Heartbeat::~Heartbeat() {
  ends_ = true;
  if (thread_.joinable()) thread_.join();
  close(socket_);
}

std::string Heartbeat::address() const {
  sockaddr_in mine{};
  socklen_t size = sizeof mine;
  getsockname(socket_, generic(&mine), &size);
  std::string text = fmt::format("{} {}", job_, ntohs(mine.sin_port));
  for (const std::string& address : addresses_of_host()) text += " " + address;
  return text;
}

std::vector<int> Heartbeat::silences() const {
  const std::lock_guard lock(mutex_);
  return signs_.silences();
}

void Heartbeat::beat(std::chrono::nanoseconds first) {
  for (int i = 0; i < kFirstSigns && !ends_; ++i) {
    if (rank_ != 0) send_sign();
    std::this_thread::sleep_for(std::chrono::nanoseconds(period_) / kFirstSigns);
    receive();
  }
  std::this_thread::sleep_for(first);
  while (!ends_) {
    if (rank_ != 0) send_sign();
    for (int nap = 0; nap < naps_ && !ends_; ++nap) {
      std::this_thread::sleep_for(std::chrono::nanoseconds(period_) / naps_);
      receive();
    }
    const std::lock_guard lock(mutex_);
    signs_.look();
  }
}

// Only this thread hears, so that it may read what it heard without the lock.
void Heartbeat::send_sign() {
  if (answered_.sin_port != 0 && signs_.silence(0) <= kLooksForAnAnswer) return send_to(answered_);
  for (const sockaddr_in& address : rank_0_) send_to(address);
}

void Heartbeat::receive() {
  for (;;) {
    Sign sign{};
    sockaddr_in from{};
    socklen_t size = sizeof from;
    // With MSG_TRUNC it says how long those are that it cuts.
    const ssize_t got = recvfrom(socket_, sign.data(), sizeof sign, MSG_TRUNC, generic(&from), &size);
    if (got < 0) return;
    const bool is_of_job = got == static_cast<ssize_t>(sizeof sign) && sign[0] == job_;
    if (!is_of_job || (sign[1] == 0) == (rank_ == 0)) continue;
    {
      const std::lock_guard lock(mutex_);
      if (!signs_.heard(sign[1])) continue;
    }
    if (rank_ == 0)
      send_to(from);
    else
      answered_ = from;
  }
}

// What is lost on its way is not missed: the next one follows.
void Heartbeat::send_to(const sockaddr_in& to) const {
  const Sign sign{job_, static_cast<uint64_t>(rank_)};
  sendto(socket_, sign.data(), sizeof sign, MSG_NOSIGNAL, generic(&to), sizeof to);
}

std::string silent_ranks(std::span<const RankPlace> ranks, std::span<const int> silences, int looks) {
  std::vector<std::string> silent;
  for (size_t rank = 0; rank < std::min(ranks.size(), silences.size()); ++rank)
    if (silences[rank] >= looks)
      silent.push_back(fmt::format(
          "rank {} (process {} on {}) gave no sign for {} s", rank, ranks[rank].process, ranks[rank].host,
          std::chrono::duration_cast<std::chrono::seconds>(silences[rank] * Heartbeat::kPeriod).count()));
  return fmt::format("{}", fmt::join(silent, ", "));
}

void start_heartbeat(Fabric& fabric, std::span<const RankPlace> ranks) {
  const auto is_far_rank = [&](const RankPlace& rank) { return is_far(rank, ranks.front()); };
  if (heartbeat_of_process != nullptr || ranks.size() < 2 ||
      std::ranges::none_of(ranks.subspan(1), is_far_rank))
    return;
  const auto start = [](auto&&... of) {
    try {
      heartbeat_of_process = new Heartbeat(of...);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "convscope: a stopped rank of another host is found late: %s\n", error.what());
    }
  };
  if (fabric.rank() == 0) start(fabric.size());
  const bool is_open = heartbeat_of_process != nullptr;
  const std::string address = gathered_texts(fabric, is_open ? heartbeat_of_process->address() : "").front();
  if (fabric.rank() != 0 && !address.empty() && is_far_rank(ranks[static_cast<size_t>(fabric.rank())]))
    start(fabric.rank(), fabric.size(), address);
}

std::vector<int> heartbeat_silences() {
  return heartbeat_of_process == nullptr ? std::vector<int>() : heartbeat_of_process->silences();
}

}  // namespace convscope
