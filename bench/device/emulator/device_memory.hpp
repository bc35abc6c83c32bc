// The emulated device's memory: host memory that is NaN until written, that knows its bounds, and that host
// code may not touch outside a DeviceMemory::Access (the address sanitizer then reports it).
#pragma once

#include <cstddef>
#include <map>

namespace convscope::emulated {

class DeviceMemory {
 public:
  DeviceMemory() = default;
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  ~DeviceMemory();

  void* allocate(size_t bytes);  // aligned to a page; throws std::bad_alloc
  void release(void* data) noexcept;
  // True where all of [data, data + bytes) is one allocation's, its end included.
  bool contains(const void* data, size_t bytes) const;

  // Opens all of the memory for as long as it lives; may be nested.
  class Access {
   public:
    explicit Access(DeviceMemory& memory);
    Access(const Access&) = delete;
    Access& operator=(const Access&) = delete;
    ~Access();

   private:
    DeviceMemory& memory_;
  };

 private:
  void set_access(bool open);

  std::map<const unsigned char*, size_t> sizes_;
  int open_ = 0;
};

}  // namespace convscope::emulated
