// The stand-in as a program sees it. Each test plays in a process of its own, with settings of its own.
#include <cuda_runtime_api.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <string>
#include <thread>

#include "bench/standin/configuration.hpp"
#include "bench/standin/test_kernels.hpp"

#if defined(__SANITIZE_THREAD__)
// A race ends the process of its test; what that writes is only seen when it ends otherwise than it should.
extern "C" const char* __tsan_default_options() {
  return "halt_on_error=1";
}
#endif

namespace convscope::standin {
namespace {

#if defined(CONVSCOPE_HAS_CUDA)
constexpr bool kHasNvcc = true;
#else
constexpr bool kHasNvcc = false;
#endif

#if defined(__SANITIZE_ADDRESS__)
constexpr bool kHasAddressSanitizer = true;
#else
constexpr bool kHasAddressSanitizer = false;
#endif

constexpr int kCount = 100;
constexpr size_t kBytes = kCount * sizeof(float);

// The exit code of `play` under these settings; what it writes to stderr must contain `words`.
void expect_code(const std::string& settings, int code, const std::string& words,
                 const std::function<int()>& play) {
  EXPECT_EXIT(
      {
        const std::string file = "/tmp/standin_test." + std::to_string(getpid());
        std::ofstream(file) << settings;
        setenv("CONVSCOPE_STANDIN", file.c_str(), 1);
        configuration();
        unlink(file.c_str());
        const int result = play();
        std::fflush(stderr);
        std::_Exit(result);
      },
      ::testing::ExitedWithCode(code), words);
}

float* device_floats() {
  void* data = nullptr;
  return cudaMalloc(&data, kBytes) == cudaSuccess ? static_cast<float*>(data) : nullptr;
}

cudaStream_t new_stream() {
  cudaStream_t stream = nullptr;
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  return stream;
}

float last_of(const float* data) {
  float value = -1;
  cudaMemcpy(&value, data + kCount - 1, sizeof value, cudaMemcpyDeviceToHost);
  return value;
}

constexpr int kLost = 9;  // of a play whose device is lost: codes of the runtime do not fit

constexpr const char* kHeld = R"({"held": true})";

TEST(Standin, RunsKernelsInTheOrderOfTheirStream) {
  expect_code("{}", 7, "", [] {
    float* data = device_floats();
    const cudaStream_t stream = new_stream();
    fill(data, 3, kCount, stream);
    fill(data, 7, kCount, stream);
    if (cudaStreamSynchronize(stream) != cudaSuccess) return 1;
    return static_cast<int>(last_of(data));
  });
}

TEST(Standin, AMissingSynchronisationShowsAsNan) {
  const auto play = [](bool waits) {
    return [waits] {
      float* data = device_floats();
      const cudaStream_t stream = new_stream();
      fill(data, 3, kCount, stream);
      if (waits) cudaStreamSynchronize(stream);
      return std::isnan(last_of(data)) ? 1 : 0;
    };
  };
  expect_code(kHeld, 1, "", play(false));
  expect_code(kHeld, 0, "", play(true));
}

TEST(Standin, WorkOnTheWrongStreamShowsAsNan) {
  const auto play = [](bool ordered) {
    return [ordered] {
      float *a = device_floats(), *b = device_floats();
      const cudaStream_t first = new_stream(), second = new_stream();
      cudaEvent_t event = nullptr;
      cudaEventCreate(&event);
      fill(b, 1, kCount, second);
      cudaStreamSynchronize(second);
      fill(a, 3, kCount, first);
      cudaEventRecord(event, first);
      if (ordered) cudaStreamWaitEvent(second, event, 0);
      add(b, a, kCount, second);
      cudaStreamSynchronize(second);
      const float sum = last_of(b);
      cudaStreamSynchronize(first);
      return std::isnan(sum) ? 1 : static_cast<int>(sum);
    };
  };
  expect_code(R"({"held": true, "lazy_loading": false})", 1, "", play(false));
  expect_code(R"({"held": true, "lazy_loading": false})", 4, "", play(true));
}

#if defined(__SANITIZE_THREAD__)
TEST(Standin, TwoStreamsThatWriteTheSameMemoryInNoOrderAreARace) {
  constexpr int kRace = 66;  // the thread sanitizer's exit code
  expect_code("{}", kRace, "data race", [] {
    static std::atomic<int> arrived{0};
    static int written = 0;
    const auto write = [](void*) {
      arrived.fetch_add(1, std::memory_order_relaxed);
      while (arrived.load(std::memory_order_relaxed) < 2) std::this_thread::yield();
      ++written;
    };
    const cudaStream_t first = new_stream(), second = new_stream();
    cudaLaunchHostFunc(first, write, nullptr);
    cudaLaunchHostFunc(second, write, nullptr);
    cudaStreamSynchronize(first);
    cudaStreamSynchronize(second);
    return written;
  });
}
#endif

TEST(Standin, AWorkspaceThatIsFreedTooEarlyEndsTheRun) {
  expect_code("{}", kLost, "in an allocation of 400 bytes that was freed", [] {
    float *a = device_floats(), *workspace = device_floats();
    const cudaStream_t stream = new_stream();
    fill(a, 1, kCount, stream);
    cudaFree(workspace);
    add(a, workspace, kCount, stream);
    return cudaStreamSynchronize(stream) == cudaErrorLaunchFailure ? kLost : 0;
  });
  // Work that was enqueued before, where cudaFree does not wait for it.
  expect_code(R"({"held": true, "free_waits": false})", kLost, "that was freed", [] {
    float* workspace = device_floats();
    const cudaStream_t stream = new_stream();
    fill(workspace, 1, kCount, stream);
    cudaFree(workspace);
    return cudaStreamSynchronize(stream) == cudaErrorLaunchFailure ? kLost : 0;
  });
}

// The interpreter sees it; where the kernels are the host's, the address sanitizer does.
TEST(Standin, AccessesBeyondAnAllocationEndTheRun) {
  if (!kHasNvcc && !kHasAddressSanitizer) GTEST_SKIP() << "this build has no nvcc and no address sanitizer";
  const int code = kHasNvcc ? kLost : 1;
  expect_code("{}", code, kHasNvcc ? "which is in no allocation" : "use-after-poison", [] {
    const cudaStream_t stream = new_stream();
    fill(device_floats(), 1, kCount + 1, stream);
    return cudaStreamSynchronize(stream) == cudaErrorLaunchFailure ? kLost : 0;
  });
}

TEST(Standin, AnErrorOfAKernelStays) {
  expect_code(R"({"faults": [{"kernel": "fill", "at": 2, "error": 700}]})", 0, "", [] {
    float* data = device_floats();
    const cudaStream_t stream = new_stream();
    fill(data, 1, kCount, stream);
    if (cudaStreamSynchronize(stream) != cudaSuccess) return 1;
    fill(data, 1, kCount, stream);
    if (cudaStreamSynchronize(stream) != cudaErrorIllegalAddress) return 2;
    void* more = nullptr;
    return cudaMalloc(&more, 1) == cudaErrorIllegalAddress && cudaGetLastError() == cudaErrorIllegalAddress
               ? 0
               : 3;
  });
}

TEST(Standin, AScriptedErrorOfACallComesOnce) {
  expect_code(R"({"faults": [{"call": "cudaEventCreate", "at": 2, "error": 46}]})", 0, "", [] {
    cudaEvent_t event = nullptr;
    if (cudaEventCreate(&event) != cudaSuccess) return 1;
    if (cudaEventCreate(&event) != cudaErrorDevicesUnavailable) return 2;
    if (cudaGetLastError() != cudaErrorDevicesUnavailable) return 3;
    return cudaEventCreate(&event) == cudaSuccess && cudaGetLastError() == cudaSuccess ? 0 : 4;
  });
}

TEST(Standin, MemoryEndsWhereTheDeviceHasNoMore) {
  expect_code(R"({"memory_bytes": 1000})", 0, "", [] {
    if (device_floats() == nullptr || device_floats() == nullptr) return 1;
    size_t free = 0, total = 0;
    cudaMemGetInfo(&free, &total);
    if (free != 200 || total != 1000) return 2;
    return device_floats() == nullptr && cudaGetLastError() == cudaErrorMemoryAllocation ? 0 : 3;
  });
}

TEST(Standin, TheFirstLaunchOfAKernelWaitsForAnIdleDeviceAndLaterOnesDoNot) {
  // Ends when the flag is set, which the thread does a while after.
  const auto play = [](bool loaded_before) {
    return [loaded_before] {
      float* data = device_floats();
      const cudaStream_t busy = new_stream(), other = new_stream();
      if (loaded_before) fill(data, 1, kCount, other);
      cudaStreamSynchronize(other);
      static std::atomic<int> released{0};
      cudaLaunchHostFunc(
          busy,
          [](void*) {
            while (released == 0) std::this_thread::yield();
          },
          nullptr);
      std::thread releasing([] {
        std::this_thread::sleep_for(std::chrono::milliseconds(200));
        released = 1;
      });
      fill(data, 2, kCount, other);
      const int already = released;
      releasing.join();
      cudaStreamSynchronize(busy);
      return already;
    };
  };
  expect_code("{}", 1, "", play(false));
  expect_code("{}", 0, "", play(true));
  expect_code(R"({"lazy_loading": false})", 0, "", play(false));
}

TEST(Standin, AFullQueueHoldsTheHostUp) {
  expect_code(R"({"queue_entries": 4})", 1, "", [] {
    const cudaStream_t stream = new_stream();
    static std::atomic<int> released{0};
    cudaLaunchHostFunc(
        stream,
        [](void*) {
          while (released == 0) std::this_thread::yield();
        },
        nullptr);
    std::thread releasing([] {
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
      released = 1;
    });
    float* data = device_floats();
    for (int n = 0; n < 4; ++n) cudaMemsetAsync(data, 0, kBytes, stream);
    const int already = released;
    releasing.join();
    return already;
  });
}

TEST(Standin, AKernelThatSpinsSeesWhatTheHostWrites) {
  expect_code("{}", 0, "", [] {
    void* memory = nullptr;
    cudaHostAlloc(&memory, sizeof(int), cudaHostAllocMapped);
    auto* released = static_cast<int*>(memory);
    *released = 0;
    const cudaStream_t stream = new_stream();
    wait_for_host(released, stream);
    if (cudaStreamQuery(stream) != cudaErrorNotReady) return 1;
    std::atomic_ref(*released).store(1);
    return static_cast<int>(cudaStreamSynchronize(stream));
  });
}

TEST(Standin, AnEventThatIsCreatedWhileTheDeviceWorksIsAnErrorWhereThatIsAskedFor) {
  const auto play = [] {
    void* memory = nullptr;
    cudaHostAlloc(&memory, sizeof(int), cudaHostAllocMapped);
    auto* released = static_cast<int*>(memory);
    *released = 0;
    const cudaStream_t stream = new_stream();
    cudaEvent_t event = nullptr;
    if (cudaEventCreate(&event) != cudaSuccess) return 1;
    wait_for_host(released, stream);
    const cudaError_t busy = cudaEventCreate(&event);
    std::atomic_ref(*released).store(1);
    cudaStreamSynchronize(stream);
    if (cudaEventCreate(&event) != cudaSuccess) return 2;
    return busy == cudaSuccess ? 3 : static_cast<int>(busy != cudaErrorNotReady);
  };
  expect_code(R"({"events_need_idle": true})", 0, "", play);
  expect_code("{}", 3, "", play);
}

TEST(Standin, EventsReadTheStreamsClock) {
  expect_code("{}", 0, "", [] {
    const cudaStream_t stream = new_stream();
    cudaEvent_t begin = nullptr, end = nullptr;
    cudaEventCreate(&begin);
    cudaEventCreate(&end);
    cudaEventRecord(begin, stream);
    fill(device_floats(), 1, kCount, stream);
    cudaEventRecord(end, stream);
    if (cudaEventSynchronize(end) != cudaSuccess) return 1;
    float milliseconds = -1;
    if (cudaEventElapsedTime(&milliseconds, begin, end) != cudaSuccess) return 2;
    return milliseconds > 0.001f && milliseconds < 60000 ? 0 : 3;
  });
}

TEST(Standin, ADeviceMayNotUseTheMemoryOfAnother) {
  expect_code(R"({"devices": 2})", kLost, "in memory of device 0", [] {
    int count = 0;
    if (cudaGetDeviceCount(&count) != cudaSuccess || count != 2) return 1;
    float* data = device_floats();
    cudaSetDevice(1);
    const cudaStream_t stream = new_stream();
    fill(data, 1, kCount, stream);
    return cudaStreamSynchronize(stream) == cudaErrorLaunchFailure ? kLost : 0;
  });
}

TEST(Standin, WithoutADriverOrADeviceThereIsNone) {
  const auto play = [] {
    int count = 5;
    const auto error = cudaGetDeviceCount(&count);
    return count == 0 ? static_cast<int>(error) : 1;
  };
  expect_code(R"({"driver": 0})", cudaErrorInsufficientDriver, "", play);
  expect_code(R"({"driver": 11080})", cudaErrorInsufficientDriver, "", play);
  expect_code(R"({"devices": 0})", cudaErrorNoDevice, "", play);
}

TEST(Configuration, SaysThatItsFileCannotBeOpened) {
  EXPECT_EXIT(
      {
        setenv("CONVSCOPE_STANDIN", "/nowhere/settings.json", 1);
        configuration();
      },
      ::testing::ExitedWithCode(2), "/nowhere/settings.json: cannot be opened");
}

TEST(Configuration, RefusesWhatItDoesNotKnow) {
  EXPECT_ANY_THROW(parse_configuration(R"({"colour": 1})"));
  EXPECT_ANY_THROW(parse_configuration(R"({"order": "sideways"})"));
  EXPECT_ANY_THROW(parse_configuration(R"({"faults": [{"error": 700}]})"));
  EXPECT_ANY_THROW(parse_configuration(R"({"faults": [{"kernel": "a", "call": "b"}]})"));
  EXPECT_ANY_THROW(parse_configuration("no JSON"));
  const Configuration c =
      parse_configuration(R"({"order": "random", "copies": "early", "tensor_sums": "truncated"})");
  EXPECT_EQ(c.interpreter.order, ptx::Order::random);
  EXPECT_FALSE(c.interpreter.late);
  EXPECT_TRUE(c.interpreter.truncate);
}

}  // namespace
}  // namespace convscope::standin
