// The definition of the operations in f64, the data that they are checked and timed on, and the check itself.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/algorithm/operation_algorithm.hpp"
#include "bench/device/buffer.hpp"

namespace convscope {

// One for each slot.
template <typename T>
struct EachSlot : std::array<T, kSlots.size()> {
  using std::array<T, kSlots.size()>::operator[];
  const T& operator[](Slot slot) const { return (*this)[static_cast<size_t>(slot)]; }
  T& operator[](Slot slot) { return (*this)[static_cast<size_t>(slot)]; }
};

template <typename T>
using BySlot = EachSlot<std::vector<T>>;

// Reproducible values of every tensor that the problem or its forward has; of one that is written what it
// must not keep, NaN. Backward's x and y are a forward's. No window of a pool has two maxima.
BySlot<float> operation_data(const OperationProblem& problem, uint64_t seed);

// What the tensors that are written or updated must hold; the others are empty.
BySlot<double> operation_reference(const OperationProblem& problem, const BySlot<float>& data);

// The tensors of a problem on the device, with the data in them.
class OperationBuffers {
 public:
  OperationBuffers(const BySlot<float>& data, Device& device);
  void fill(const BySlot<float>& data);
  OperationTensors tensors() const;
  const Buffer& operator[](Slot slot) const { return buffers_[slot]; }
  // What a tensor holds, until this is called again.
  const std::vector<float>& values(Slot slot);

 private:
  EachSlot<Buffer> buffers_;
  std::vector<float> values_;  // kept: to map large memory anew takes longer than to compare what is in it
};

struct OperationCheck {
  double relative_l2 = 0;  // the largest of the tensors that are written
  std::optional<std::string> fault;
};

// Runs the plan twice on fresh data, on the queue: what it writes must be right within the gate of FP32
// (2e-5, relative L2) and finite, what it reads unchanged, and nothing outside may be touched. `kept` has the
// plan's kept_bytes().
OperationCheck check_operation(const OperationProblem& problem, OperationPlan& plan,
                               OperationBuffers& buffers, const Buffer& kept, const BySlot<float>& data,
                               const BySlot<double>& expected, Queue& queue);

}  // namespace convscope
