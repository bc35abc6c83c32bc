#include "algorithms/allocation_count.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<int64_t> count{0};

}  // namespace

// The linker sends calls of malloc here (--wrap=malloc) and calls of __real_malloc to the original.
extern "C" {
void* __real_malloc(size_t size);
void* __real_calloc(size_t number, size_t size);
void* __real_realloc(void* data, size_t size);
void* __real_aligned_alloc(size_t alignment, size_t size);
int __real_posix_memalign(void** data, size_t alignment, size_t size);

void* __wrap_malloc(size_t size) {
  ++count;
  return __real_malloc(size);
}
void* __wrap_calloc(size_t number, size_t size) {
  ++count;
  return __real_calloc(number, size);
}
void* __wrap_realloc(void* data, size_t size) {
  ++count;
  return __real_realloc(data, size);
}
void* __wrap_aligned_alloc(size_t alignment, size_t size) {
  ++count;
  return __real_aligned_alloc(alignment, size);
}
int __wrap_posix_memalign(void** data, size_t alignment, size_t size) {
  ++count;
  return __real_posix_memalign(data, alignment, size);
}
}

// The other forms call these two in libstdc++, but not under the address sanitizer, which has its own.
void* operator new(size_t size) {
  if (void* data = std::malloc(size == 0 ? 1 : size)) return data;
  throw std::bad_alloc();
}
void* operator new(size_t size, std::align_val_t alignment) {
  const auto step = static_cast<size_t>(alignment);
  if (void* data = std::aligned_alloc(step, (size + step - 1) / step * step)) return data;
  throw std::bad_alloc();
}
void* operator new[](size_t size) {
  return operator new(size);
}
void* operator new[](size_t size, std::align_val_t alignment) {
  return operator new(size, alignment);
}
void operator delete[](void* data) noexcept {
  std::free(data);
}
void operator delete[](void* data, size_t) noexcept {
  std::free(data);
}
void operator delete[](void* data, std::align_val_t) noexcept {
  std::free(data);
}
void operator delete[](void* data, size_t, std::align_val_t) noexcept {
  std::free(data);
}
void operator delete(void* data) noexcept {
  std::free(data);
}
void operator delete(void* data, size_t) noexcept {
  std::free(data);
}
void operator delete(void* data, std::align_val_t) noexcept {
  std::free(data);
}
void operator delete(void* data, size_t, std::align_val_t) noexcept {
  std::free(data);
}

namespace convscope {

int64_t allocation_count() {
  return count;
}

namespace {

// Behind a volatile pointer, so that no pair of allocation and release is left out.
template <typename Allocate>
int64_t counted(const Allocate& allocate) {
  const int64_t before = allocation_count();
  void* volatile data = allocate();
  const int64_t after = allocation_count();
  std::free(data);
  return after - before;
}

TEST(AllocationCount, SeesEveryWayToAllocate) {
  EXPECT_EQ(counted([] { return std::malloc(8); }), 1);
  EXPECT_EQ(counted([] { return std::calloc(2, 8); }), 1);
  EXPECT_EQ(counted([] { return std::realloc(nullptr, 8); }), 1);
  EXPECT_EQ(counted([] { return std::aligned_alloc(64, 64); }), 1);
  EXPECT_EQ(counted([]() -> void* {
              void* data = nullptr;
              return posix_memalign(&data, 64, 64) == 0 ? data : nullptr;
            }),
            1);
  const int64_t before = allocation_count();
  int* volatile array = new int[100];
  EXPECT_EQ(allocation_count(), before + 1);
  delete[] array;
  struct alignas(128) Wide {
    char bytes[128];
  };
  Wide* volatile wide = new Wide[2];
  Wide* volatile one = new Wide;
  EXPECT_EQ(allocation_count(), before + 3);
  delete[] wide;
  delete one;
  EXPECT_EQ(counted([] { return static_cast<void*>(nullptr); }), 0);
}

}  // namespace
}  // namespace convscope
