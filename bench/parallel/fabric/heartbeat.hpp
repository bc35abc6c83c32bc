// Heartbeat: datagrams (UDP, IPv4) that the processes of a job on several hosts send each other, so that a
// stopped rank is noticed although no process of its host can see it. They go beside MPI, which lets one
// thread at a time communicate, and that one may be waiting for the rank that is lost. Every rank sends them
// to rank 0, which answers, so that the loss of rank 0 is noticed, too.
#pragma once

#include <netinet/in.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "bench/parallel/fabric/job_watch.hpp"

namespace convscope {

// How many looks ago each rank was heard; a look is taken once a period. Looks are counted, and not time: an
// observer that was stopped itself, however long, has missed one. A rank that was never heard counts as not
// silent, since a firewall may be in between.
class SignsOfLife {
 public:
  explicit SignsOfLife(int ranks) : looks_(static_cast<size_t>(ranks), kNeverHeard) {}

  // False where there is no such rank.
  bool heard(uint64_t rank);
  // After all that has arrived was heard.
  void look();
  // Since the rank was heard last; 0 where it never was.
  int silence(size_t rank) const { return looks_[rank] == kNeverHeard ? 0 : looks_[rank]; }
  std::vector<int> silences() const;

 private:
  static constexpr int kNeverHeard = -1;
  std::vector<int> looks_;
};

class Heartbeat {
 public:
  // Between two looks, and between two signs of a rank.
  static constexpr std::chrono::milliseconds kPeriod{500};

  // Of rank 0 of so many: the job gets a number, by which its datagrams are known. Throws std::system_error
  // where the system has no socket.
  explicit Heartbeat(int ranks, std::chrono::milliseconds period = kPeriod);
  // Of another of so many ranks; `address` is rank 0's. Throws likewise, and std::invalid_argument where it
  // is none.
  Heartbeat(int rank, int ranks, const std::string& address, std::chrono::milliseconds period = kPeriod);
  ~Heartbeat();
  Heartbeat(const Heartbeat&) = delete;
  Heartbeat& operator=(const Heartbeat&) = delete;

  // Of rank 0: the job's number, the port, and this host's addresses: "77 40123 10.0.0.3 192.168.1.3".
  std::string address() const;

  // How many looks ago each rank was heard last that was heard before: on rank 0 of all ranks, on others of
  // rank 0. 0 for the others.
  std::vector<int> silences() const;

 private:
  struct Open {};  // with a socket and no thread yet
  Heartbeat(Open, int rank, int heard_ranks, std::chrono::milliseconds period);
  void beat(std::chrono::nanoseconds first);  // waits so long before the first whole period
  void send_sign();
  void receive();
  void send_to(const sockaddr_in& to) const;

  const int rank_;
  const std::chrono::milliseconds period_;
  const int naps_;  // in a period, after each of which is received what has arrived
  int socket_ = -1;
  uint64_t job_ = 0;
  std::vector<sockaddr_in> rank_0_;  // all its addresses; empty on rank 0
  sockaddr_in answered_{};           // the one that answered last
  mutable std::mutex mutex_;         // of the signs
  SignsOfLife signs_;
  std::atomic<bool> ends_ = false;
  std::thread thread_;
};

// "rank 3 (process 79 on node3) gave no sign for 6 s": of these ranks those that were not heard for so many
// looks, of which each has its own in `silences`. Empty where there are none.
std::string silent_ranks(std::span<const RankPlace> ranks, std::span<const int> silences, int looks);

// Starts the heartbeat of this process, once at most, where rank 0 does not see all ranks of the job. It
// lasts as long as the process: a rank that has done its part waits in MPI's end for the others, and is not
// lost. Every rank calls it. Where a rank has no socket it goes without.
void start_heartbeat(Fabric& fabric, std::span<const RankPlace> ranks);

// How many looks ago each of the job's ranks was heard last, of those that are missed since. Empty where this
// process has no heartbeat.
std::vector<int> heartbeat_silences();

}  // namespace convscope
