// What the address and thread sanitizers must be told about fibers, device memory and barriers. Empty
// functions in other builds, so that the executor reads the same in all of them.
//
// Under the thread sanitizer the executor is compiled without it, each emulated thread is a fiber of its own
// and each phase of a barrier an object of its own: a reused one would carry order from one phase to the next
// and hide races.
#pragma once

#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(CONVSCOPE_EMULATOR_TSAN)
extern "C" {
void* __tsan_create_fiber(unsigned);
void __tsan_destroy_fiber(void*);
void* __tsan_get_current_fiber();
void __tsan_switch_to_fiber(void*, unsigned);
void __tsan_set_fiber_name(void*, const char*);
void __tsan_acquire(void*);
void __tsan_release(void*);
void AnnotateIgnoreReadsBegin(const char*, int);
void AnnotateIgnoreReadsEnd(const char*, int);
void AnnotateIgnoreWritesBegin(const char*, int);
void AnnotateIgnoreWritesEnd(const char*, int);
}
#endif

namespace convscope::emulated::executor {

namespace asan {
#if defined(__SANITIZE_ADDRESS__)
inline void poison(const void* data, size_t bytes) {
  __asan_poison_memory_region(data, bytes);
}
inline void unpoison(const void* data, size_t bytes) {
  __asan_unpoison_memory_region(data, bytes);
}
inline void start_switch(void** fake_stack, const void* to_stack, size_t to_bytes) {
  __sanitizer_start_switch_fiber(fake_stack, to_stack, to_bytes);
}
inline void finish_switch(void* fake_stack, const void** from_stack, size_t* from_bytes) {
  __sanitizer_finish_switch_fiber(fake_stack, from_stack, from_bytes);
}
#else
inline void poison(const void*, size_t) {}
inline void unpoison(const void*, size_t) {}
inline void start_switch(void**, const void*, size_t) {}
inline void finish_switch(void*, const void**, size_t*) {}
#endif
}  // namespace asan

namespace tsan {
#if defined(CONVSCOPE_EMULATOR_TSAN)
inline constexpr bool kActive = true;
inline void* create_fiber() {
  return __tsan_create_fiber(0);
}
inline void name_fiber(void* fiber, const char* name) {
  __tsan_set_fiber_name(fiber, name);
}
inline void destroy_fiber(void* fiber) {
  __tsan_destroy_fiber(fiber);
}
inline void* current_fiber() {
  return __tsan_get_current_fiber();
}
// Without an order between the two fibers.
inline void switch_to(void* fiber) {
  __tsan_switch_to_fiber(fiber, 1);
}
// What this fiber did is before what that one does.
inline void switch_in_order(void* fiber) {
  __tsan_switch_to_fiber(fiber, 0);
}
inline void acquire(void* object) {
  __tsan_acquire(object);
}
inline void release(void* object) {
  __tsan_release(object);
}

// Hides the executor's own memmove, new and delete, which are intercepted even in files compiled without
// -fsanitize.
class Unwatched {
 public:
  Unwatched() {
    AnnotateIgnoreReadsBegin("", 0);
    AnnotateIgnoreWritesBegin("", 0);
  }
  ~Unwatched() {
    AnnotateIgnoreReadsEnd("", 0);
    AnnotateIgnoreWritesEnd("", 0);
  }
};
#else
inline constexpr bool kActive = false;
inline void* create_fiber() {
  return nullptr;
}
inline void name_fiber(void*, const char*) {}
inline void destroy_fiber(void*) {}
inline void* current_fiber() {
  return nullptr;
}
inline void switch_to(void*) {}
inline void switch_in_order(void*) {}
inline void acquire(void*) {}
inline void release(void*) {}
struct Unwatched {
  Unwatched() {}
};
#endif

// One phase of a barrier: whoever leaves has seen what everybody did before they arrived.
struct Phase {
  unsigned inside = 0;
};
inline Phase* arrive(Phase*& phase) {
  if constexpr (!kActive) return nullptr;
  if (phase == nullptr) phase = new Phase;
  ++phase->inside;
  release(phase);
  return phase;
}
inline void leave(Phase* phase) {
  if (phase == nullptr) return;
  acquire(phase);
  if (--phase->inside == 0) delete phase;
}
}  // namespace tsan

}  // namespace convscope::emulated::executor
