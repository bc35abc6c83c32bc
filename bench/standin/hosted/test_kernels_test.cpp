// The kernels of test_kernels.cu as functions of the host.
#include "bench/standin/test_kernels.hpp"

#include <atomic>
#include <thread>

#include "bench/standin/kernels.hpp"

namespace convscope::standin {
namespace {

// `function` is any address that is the kernel's own.
void launch(const void* function, const char* name, HostLaunch work, cudaStream_t stream) {
  register_host_kernel(function, name);
  void* arguments[] = {&work};
  cudaLaunchKernel(function, 1, 1, arguments, 0, stream);
}

}  // namespace

void fill(float* to, float value, int count, cudaStream_t stream) {
  const auto run = [=] {
    for (int i = 0; i < count; ++i) to[i] = value;
    return std::string();
  };
  launch(reinterpret_cast<const void*>(fill), "fill", {.pointers = {to}, .run = run}, stream);
}

void add(float* to, const float* from, int count, cudaStream_t stream) {
  const auto run = [=] {
    for (int i = 0; i < count; ++i) to[i] += from[i];
    return std::string();
  };
  launch(reinterpret_cast<const void*>(add), "add", {.pointers = {to, from}, .run = run}, stream);
}

void wait_for_host(const int* released, cudaStream_t stream) {
  const auto run = [=] {
    while (std::atomic_ref(*const_cast<int*>(released)).load() == 0) std::this_thread::yield();
    return std::string();
  };
  launch(reinterpret_cast<const void*>(wait_for_host), "wait",
         {.pointers = {released}, .run = run, .waits_for_host = true}, stream);
}

}  // namespace convscope::standin
