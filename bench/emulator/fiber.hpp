// A thread of the GPU on the CPU: a stack and the switch between two of them. Not here: who runs when
// (block_runner.hpp).
#pragma once

#include <cstddef>

namespace convscope::emulated::executor {

// Where a suspended fiber goes on. On x86-64 nine instructions save the registers that calls preserve;
// elsewhere (or with CONVSCOPE_EMULATOR_UCONTEXT) it is ucontext, about twenty times slower.
class Context {
 public:
  Context() = default;
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;
  ~Context();  // NOLINT(performance-trivially-destructible): with ucontext it deletes
  // The first switch to it calls entry() on that stack, which must never return.
  void start(unsigned char* stack, size_t bytes, void (*entry)());
  static void swap(Context& from, Context& to);

 private:
  void* state_ = nullptr;
};

// Memory for one fiber, touched on demand. Below it, except under the thread sanitizer, lies a page without
// access. Throws std::bad_alloc.
class Stack {
 public:
#if defined(CONVSCOPE_EMULATOR_TSAN)
  // The thread sanitizer touches shadow memory for all of it.
  static constexpr size_t kBytes = size_t{32} << 10;
#else
  static constexpr size_t kBytes = size_t{256} << 10;
#endif
  Stack();
  Stack(const Stack&) = delete;
  Stack& operator=(const Stack&) = delete;
  ~Stack();
  unsigned char* data() const {
    return data_;
  }

 private:
  unsigned char* data_ = nullptr;
};

}  // namespace convscope::emulated::executor
