#include "bench/emulator/fiber.hpp"

#include <sys/mman.h>

#include <new>

#include "bench/emulator/sanitizers.hpp"

#if !defined(__x86_64__) || defined(CONVSCOPE_EMULATOR_UCONTEXT)
#include <ucontext.h>
#endif

namespace convscope::emulated::executor {

#if defined(__x86_64__) && !defined(CONVSCOPE_EMULATOR_UCONTEXT)

extern "C" void convscope_switch_stack(void** save, void* load);
asm(R"(
.text
.type convscope_switch_stack,@function
convscope_switch_stack:
  pushq %rbp; pushq %rbx; pushq %r12; pushq %r13; pushq %r14; pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15; popq %r14; popq %r13; popq %r12; popq %rbx; popq %rbp
  ret
.size convscope_switch_stack,.-convscope_switch_stack
)");

Context::~Context() = default;

void Context::start(unsigned char* stack, size_t bytes, void (*entry)()) {
  void** top = reinterpret_cast<void**>(stack + bytes);
  *--top = nullptr;  // the stack pointer is 8 mod 16 at entry, as after a call
  *--top = reinterpret_cast<void*>(entry);
  for (int saved = 0; saved < 6; ++saved) *--top = nullptr;
  state_ = top;
}

void Context::swap(Context& from, Context& to) {
  convscope_switch_stack(&from.state_, to.state_);
}

#else

Context::~Context() {
  delete static_cast<ucontext_t*>(state_);
}

void Context::start(unsigned char* stack, size_t bytes, void (*entry)()) {
  if (state_ == nullptr) state_ = new ucontext_t;
  auto* context = static_cast<ucontext_t*>(state_);
  getcontext(context);
  context->uc_stack.ss_sp = stack;
  context->uc_stack.ss_size = bytes;
  context->uc_link = nullptr;
  makecontext(context, entry, 0);
}

void Context::swap(Context& from, Context& to) {
  if (from.state_ == nullptr) from.state_ = new ucontext_t;
  swapcontext(static_cast<ucontext_t*>(from.state_), static_cast<ucontext_t*>(to.state_));
}

#endif

namespace {
#if defined(CONVSCOPE_EMULATOR_TSAN)
// None: thousands of stacks live there, and a page below each would need more mappings than a process may
// have.
constexpr size_t kGuardPage = 0;
#else
constexpr size_t kGuardPage = 65536;  // a page on every processor
#endif
}  // namespace

Stack::Stack() {
  void* base = mmap(nullptr, kGuardPage + kBytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) throw std::bad_alloc();
  // It fails where the process has as many mappings as it may.
  if (kGuardPage != 0 && mprotect(base, kGuardPage, PROT_NONE) != 0) {
    munmap(base, kGuardPage + kBytes);
    throw std::bad_alloc();
  }
  data_ = static_cast<unsigned char*>(base) + kGuardPage;
}

Stack::~Stack() {
  asan::unpoison(data_, kBytes);
  munmap(data_ - kGuardPage, kGuardPage + kBytes);
}

}  // namespace convscope::emulated::executor
