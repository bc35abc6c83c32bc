// OperationCopies: the tensors of one problem, in as many equal copies as leave the last-level cache before
// they come round again.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "bench/device/buffer.hpp"
#include "bench/verify/operation_reference.hpp"

namespace convscope {

// Equal parts of one allocation, one after the other, each aligned as an allocation on a GPU is.
class CopiedBuffer {
 public:
  CopiedBuffer() = default;
  // Throws std::bad_alloc.
  CopiedBuffer(Device& device, int64_t bytes, int64_t count);

  void* at(int64_t copy) const;  // null where a part has no bytes
  const Buffer& all() const { return all_; }
  // The same bytes into every part.
  void fill(std::span<const std::byte> part);
  // What is in the first part, into all of them.
  void spread();

 private:
  Buffer all_;
  size_t step_ = 0;
};

class OperationCopies {
 public:
  // Throws std::bad_alloc. `data` outlives it.
  OperationCopies(const BySlot<float>& data, int64_t count, Device& device);

  int64_t count() const { return count_; }
  OperationTensors tensors(int64_t copy) const;
  const CopiedBuffer& operator[](Slot slot) const { return slots_[static_cast<size_t>(slot)]; }
  // What the data says, into all of them.
  void fill();
  // What is in the first, into all of them.
  void spread();

 private:
  const BySlot<float>& data_;
  int64_t count_;
  std::array<CopiedBuffer, kSlots.size()> slots_;
};

}  // namespace convscope
