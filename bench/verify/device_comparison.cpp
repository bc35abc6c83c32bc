#include "bench/verify/device_comparison.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "bench/device/device_error.hpp"
#include "bench/device/values.hpp"
#include "bench/verify/tensor_data.hpp"

namespace convscope {
namespace {

// Elements per block, up to kMaxBlocks blocks.
constexpr int64_t kElementsPerBlock = 1024;

unsigned blocks_for(int64_t count) {
  constexpr int64_t max = DeviceComparison::kMaxBlocks;
  return static_cast<unsigned>(std::clamp<int64_t>(count / kElementsPerBlock, 1, max));
}

Buffer uploaded(Device& device, std::span<const float> values, DataType storage) {
  Buffer buffer(device, values.size() * static_cast<size_t>(bytes_per_element(storage)));
  upload_values(buffer, storage, values);
  return buffer;
}

}  // namespace

DeviceComparison::DeviceComparison(const ConvProblem& problem, DataKind kind, const Expectation& expectation,
                                   const ReadTensors& read, Device& device)
    : storage_(storage_type(problem.math)),
      device_(device),
      first_result_(device, static_cast<size_t>(problem.bytes(written_role(problem.pass)))),
      partial_(device, kMaxBlocks * sizeof(Findings)) {
  for (Role role : read_roles(problem.pass)) {
    const auto at = static_cast<size_t>(role);
    originals_[at] = uploaded(device, read.values[at], storage_);
  }
  // Whole-number data is only for algorithms that must come out exactly.
  const bool exact = kind == DataKind::integers;
  expected_ = uploaded(device, expectation.values(exact), DataType::f32);
  if (!exact) magnitudes_ = uploaded(device, expectation.magnitudes(), DataType::f32);
}

void DeviceComparison::copy_original(Role role, void* to, Queue& queue) const {
  const Buffer& from = originals_[static_cast<size_t>(role)];
  const int64_t count = elements(from);
  CONVSCOPE_BUILDS(enqueue_copy)
      .of(device_.info().kind)(to, from.data(), storage_, count, blocks_for(count), queue);
}

std::optional<int64_t> DeviceComparison::first_change(Role role, const void* now, Queue& queue) {
  const Buffer& before = originals_[static_cast<size_t>(role)];
  const int64_t count = elements(before);
  const unsigned blocks = blocks_for(count);
  auto* partial = partial_.as<Findings>();
  CONVSCOPE_BUILDS(enqueue_bit_comparison)
      .of(device_.info().kind)(now, before.data(), storage_, count, partial, blocks, queue);
  const Findings findings = collect(blocks, count, queue);
  if (findings.first_difference == Findings::kNone) return std::nullopt;
  return findings.first_difference;
}

Findings DeviceComparison::judge_first(const void* written, const ErrorBounds& bounds, Queue& queue) {
  return judge({.written = written, .copy = first_result_.data(), .bounds = bounds}, queue);
}

Findings DeviceComparison::judge_repeated(const void* written, const ErrorBounds& bounds, Queue& queue) {
  return judge({.written = written, .earlier = first_result_.data(), .bounds = bounds}, queue);
}

std::vector<float> DeviceComparison::first_result() const {
  std::vector<float> values(static_cast<size_t>(elements(first_result_)));
  download_values(first_result_, storage_, values);
  return values;
}

Findings DeviceComparison::judge(ComparisonArgs args, Queue& queue) {
  args.expected = expected_.as<float>();
  args.magnitudes = magnitudes_.as<float>();
  args.count = elements(first_result_);
  args.partial = partial_.as<Findings>();
  const unsigned blocks = blocks_for(args.count);
  CONVSCOPE_BUILDS(enqueue_comparison).of(device_.info().kind)(args, storage_, blocks, queue);
  return collect(blocks, args.count, queue);
}

Findings DeviceComparison::collect(unsigned blocks, int64_t count, Queue& queue) const {
  queue.synchronize();
  std::vector<Findings> partial(blocks);
  partial_.download(partial.data(), blocks * sizeof(Findings));
  Findings all{0, 0, 0, 0, Findings::kNone, Findings::kNone};
  for (const Findings& part : partial) {  // in this order, so that the sum is the same in every run
    all.compared += part.compared;
    all.squares += part.squares;
    all.max_abs = std::max(all.max_abs, part.max_abs);
    all.worst_excess = std::max(all.worst_excess, part.worst_excess);
    all.first_not_finite = std::min(all.first_not_finite, part.first_not_finite);
    all.first_difference = std::min(all.first_difference, part.first_difference);
  }
  if (all.compared != count)
    throw DeviceError(
        fmt::format("the comparison on the device looked at {} of {} elements", all.compared, count));
  return all;
}

}  // namespace convscope
