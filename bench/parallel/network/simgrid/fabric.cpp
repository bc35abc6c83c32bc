#include "bench/parallel/network/simgrid/fabric.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <stdexcept>

namespace convscope {

namespace s4u = simgrid::s4u;

s4u::Mailbox* SimGridFabric::mailbox(int from, int to) {
  return s4u::Mailbox::by_name(fmt::format("{}-{}", from, to));
}

void SimGridFabric::exchange(std::span<const Outgoing> sent, std::span<const Incoming> received) {
  std::vector<Payload*> arrived(received.size(), nullptr);
  std::vector<s4u::CommPtr> pending;
  for (size_t i = 0; i < received.size(); ++i)
    if (!received[i].bytes.empty())
      pending.push_back(mailbox(received[i].from, rank_)->get_async(&arrived[i]));
  for (const Outgoing& message : sent) {
    if (message.bytes.empty()) continue;
    const double bytes = scale_ * static_cast<double>(message.bytes.size());
    sent_bytes_ += bytes;
    // A copy: both ends go on at the same simulated time, and the sender may write first.
    auto copy = std::make_unique<Payload>(message.bytes.begin(), message.bytes.end());
    pending.push_back(
        mailbox(rank_, message.to)->put_async(copy.release(), std::max<uint64_t>(1, std::llround(bytes))));
  }
  for (const s4u::CommPtr& message : pending) message->wait();
  for (size_t i = 0; i < received.size(); ++i) {
    const std::unique_ptr<Payload> payload(arrived[i]);
    if (!payload) continue;
    if (payload->size() != received[i].bytes.size())
      throw std::runtime_error(fmt::format("a message of {} bytes from rank {} where {} were expected",
                                           payload->size(), received[i].from, received[i].bytes.size()));
    std::ranges::copy(*payload, received[i].bytes.begin());
  }
}

}  // namespace convscope
