// What connects the ranks of one job: n ranks, numbered from 0, that exchange messages. Reductions are
// written once over it, so that threads, MPI, GPUs and a simulated network run the same algorithm; the fabric
// says only how bytes travel, and adds and copies where they lie.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace convscope {

struct Outgoing {
  int to = 0;
  std::span<const std::byte> bytes;
};
struct Incoming {
  int from = 0;
  std::span<std::byte> bytes;
};

class Fabric {
 public:
  virtual ~Fabric() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;

  // Sends and receives all of the messages at once, and returns when the memory of all of them may be used
  // again. Messages from one rank to another arrive in the order in which they were sent; both sides know
  // their sizes. Empty messages are not sent. A rank never sends to itself. Throws std::runtime_error when
  // another rank is lost.
  virtual void exchange(std::span<const Outgoing> sent, std::span<const Incoming> received) = 0;

  // Adds `from` to `to`, or copies it there, as many values each, in the memory whose bytes are exchanged.
  // Where that is a device's, all three functions enqueue, and their memory may be used again by what is
  // enqueued behind them.
  virtual void add(std::span<const float> from, std::span<float> to) {
    for (size_t i = 0; i < from.size(); ++i) to[i] += from[i];
  }
  virtual void copy(std::span<const float> from, std::span<float> to) { std::ranges::copy(from, to.begin()); }

  // Whether the fabric's library has an all-reduce of its own, the baseline; where it has none the second
  // throws std::logic_error.
  virtual bool has_all_reduce() const { return false; }
  virtual void library_all_reduce(std::span<float>) {
    throw std::logic_error("this fabric has no all-reduce of its own");
  }
};

// The largest of the ranks' values, on every rank; NaN where one is. Also a barrier: no rank returns before
// all have called.
double largest_over_ranks(Fabric& fabric, double value);

// What rank 0 says, on every rank, so that no rank goes on where another ends.
bool as_rank_0(Fabric& fabric, bool value);

// Whether all ranks have the same value, the same answer on every rank.
bool same_on_all_ranks(Fabric& fabric, unsigned long long value);

// The values of all ranks, in the order of ranks, on every rank; as many of each.
std::vector<float> gathered(Fabric& fabric, std::span<const float> values);

// The texts of all ranks, in the order of ranks, on every rank; without zero bytes.
std::vector<std::string> gathered_texts(Fabric& fabric, const std::string& text);

}  // namespace convscope
