// Launches: checked as the hardware would, loaded as lazy loading does, run on the stream's thread.
#include <cuda_runtime_api.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>

#include "bench/ptx/run.hpp"
#include "bench/standin/configuration.hpp"
#include "bench/standin/devices.hpp"
#include "bench/standin/kernels.hpp"
#include "bench/standin/memory.hpp"
#include "bench/standin/report.hpp"
#include "bench/standin/stream.hpp"

namespace convscope::standin {
namespace {

struct Loaded {
  std::mutex mutex;
  std::set<std::pair<const void*, int>> kernels;  // of a device
  std::map<const void*, size_t> shared_allowed;
};

Loaded& loaded() {
  static auto* l = new Loaded;
  return *l;
}

// A rough rate: virtual time measures nothing.
constexpr ptx::u64 kInstructionsPerNanosecond = 128;

void say(const char* kind, const std::string& what) {
  std::fprintf(stderr, "standin: %s: %s\n", kind, what.c_str());
}

void warn(const ptx::Warning& warning) {
  static std::mutex mutex;
  static auto* said = new std::set<std::string>;
  const std::lock_guard lock(mutex);
  constexpr size_t kMaxWarnings = 200;
  if (said->size() < kMaxWarnings && said->insert(warning.place + warning.what.substr(0, 24)).second)
    say("warning", fmt::format("{}: {} at {}", warning.thread, warning.what, warning.place));
}

const ptx::Options& interpreter_options() {
  static const auto* options = [] {
    auto* made = new ptx::Options(configuration().interpreter);
    made->warn = warn;
    return made;
  }();
  return *options;
}

bool is_skipped(const std::string& name) {
  const auto& skipped = configuration().skipped;
  return std::any_of(skipped.begin(), skipped.end(),
                     [&](const std::string& part) { return name.find(part) != std::string::npos; });
}

[[noreturn]] void hang() {
  for (;;) pause();
}

// On the stream's thread. `run` takes the time at which the kernel begins, returns the one at which it ends,
// and throws what ends the context.
Nanoseconds execute(const std::string& name, Nanoseconds begin,
                    const std::function<Nanoseconds(Nanoseconds)>& run) {
  if (is_lost()) return begin;
  if (const Fault* fault = scripted_launch(name)) {
    if (fault->hangs) hang();
    lose_device(fault->error);
    return begin;
  }
  if (is_skipped(name)) return begin + configuration().launch_nanoseconds;
  try {
    return run(begin);
  } catch (const std::exception& error) {
    say("fault", error.what());
    lose_device(cudaErrorLaunchFailure);
    return begin;
  }
}

Nanoseconds interpret(const std::string& name, const ptx::Launch& work, Nanoseconds begin) {
  const Nanoseconds host_begin = host_time();
  const ptx::Statistics done = ptx::run(work, interpreter_options());
  note_run(name, work, done, host_time() - host_begin);
  const Nanoseconds waited = done.waited_for_host ? host_time() : 0;
  return std::max(begin + configuration().launch_nanoseconds, waited) +
         static_cast<Nanoseconds>(done.warp_instructions / kInstructionsPerNanosecond);
}

Nanoseconds run_on_host(const std::string& name, const HostLaunch& work, int device, Nanoseconds begin) {
  for (const void* pointer : work.pointers) {
    const auto address = reinterpret_cast<ptx::u64>(pointer);
    if (pointer != nullptr && allocation_around(device, address).end == 0)
      throw std::runtime_error(
          fmt::format("{}: an argument points to {}, {}", name, pointer, describe_address(device, address)));
  }
  // Their static shared memory is shared by all threads of the process.
  static std::mutex one_at_a_time;
  std::unique_lock lock(one_at_a_time, std::defer_lock);
  if (!work.waits_for_host) lock.lock();
  if (const std::string fault = work.run(); !fault.empty()) throw std::runtime_error(name + ": " + fault);
  return std::max(begin + configuration().launch_nanoseconds, work.waits_for_host ? host_time() : 0);
}

bool fits_a_grid(dim3 grid, dim3 block) {
  const size_t threads = size_t{block.x} * block.y * block.z;
  return grid.x > 0 && grid.y > 0 && grid.z > 0 && grid.x <= 0x7fffffffu && grid.y <= 65535 &&
         grid.z <= 65535 && threads > 0 && threads <= 1024 && block.z <= 64;
}

std::shared_ptr<ptx::Launch> make_work(const ptx::Kernel& kernel, dim3 grid, dim3 block, void** arguments,
                                       size_t shared, int device) {
  auto work = std::make_shared<ptx::Launch>();
  work->kernel = &kernel;
  work->grid = {grid.x, grid.y, grid.z};
  work->block = {block.x, block.y, block.z};
  work->dynamic_shared = static_cast<ptx::u32>(shared);
  work->parameters.resize(kernel.parameter_bytes);
  for (size_t n = 0; n < kernel.parameters.size(); ++n)
    std::memcpy(work->parameters.data() + kernel.parameters[n].offset, arguments[n],
                kernel.parameters[n].size);
  work->allocation = [device](ptx::u64 address) { return allocation_around(device, address); };
  work->describe = [device](ptx::u64 address) { return describe_address(device, address); };
  return work;
}

// For a kernel of nvcc: sets `run`, or returns why it cannot be launched.
cudaError_t interpreted(const std::string& name, dim3 grid, dim3 block, void** arguments, size_t shared,
                        int device, std::function<Nanoseconds(Nanoseconds)>& run) {
  const ptx::Kernel* kernel = nullptr;
  try {
    kernel = &parsed_kernel(name);
  } catch (const std::exception& error) {
    say("fault", error.what());
    return cudaErrorNoKernelImageForDevice;
  }
  if (kernel->static_shared - ptx::kSharedStart + shared > kSharedPerBlock ||
      (kernel->max_threads != 0 && size_t{block.x} * block.y * block.z > kernel->max_threads))
    return cudaErrorInvalidConfiguration;
  run = [name, work = make_work(*kernel, grid, block, arguments, shared, device)](Nanoseconds begin) {
    return interpret(name, *work, begin);
  };
  return cudaSuccess;
}

// The first launch of a kernel loads it, which waits for an idle device.
void load(const void* function, int device) {
  {
    const std::lock_guard lock(loaded().mutex);
    if (!loaded().kernels.emplace(function, device).second) return;
  }
  if (configuration().lazy_loading) wait_for_device(device);
}

void allow_shared(const void* function, size_t bytes) {
  const std::lock_guard lock(loaded().mutex);
  loaded().shared_allowed[function] = bytes;
}

cudaError_t launch(const void* function, dim3 grid, dim3 block, void** arguments, size_t shared,
                   cudaStream_t stream, int device) {
  const std::string* name = kernel_name(function);
  if (name == nullptr) return cudaErrorInvalidDeviceFunction;
  if (is_lost()) return cudaSuccess;  // result() says which error
  if (!fits_a_grid(grid, block)) return cudaErrorInvalidConfiguration;
  {
    const std::lock_guard lock(loaded().mutex);
    if (shared > std::max(kSharedAlways, loaded().shared_allowed[function])) return cudaErrorInvalidValue;
  }
  load(function, device);
  std::function<Nanoseconds(Nanoseconds)> run;
  if (is_host_kernel(function))
    run = [name = *name, work = *static_cast<const HostLaunch*>(arguments[0]), device](Nanoseconds begin) {
      return run_on_host(name, work, device, begin);
    };
  else if (const cudaError_t error = interpreted(*name, grid, block, arguments, shared, device, run);
           error != cudaSuccess)
    return error;
  stream_or_default(stream, device).push([name = *name, run = std::move(run)](Nanoseconds begin) {
    return execute(name, begin, run);
  });
  return cudaSuccess;
}

cudaError_t launch_here(const void* function, dim3 grid, dim3 block, void** arguments, size_t shared,
                        cudaStream_t stream, const char* call) {
  return result(launch(function, grid, block, arguments, shared, stream, current_device()), call);
}

}  // namespace
}  // namespace convscope::standin

using namespace convscope::standin;

extern "C" {

cudaError_t cudaLaunchKernel(const void* function, dim3 grid, dim3 block, void** arguments, size_t shared,
                             cudaStream_t stream) {
  return launch_here(function, grid, block, arguments, shared, stream, __func__);
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* function, void** arguments) {
  return launch_here(function, config->gridDim, config->blockDim, arguments, config->dynamicSmemBytes,
                     config->stream, __func__);
}

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* function) {
  std::memset(attributes, 0, sizeof *attributes);
  const std::string* name = kernel_name(function);
  if (name == nullptr) return result(cudaErrorInvalidDeviceFunction, __func__);
  load(function, current_device());
  if (!is_host_kernel(function)) try {
      attributes->sharedSizeBytes = parsed_kernel(*name).static_shared - convscope::ptx::kSharedStart;
    } catch (const std::exception& error) {
      say("fault", error.what());
      return result(cudaErrorNoKernelImageForDevice, __func__);
    }
  return result(cudaSuccess, __func__);
}

cudaError_t cudaFuncSetAttribute(const void* function, cudaFuncAttribute attribute, int value) {
  if (kernel_name(function) == nullptr) return result(cudaErrorInvalidDeviceFunction, __func__);
  load(function, current_device());
  if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize) return result(cudaSuccess, __func__);
  if (value < 0 || static_cast<size_t>(value) > kSharedPerBlock)
    return result(cudaErrorInvalidValue, __func__);
  allow_shared(function, static_cast<size_t>(value));
  return result(cudaSuccess, __func__);
}

// Works after the device is lost, too.
cudaError_t cudaFuncGetName(const char** name, const void* function) {
  const std::string* found = kernel_name(function);
  if (found == nullptr) return cudaErrorInvalidDeviceFunction;
  *name = found->c_str();
  return cudaSuccess;
}

}  // extern "C"
