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
  virtual ~DeviceMemory();

  virtual void* allocate(size_t bytes);  // aligned to a page; throws std::bad_alloc
  virtual void release(void* data) noexcept;
  // Part of an allocation that is open for copies only.
  void protect(const void* data, size_t bytes);
  // True where all of [data, data + bytes) is one allocation's, its end included.
  virtual bool contains(const void* data, size_t bytes) const;

  // Opens the memory for as long as it lives, to kernels and libraries without its protected parts. One at a
  // time.
  class Access {
   public:
    enum class For { kernels, copies };
    explicit Access(DeviceMemory& memory, For whom = For::kernels);
    Access(const Access&) = delete;
    Access& operator=(const Access&) = delete;
    ~Access();

   private:
    DeviceMemory& memory_;
  };

 private:
  std::map<const unsigned char*, size_t> sizes_, protected_;
};

}  // namespace convscope::emulated
