#include "bench/operation/operation_copies.hpp"

#include <algorithm>
#include <cstring>

#include "bench/core/rounding.hpp"

namespace convscope {
namespace {

constexpr int64_t kAlignment = 256;
// Small parts go to the device many at a time.
constexpr size_t kStagedBytes = size_t{16} << 20;

}  // namespace

CopiedBuffer::CopiedBuffer(Device& device, int64_t bytes, int64_t count)
    : step_(static_cast<size_t>(round_up(bytes, kAlignment))) {
  if (step_ > 0) all_ = Buffer(device, step_ * static_cast<size_t>(count));
}

void* CopiedBuffer::at(int64_t copy) const {
  return step_ > 0 ? all_.as<std::byte>() + static_cast<size_t>(copy) * step_ : nullptr;
}

void CopiedBuffer::fill(std::span<const std::byte> part) {
  if (step_ == 0) return;
  const size_t parts = all_.bytes() / step_, staged = std::clamp(kStagedBytes / step_, size_t{1}, parts);
  if (staged == 1) {
    for (size_t i = 0; i < parts; ++i)
      all_.device()->copy_to_device(all_.as<std::byte>() + i * step_, part.data(), part.size());
    return;
  }
  std::vector<std::byte> stage(staged * step_);
  for (size_t i = 0; i < staged; ++i) std::memcpy(stage.data() + i * step_, part.data(), part.size());
  for (size_t first = 0; first < parts; first += staged)
    all_.device()->copy_to_device(all_.as<std::byte>() + first * step_, stage.data(),
                                  std::min(staged, parts - first) * step_);
}

void CopiedBuffer::spread() {
  if (all_.bytes() == step_) return;
  std::vector<std::byte> part(step_);
  all_.download(part.data(), step_);
  fill(part);
}

OperationCopies::OperationCopies(const BySlot<float>& data, int64_t count, Device& device)
    : data_(data), count_(count) {
  for (size_t slot = 0; slot < slots_.size(); ++slot)
    slots_[slot] = CopiedBuffer(device, static_cast<int64_t>(data[slot].size() * sizeof(float)), count);
}

OperationTensors OperationCopies::tensors(int64_t copy) const {
  OperationTensors tensors;
  for (Slot slot : kSlots) tensors[slot] = static_cast<float*>((*this)[slot].at(copy));
  return tensors;
}

void OperationCopies::fill() {
  for (size_t slot = 0; slot < slots_.size(); ++slot)
    slots_[slot].fill(std::as_bytes(std::span(data_[slot])));
}

void OperationCopies::spread() {
  for (CopiedBuffer& slot : slots_) slot.spread();
}

}  // namespace convscope
