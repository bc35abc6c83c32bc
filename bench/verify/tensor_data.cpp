#include "bench/verify/tensor_data.hpp"

#include <cmath>

#include "bench/core/random.hpp"
#include "bench/device/values.hpp"

namespace convscope {
namespace {

constexpr int64_t kExact = int64_t{1} << 24;  // f32 holds every whole number up to here

Buffer uploaded(const ConvProblem& problem, Device& device, Role role, DataKind kind, uint64_t seed) {
  Buffer buffer(device, static_cast<size_t>(problem.bytes(role)));
  if (role == written_role(problem.pass)) {
    buffer.fill_with_nan();
  } else {
    const std::vector<float> values = TensorData(problem, role, kind, seed).generate();
    upload_values(buffer, storage_type(problem.math), values);
  }
  return buffer;
}

}  // namespace

std::string_view name(DataKind kind) {
  constexpr std::string_view names[] = {"whole-number", "uniform", "positive"};
  return names[static_cast<size_t>(kind)];
}

int64_t reduction_length(const ConvProblem& p) {
  const Extent2 out = p.output();
  switch (p.pass) {
    case Pass::forward:
      return p.in_channels_per_group() * p.filter.h * p.filter.w;
    case Pass::backward_data:
      return p.out_channels_per_group() * p.filter.h * p.filter.w;
    case Pass::backward_filter:
      return p.batch * out.h * out.w;
  }
  return 0;
}

std::array<Role, 2> read_roles(Pass pass) {
  switch (pass) {
    case Pass::forward:
      return {Role::input, Role::filter};
    case Pass::backward_data:
      return {Role::filter, Role::output};
    case Pass::backward_filter:
      return {Role::input, Role::output};
  }
  return {};
}

TensorData::TensorData(const ConvProblem& problem, Role role, DataKind kind, uint64_t seed)
    : elements_(problem.elements(role)),
      kind_(kind),
      storage_(storage_type(problem.math)),
      seed_(random_bits(seed, static_cast<uint64_t>(role) * 2 + (kind == DataKind::integers ? 0 : 1))) {
  const int64_t terms = reduction_length(problem);
  if (terms * 4 > kExact) half_range_ = 1;
  // Twice as sparse as the expected number of products calls for. One tensor of the two is enough.
  if (terms > kExact && role == read_roles(problem.pass)[0]) one_in_ = 2 * (terms / kExact + 1);
}

float TensorData::at(int64_t offset) const {
  const auto index = static_cast<uint64_t>(offset);
  if (kind_ == DataKind::uniform) return rounded_to(storage_, random_uniform(seed_, index));
  if (kind_ == DataKind::positive) return std::abs(rounded_to(storage_, random_uniform(seed_, index)));
  if (one_in_ > 1 && random_below(~seed_, index, one_in_) != 0) return 0;
  return static_cast<float>(random_below(seed_, index, 2 * half_range_ + 1) - half_range_);
}

std::vector<float> TensorData::generate() const {
  std::vector<float> values(static_cast<size_t>(elements_));
#pragma omp parallel for if (elements_ > 4096)
  for (int64_t i = 0; i < elements_; ++i) values[static_cast<size_t>(i)] = at(i);
  return values;
}

std::vector<float> bias_data(const ConvProblem& problem, DataKind kind, uint64_t seed) {
  if (!has_bias(problem.epilogue)) return {};
  std::vector<float> values(static_cast<size_t>(problem.out_channels));
  const uint64_t stream = random_bits(seed, 0xb1a5);
  for (size_t k = 0; k < values.size(); ++k) {
    if (kind == DataKind::integers)
      values[k] = static_cast<float>(random_below(stream, k, 5) - 2);
    else
      values[k] = random_uniform(stream, k);
    if (kind == DataKind::positive) values[k] = std::abs(values[k]);
  }
  return values;
}

Buffer bias_buffer(const std::vector<float>& bias, Device& device) {
  if (bias.empty()) return {};
  Buffer buffer(device, bias.size() * sizeof(float));
  upload_values(buffer, DataType::f32, bias);
  return buffer;
}

Operands make_operands(const ConvProblem& problem, Device& device, DataKind kind, uint64_t seed) {
  return {uploaded(problem, device, Role::input, kind, seed),
          uploaded(problem, device, Role::filter, kind, seed),
          uploaded(problem, device, Role::output, kind, seed),
          bias_buffer(bias_data(problem, kind, seed), device)};
}

}  // namespace convscope
