// JobWatch: ends a job of which a rank is gone or stopped, whose ranks make no progress or that its launcher
// ends, so that no rank waits for ever for one that is lost, and says which one that is. Waiting inside a
// library cannot be broken off otherwise.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "bench/parallel/fabric/fabric.hpp"

namespace convscope {

// Where a rank runs. Processes are seen from ranks of the same space: a boot of a system, and in it a
// namespace of process numbers (a container's). Two hosts may have the same name, and copies of one
// machine the same boot. The space is "" where it is not known.
struct RankPlace {
  std::string host;
  int process = 0;
  std::string space;
};
RankPlace this_place();

// Whether both are on one machine, and there outside of containers or in the same. Where their spaces are not
// known, hosts of one name are taken for one.
bool is_beside(const RankPlace& one, const RankPlace& other);

// Whether both have the memory of one machine: beside each other, or one of them in a container of it. Two
// hosts of one boot whose namespaces have the same number, as outside of containers, are copies.
bool is_on_one_machine(const RankPlace& one, const RankPlace& other);

// Those of all ranks, on every rank.
std::vector<RankPlace> gathered_places(Fabric& fabric);

// How long ranks may wait for each other before they know where the others are: for MPI's start, and to meet.
inline constexpr std::chrono::seconds kLongestStart{60};

// "rank 1 (process 77 on node3) is gone, rank 2 (process 78 on node3) is stopped": of those of this process's
// space, of which alone that can be seen. Empty where all of them are alive.
std::string lost_ranks(std::span<const RankPlace> ranks);

// "rank 2 (process 78 on node3), rank 3 (process 79 on node3) and 4 more": the ranks of which this process
// cannot see whether they are alive. Empty where it sees all.
std::string unseen_ranks(std::span<const RankPlace> ranks);

// How long ranks may wait for each other in one go to sum so many bytes: 7 s and the time at the slowest rate
// that is waited for, in bytes per second, of GPUs or of processes.
inline constexpr double kSlowestOfGpus = 50e6, kSlowestOfProcesses = 1e6;
std::chrono::nanoseconds stall_limit(int64_t bytes, double slowest = kSlowestOfGpus);

// Likewise where a rank is known to have taken so long for what it does alone or for a sum: four times that
// besides, for a machine that others begin to use.
std::chrono::nanoseconds stall_limit_beside(double seconds);

// What the rank that reports has for its record before the others go, with which the launcher ends the job.
// It may begin to wait later than they do.
inline constexpr std::chrono::milliseconds kForTheRecord{1500};

// How long a rank of this host may be gone or stopped before the others end the job.
inline constexpr std::chrono::seconds kLongestLoss{4};

class JobWatch {
 public:
  // Of the rank that reports, the end of the job: its code is "rank_lost" where a rank was found to be gone
  // or stopped, else "timeout", or "stopped" where the launcher ended the job. Called on a thread of the
  // watch, once at most, before the process ends, whatever the rank is doing.
  using AtEnd = std::function<void(const std::string& reason, const std::string& note)>;

  // `at_end` is empty on ranks that do not report; they leave the one that does a while for its record. With
  // `is_process` the rank has a process for itself, and SIGTERM, with which mpirun ends a job of which a rank
  // died, is an end as well.
  JobWatch(int rank, std::vector<RankPlace> ranks, bool is_process, AtEnd at_end);
  ~JobWatch();
  JobWatch(const JobWatch&) = delete;
  JobWatch& operator=(const JobWatch&) = delete;

  // The rank goes on, to what `stage` says ("ncclAllReduce of 4KiB"), and says so again within `limit`, or
  // half a second later. Time in which this process was stopped itself does not count.
  void beat(std::string stage, std::chrono::nanoseconds limit);
  // The same stage and limit, from now on. Costs nothing beside a message.
  void beat() { beats_.fetch_add(1, std::memory_order_relaxed); }
  // Nothing is waited for from here to the next beat().
  void rest();

 private:
  void watch();
  void end_if_lost();
  void end_if_late();
  [[noreturn]] void end(const std::string& reason, const std::string& note, int code);

  const int rank_;
  const std::vector<RankPlace> ranks_;
  const bool is_process_;
  const AtEnd at_end_;
  std::mutex mutex_;  // of the stage and its limit
  std::string stage_;
  std::chrono::nanoseconds limit_{0};
  std::atomic<uint64_t> beats_ = 0, rests_at_ = 0;  // nothing is waited for while they are the same
  uint64_t beats_seen_ = 0;
  int looks_without_beat_ = 0, looks_with_loss_ = 0;  // one after the other
  std::atomic<bool> ends_ = false;
  std::thread thread_;
};

// A fabric between the same ranks, whose every exchange is a sign that this rank goes on, and every sum of
// its library's two of them: within one the library gives none.
class WatchedFabric final : public Fabric {
 public:
  WatchedFabric(Fabric& fabric, JobWatch& watch) : fabric_(fabric), watch_(watch) {}
  int rank() const override { return fabric_.rank(); }
  int size() const override { return fabric_.size(); }
  void exchange(std::span<const Outgoing> sent, std::span<const Incoming> received) override {
    watch_.beat();
    fabric_.exchange(sent, received);
    watch_.beat();
  }
  bool has_all_reduce() const override { return fabric_.has_all_reduce(); }
  void library_all_reduce(std::span<float> values) override {
    watch_.beat();
    fabric_.library_all_reduce(values);
    watch_.beat();
  }

 private:
  Fabric& fabric_;
  JobWatch& watch_;
};

}  // namespace convscope
