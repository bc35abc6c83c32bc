// The contract of whoever computes the operations between convolutions, ours or a library: OperationAlgorithm
// makes an OperationPlan for one OperationProblem on the CPU.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>

#include "bench/core/operation_problem.hpp"

namespace convscope {

// The tensors in memory, by slot; null where the problem does not use one. A written tensor holds NaN before.
// They begin on a cache line.
struct OperationTensors {
  std::array<float*, kSlots.size()> by_slot{};
  float* operator[](Slot slot) const { return by_slot[static_cast<size_t>(slot)]; }
  float*& operator[](Slot slot) { return by_slot[static_cast<size_t>(slot)]; }
};

class OperationPlan {
 public:
  virtual ~OperationPlan() = default;
  // Bytes of what forward keeps for backward: a pool's winners, a normalisation's scale. Forward writes it,
  // backward reads it; its bytes are the plan's own and not in the problem's.
  virtual int64_t kept_bytes() const { return 0; }
  // Of backward: makes what forward would have kept. Not timed. x and y are there for it.
  virtual void prepare(const OperationTensors&, void* /*kept*/) {}
  // Neither allocates nor waits; returns when the result is there.
  virtual void run(const OperationTensors& tensors, void* kept) = 0;
  virtual std::string implementation() const { return ""; }
};

class OperationAlgorithm {
 public:
  virtual ~OperationAlgorithm() = default;
  virtual std::string provider() const = 0;  // "convscope", "onednn"
  virtual std::string version() const { return ""; }
  // Why it does not compute the problem, as a sentence; nothing where it does.
  virtual std::optional<std::string> refusal(const OperationProblem&) const { return {}; }
  // Of a problem that is not refused, on so many OpenMP threads. Throws std::runtime_error.
  virtual std::unique_ptr<OperationPlan> plan(const OperationProblem&, int threads) const = 0;
};

}  // namespace convscope
