// The contract of whoever computes the operations between convolutions, ours or a library: OperationAlgorithm
// makes an OperationPlan for one OperationProblem on one device.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>

#include "bench/core/operation_problem.hpp"
#include "bench/device/device.hpp"

namespace convscope {

// The tensors in the device's memory, by slot; null where the problem does not use one. A written tensor
// holds NaN before. They begin on a cache line.
struct OperationTensors {
  std::array<float*, kSlots.size()> by_slot{};
  float* operator[](Slot slot) const { return by_slot[static_cast<size_t>(slot)]; }
  float*& operator[](Slot slot) { return by_slot[static_cast<size_t>(slot)]; }
};

class OperationPlan {
 public:
  virtual ~OperationPlan() = default;
  // Bytes of what forward keeps for backward, a pool's winners for one, which forward writes and backward
  // reads, and of scratch. They are the plan's own and not in the problem's.
  virtual int64_t kept_bytes() const { return 0; }
  // Of backward: enqueues what makes what forward would have kept. Not timed. x and y are there for it.
  virtual void prepare(const OperationTensors&, void* /*kept*/, Queue&) {}
  // Enqueues the work; on the CPU it is done when the call returns. Neither allocates nor waits.
  virtual void run(const OperationTensors& tensors, void* kept, Queue& queue) = 0;
  virtual std::string implementation() const { return ""; }
};

class OperationAlgorithm {
 public:
  virtual ~OperationAlgorithm() = default;
  virtual std::string provider() const = 0;  // "convscope", "onednn"
  virtual std::string version() const { return ""; }
  // Whether it is for devices of this kind. For others it is not asked anything.
  virtual bool runs_on(DeviceKind) const = 0;
  // Why it does not compute the problem, as a sentence; nothing where it does.
  virtual std::optional<std::string> refusal(const OperationProblem&) const { return {}; }
  // Of a problem that is not refused. The device outlives the plan. Throws std::runtime_error.
  virtual std::unique_ptr<OperationPlan> plan(const OperationProblem&, Device&) const = 0;
};

}  // namespace convscope
