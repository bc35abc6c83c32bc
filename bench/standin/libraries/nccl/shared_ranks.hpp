// The ranks of one communicator, threads or processes of this machine, in memory that they share: where they
// meet, and where their bytes lie on the way.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>

namespace convscope::standin {

inline constexpr int kMaxRanks = 8;

struct SharedMemory;

class SharedRanks {
 public:
  struct Sent {
    int to;
    std::span<const std::byte> bytes;
  };
  struct Received {
    int from;
    std::span<std::byte> bytes;
  };

  // Opens or makes the memory of this name, and waits until all ranks have. Throws std::runtime_error where
  // it cannot be had.
  SharedRanks(const std::string& name, int rank, int ranks);
  ~SharedRanks();
  SharedRanks(const SharedRanks&) = delete;
  SharedRanks& operator=(const SharedRanks&) = delete;

  int rank() const { return rank_; }
  int size() const { return ranks_; }

  // Of all ranks, `to` and `from` may be the same. The sum is made in the order of ranks, on each rank.
  void sum(std::span<const float> from, std::span<float> to);
  void exchange(std::span<const Sent> sent, std::span<const Received> received);
  // From here on nothing waits for another rank any more; what was under way is left as it is.
  void abort() { aborted_ = true; }

 private:
  // Sleeps a little at a time until it is so, or until abort(): then false.
  bool wait_until(const std::function<bool()>& is_so) const;
  bool barrier();

  const int rank_, ranks_;
  SharedMemory* memory_ = nullptr;
  std::atomic<bool> aborted_ = false;
};

}  // namespace convscope::standin
