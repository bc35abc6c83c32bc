// Ranks that are actors of SimGrid: the same reductions as over threads and MPI, in simulated time. A message
// carries what little the ranks hold and takes as long as its true size would.
#pragma once

#include <simgrid/s4u.hpp>
#include <string>
#include <vector>

#include "bench/parallel/fabric/fabric.hpp"

namespace convscope {

class SimGridFabric final : public Fabric {
 public:
  // A byte in memory stands for `scale` bytes on the links.
  SimGridFabric(int rank, int size, double scale) : rank_(rank), size_(size), scale_(scale) {}

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  void exchange(std::span<const Outgoing> sent, std::span<const Incoming> received) override;

  double sent_bytes() const { return sent_bytes_; }  // on the links

 private:
  using Payload = std::vector<std::byte>;
  static simgrid::s4u::Mailbox* mailbox(int from, int to);

  int rank_, size_;
  double scale_, sent_bytes_ = 0;
};

}  // namespace convscope
