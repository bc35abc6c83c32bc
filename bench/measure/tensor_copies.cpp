#include "bench/measure/tensor_copies.hpp"

#include <algorithm>

#include "bench/core/random.hpp"
#include "bench/core/rounding.hpp"
#include "bench/device/values.hpp"

namespace convscope {
namespace {

// Aligns each copy as an allocation on a GPU is, and as the tensors of verification are.
int64_t padded(int64_t bytes) {
  constexpr int64_t alignment = 256;
  return round_up(bytes, alignment);
}

// Of one tensor; 1 where the state holds it fixed.
int64_t wanted_copies(const ConvProblem& problem, Role role, CacheState cache, const DeviceInfo& device) {
  if (cache == CacheState::cold) return cold_copies(problem.total_bytes(), device);
  const bool turns = cache == CacheState::weights_cold && role == Role::filter;
  return turns ? cold_copies(problem.bytes(role), device) : 1;
}

Buffer copies_of(const ConvProblem& problem, Role role, Device& device, int64_t count, uint64_t seed) {
  std::vector<float> values(static_cast<size_t>(problem.elements(role)));
  const auto elements = static_cast<int64_t>(values.size());
  const uint64_t stream = random_bits(seed, static_cast<uint64_t>(role));
#pragma omp parallel for if (elements > 4096)
  for (int64_t i = 0; i < elements; ++i)
    values[static_cast<size_t>(i)] = random_uniform(stream, static_cast<uint64_t>(i));
  const auto step = static_cast<size_t>(padded(problem.bytes(role)));
  Buffer slab(device, static_cast<size_t>(count) * step);
  for (size_t copy = 0; copy < static_cast<size_t>(count); ++copy)
    upload_values(device, slab.as<std::byte>() + copy * step, storage_type(problem.math), values);
  return slab;
}

}  // namespace

int64_t cold_copies(int64_t bytes, const DeviceInfo& device) {
  const int64_t wanted = std::max<int64_t>(2, ceil_div(2 * device.llc_bytes, bytes));
  return std::max<int64_t>(1, std::min(wanted, device.memory_bytes / 4 / bytes));
}

int64_t copied_bytes(const ConvProblem& problem, CacheState cache, const DeviceInfo& device) {
  int64_t bytes = 0;
  for (Role role : kRoles) bytes += wanted_copies(problem, role, cache, device) * padded(problem.bytes(role));
  return bytes;
}

TensorCopies::TensorCopies(const ConvProblem& problem, Device& device, CacheState cache, uint64_t seed) {
  for (Role role : kRoles) {
    const int64_t count = wanted_copies(problem, role, cache, device.info());
    count_ = std::max(count_, count);
    Copies& copies = tensors_[static_cast<size_t>(role)];
    copies.count = static_cast<size_t>(count);
    copies.step = static_cast<size_t>(padded(problem.bytes(role)));
    copies.slab = copies_of(problem, role, device, count, seed);
  }
  if (!has_bias(problem.epilogue)) return;
  std::vector<float> bias(static_cast<size_t>(problem.out_channels));
  for (size_t k = 0; k < bias.size(); ++k) bias[k] = random_uniform(random_bits(seed, kRoles.size()), k);
  bias_ = Buffer(device, bias.size() * sizeof(float));
  upload_values(bias_, DataType::f32, bias);
}

ConvArgs TensorCopies::next(void* workspace) {
  const auto at = [&](Role role) -> void* {
    const Copies& copies = tensors_[static_cast<size_t>(role)];
    return copies.slab.as<std::byte>() + turn_ % copies.count * copies.step;
  };
  const ConvArgs args{at(Role::input), at(Role::filter), at(Role::output), workspace,
                      static_cast<const float*>(bias_.data())};
  turn_ = (turn_ + 1) % static_cast<size_t>(count_);
  return args;
}

}  // namespace convscope
