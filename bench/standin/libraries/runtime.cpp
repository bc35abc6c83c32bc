#include "bench/standin/libraries/runtime.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

namespace convscope::standin {
namespace {

constexpr size_t kScribbled = size_t{64} << 10;
constexpr int kGarbage = 0xff;  // NaN in every floating-point format

template <typename Function>
Function* in_program(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
}

void call_and_delete(void* work) {
  const std::unique_ptr<std::function<void()>> owned(static_cast<std::function<void()>*>(work));
  (*owned)();
}

}  // namespace

cudaError_t enqueue(cudaStream_t stream, std::function<void()> work) {
  const auto launch = in_program<decltype(cudaLaunchHostFunc)>("cudaLaunchHostFunc");
  if (launch == nullptr) {
    work();
    return cudaSuccess;
  }
  auto owned = std::make_unique<std::function<void()>>(std::move(work));
  const cudaError_t code = launch(stream, call_and_delete, owned.get());
  if (code == cudaSuccess) owned.release();
  return code;
}

void load_kernels(const void* key) {
  static std::mutex mutex;
  static std::set<const void*> loaded;
  {
    const std::lock_guard lock(mutex);
    if (!loaded.insert(key).second) return;
  }
  if (const auto wait = in_program<decltype(cudaDeviceSynchronize)>("cudaDeviceSynchronize")) wait();
}

cudaError_t device_error() {
  const auto count_devices = in_program<decltype(cudaGetDeviceCount)>("cudaGetDeviceCount");
  int devices = 1;
  const cudaError_t code = count_devices == nullptr ? cudaSuccess : count_devices(&devices);
  return code == cudaSuccess && devices == 0 ? cudaErrorNoDevice : code;
}

void lose_the_device(int code) {
  if (const auto lose = in_program<void(int)>("convscope_standin_lose_device")) lose(code);
}

void scribble(void* workspace, size_t bytes) {
  const size_t part = std::min(bytes, kScribbled);
  if (part == 0) return;
  std::memset(workspace, kGarbage, part);
  std::memset(static_cast<char*>(workspace) + bytes - part, kGarbage, part);
}

void take(double seconds) {
  if (const auto advance = in_program<void(double)>("convscope_standin_advance"))
    advance(seconds);
  else if (seconds > 0)
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

}  // namespace convscope::standin
