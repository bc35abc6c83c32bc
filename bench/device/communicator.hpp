// Communicator: ranks that sum and exchange values in the memory of their GPUs, by NCCL, which is loaded at
// run time. What is done is enqueued, in the queue's order on each rank; all ranks of a communicator enqueue
// the same sums in the same order.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "bench/device/device.hpp"

namespace convscope {

// By it the ranks of one communicator find each other: made by one of them, carried to the others.
using CommunicatorId = std::array<char, 128>;

// One rank's end of it. Not thread-safe. Every function throws DeviceError with the library's own words.
class Communicator {
 public:
  struct Sent {
    int to;
    std::span<const std::byte> bytes;  // device memory, as all of this class
  };
  struct Received {
    int from;
    std::span<std::byte> bytes;
  };

  // Where it goes down with an exception, other ranks may never come, and it does not wait for them.
  virtual ~Communicator() = default;

  // Replaces the values on each rank by the sums over all ranks, in an order of the library's choice.
  virtual void all_reduce(std::span<float> values, Queue& queue) = 0;
  // All messages at once; each has its other end in an exchange() of that rank. None is empty.
  virtual void exchange(std::span<const Sent> sent, std::span<const Received> received, Queue& queue) = 0;
  // Returns when the queue's work is done. It never sleeps, which would be in what is timed, but lets other
  // threads have its core. Throws also where the library has noticed that another rank is lost. It may never
  // notice: a watchdog is the caller's.
  virtual void wait(Queue& queue) = 0;
};

namespace cuda {

// Why there is no library for it: not found, or too old; empty where there is one.
std::string communication_defect();

// "NCCL 2.28.9"; ranks of different versions may not find each other. Asks communication_defect() first.
std::string communication_library();

CommunicatorId make_communicator_id();

// What the driver allows a GPU, which sets its pace as its model does: "power limit 700000 mW, max sm clock
// 1980 MHz, max memory clock 2619 MHz", as far as the driver says. GPUs of one job are compared by it.
std::string limits_of(const Device& device);

// Waits until all ranks have called it. `device` is the calling thread's, and no other rank's.
std::unique_ptr<Communicator> make_communicator(const CommunicatorId& id, int rank, int ranks,
                                                Device& device);

}  // namespace cuda
}  // namespace convscope
