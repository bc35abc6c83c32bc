// ThreadsCommunicator: a library that sums between the devices of threads, for tests, in which something is
// wrong where that is asked for. Like a real one it reaches device memory through the device alone.
#pragma once

#include <span>
#include <vector>

#include "bench/device/communicator.hpp"
#include "bench/device/device_error.hpp"
#include "bench/parallel/fabric/fabric.hpp"
#include "bench/parallel/reductions/reductions.hpp"

namespace convscope {

class ThreadsCommunicator final : public Communicator {
 public:
  enum class Fault { none, sum_of_rank_1, lost_message, outside, refuses };
  ThreadsCommunicator(Fabric& fabric, Device& device, Fault fault)
      : fabric_(fabric), device_(device), fault_(fault) {}

  void all_reduce(std::span<float> values, Queue&) override {
    if (fault_ == Fault::refuses) throw DeviceError("ncclAllReduce: internal error");
    std::vector<float> host(values.size()), scratch(values.size());
    device_.copy_to_host(host.data(), values.data(), values.size_bytes());
    convscope::all_reduce(Reduction::tree, fabric_, host, scratch, {fabric_.size(), fabric_.size()});
    if (fault_ == Fault::sum_of_rank_1 && fabric_.rank() == 1) host.front() += 1;
    device_.copy_to_device(values.data(), host.data(), values.size_bytes());
    const float one = 1;
    if (fault_ == Fault::outside) device_.copy_to_device(values.data() + values.size(), &one, sizeof one);
  }
  void exchange(std::span<const Sent> sent, std::span<const Received> received, Queue&) override {
    std::vector<std::vector<std::byte>> host(sent.size() + received.size());
    std::vector<Outgoing> out;
    std::vector<Incoming> in;
    for (size_t i = 0; i < sent.size(); ++i) {
      host[i].resize(sent[i].bytes.size());
      device_.copy_to_host(host[i].data(), sent[i].bytes.data(), host[i].size());
      out.push_back({sent[i].to, host[i]});
    }
    for (size_t i = 0; i < received.size(); ++i) {
      host[sent.size() + i].resize(received[i].bytes.size());
      in.push_back({received[i].from, host[sent.size() + i]});
    }
    fabric_.exchange(out, in);
    if (fault_ == Fault::lost_message && !received.empty()) in[0].bytes[0] = std::byte{0x55};
    for (size_t i = 0; i < received.size(); ++i)
      device_.copy_to_device(received[i].bytes.data(), in[i].bytes.data(), in[i].bytes.size());
  }
  void wait(Queue& queue) override { queue.synchronize(); }

 private:
  Fabric& fabric_;
  Device& device_;
  Fault fault_;
};

}  // namespace convscope
