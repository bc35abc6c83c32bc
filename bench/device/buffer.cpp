#include "bench/device/buffer.hpp"

#include <stdexcept>
#include <utility>

namespace convscope {
namespace {

// Every 16-bit and 32-bit float of it is a NaN, so that a value read outside the buffer shows in the result;
// and not that of fill_with_nan().
std::vector<uint16_t> guard_pattern() {
  return std::vector<uint16_t>(Buffer::kGuardBytes / sizeof(uint16_t), 0x7fa5);
}

}  // namespace

Buffer::Buffer(Device& device, size_t bytes) : device_(&device), bytes_(bytes) {
  base_ = static_cast<std::byte*>(device.allocate(bytes + 2 * kGuardBytes));
  data_ = base_ + kGuardBytes;
  const std::vector<uint16_t> guard = guard_pattern();
  device.copy_to_device(base_, guard.data(), kGuardBytes);
  device.copy_to_device(data_ + bytes, guard.data(), kGuardBytes);
  device.protect(base_, kGuardBytes);
  device.protect(data_ + bytes, kGuardBytes);
}

Buffer::Buffer(Buffer&& other) noexcept {
  *this = std::move(other);
}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  std::swap(device_, other.device_);
  std::swap(base_, other.base_);
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

Buffer::~Buffer() {
  if (base_ != nullptr) device_->release(base_);
}

void Buffer::upload(const void* from, size_t bytes) {
  if (bytes > bytes_) throw std::out_of_range("upload of more bytes than the buffer holds");
  if (bytes > 0) device_->copy_to_device(data_, from, bytes);
}

void Buffer::download(void* to, size_t bytes) const {
  if (bytes > bytes_) throw std::out_of_range("download of more bytes than the buffer holds");
  if (bytes > 0) device_->copy_to_host(to, data_, bytes);
}

void Buffer::fill_with_nan() {
  if (bytes_ > 0) device_->fill(data_, 0xff, bytes_);
}

bool Buffer::guards_intact() const {
  if (base_ == nullptr) return true;
  const std::vector<uint16_t> expected = guard_pattern();
  std::vector<uint16_t> guard(expected.size());
  for (const std::byte* zone :
       {static_cast<const std::byte*>(base_), static_cast<const std::byte*>(data_ + bytes_)}) {
    device_->copy_to_host(guard.data(), zone, kGuardBytes);
    if (guard != expected) return false;
  }
  return true;
}

}  // namespace convscope
