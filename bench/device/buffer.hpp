// Buffer: device memory with an owner and a guard zone on each side, so that a write outside it is seen.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "bench/device/device.hpp"

namespace convscope {

// Move-only. `data()` is aligned to a page; the guard behind starts at the very next byte after `bytes()`.
class Buffer {
 public:
  static constexpr size_t kGuardBytes = 4096;

  Buffer() = default;
  Buffer(Device& device, size_t bytes);  // contents undefined; throws std::bad_alloc
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&& other) noexcept;
  ~Buffer();

  void* data() const { return data_; }
  size_t bytes() const { return bytes_; }
  Device* device() const { return device_; }  // null in an empty buffer
  template <typename T>
  T* as() const {
    return static_cast<T*>(data());
  }
  // All of them, in the device's memory.
  template <typename T>
  std::span<T> span_of() const {
    return {as<T>(), bytes_ / sizeof(T)};
  }

  void upload(const void* from, size_t bytes);
  void download(void* to, size_t bytes) const;
  // Every element becomes NaN in any format (every byte 0xff): reading it before writing it shows in the
  // result.
  void fill_with_nan();
  // True while nobody wrote outside the buffer.
  bool guards_intact() const;

 private:
  Device* device_ = nullptr;
  std::byte* base_ = nullptr;
  std::byte* data_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace convscope
