// DeviceComparison: the comparison of a result on the device that computed it, so that no tensor is copied:
// what Expectation::compare, Trial's second run and its check of the read tensors do with each element. Only
// the findings come back. A result with a fault is downloaded and compared on the host, which describes the
// fault. The kernels are in device_comparison.cu and run on the emulator too.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "bench/device/buffer.hpp"
#include "bench/device/builds.hpp"
#include "bench/verify/expectation.hpp"
#include "bench/verify/trial.hpp"

namespace convscope {

// The arguments of one pass over a result. Tensors are in device memory, in the storage type of the math
// mode.
struct ComparisonArgs {
  const void* written = nullptr;
  const float* expected = nullptr;
  const float* magnitudes = nullptr;  // not read where the bounds have one for all
  const void* earlier = nullptr;      // another result that it must repeat, or null
  void* copy = nullptr;               // gets the result, or null
  ErrorBounds bounds;
  int64_t count = 0;
  Findings* partial = nullptr;  // one per block
};

CONVSCOPE_IN_BOTH(
    void enqueue_comparison(const ComparisonArgs& args, DataType storage, unsigned blocks, Queue& queue);
    // Finds the first element whose bits differ: `partial`, one a block, as Findings::first_difference.
    void enqueue_bit_comparison(const void* now, const void* before, DataType storage, int64_t count,
                                Findings* partial, unsigned blocks, Queue& queue);
    void enqueue_copy(void* to, const void* from, DataType storage, int64_t count, unsigned blocks,
                      Queue& queue);)

// One problem on one kind of data, uploaded once for all its candidates.
class DeviceComparison {
 public:
  static constexpr unsigned kMaxBlocks = 1024;

  // For an expectation that has every output. Throws DeviceError, and std::bad_alloc where the device's
  // memory does not hold the tensors that are read, two values an output and one more result.
  DeviceComparison(const ConvProblem& problem, DataKind kind, const Expectation& expectation,
                   const ReadTensors& read, Device& device);

  const Device& device() const { return device_; }
  // Enqueues the copy of a tensor that the pass reads.
  void copy_original(Role role, void* to, Queue& queue) const;
  // The first element of a read tensor that is not what it was, as its offset.
  std::optional<int64_t> first_change(Role role, const void* now, Queue& queue);
  // Judges a result, and keeps it as the first one of the plan.
  Findings judge_first(const void* written, const ErrorBounds& bounds, Queue& queue);
  // Judges a result, also by whether it repeats the first one.
  Findings judge_repeated(const void* written, const ErrorBounds& bounds, Queue& queue);
  // The result that was judged first.
  std::vector<float> first_result() const;

 private:
  // Of a tensor.
  int64_t elements(const Buffer& buffer) const {
    return static_cast<int64_t>(buffer.bytes()) / bytes_per_element(storage_);
  }
  Findings judge(ComparisonArgs args, Queue& queue);
  // Waits for the queue and adds up what the blocks found. Throws DeviceError where they looked at fewer.
  Findings collect(unsigned blocks, int64_t count, Queue& queue) const;

  DataType storage_;
  Device& device_;
  std::array<Buffer, 3> originals_;  // by role; the written one is empty
  Buffer expected_, magnitudes_, first_result_, partial_;
};

}  // namespace convscope
