#include "bench/verify/block_sums.hpp"

#include <algorithm>

#include "bench/core/random.hpp"
#include "bench/core/rounding.hpp"
#include "bench/verify/fast_reference.hpp"

namespace convscope {
namespace {

int64_t channels_per_group(const ConvProblem& p) {
  return p.pass == Pass::backward_data ? p.in_channels_per_group() : p.out_channels_per_group();
}

// The axis that counts these channels.
size_t channel_axis(Pass pass, Role role) {
  return role == Role::filter && pass != Pass::backward_data ? 0 : 1;
}

ConvProblem fold(ConvProblem p, int64_t per_group) {
  (p.pass == Pass::backward_data ? p.in_channels : p.out_channels) = per_group * p.groups;
  return p;
}

template <typename Input, typename Filter, typename Output>
std::vector<double> all_sums(const ConvProblem& p, const Input* input, const Filter* filter,
                             const Output* output) {
  const TensorShape shape = p.shape(written_role(p.pass));
  const FastReference fast(p, input, filter, output);
  std::vector<double> sums(static_cast<size_t>(p.elements(written_role(p.pass))));
  const auto count = static_cast<int64_t>(sums.size());
#pragma omp parallel for schedule(dynamic, 64)
  for (int64_t i = 0; i < count; ++i) sums[static_cast<size_t>(i)] = fast.at(index_of_offset(shape, i)).value;
  return sums;
}

}  // namespace

BlockSums::BlockSums(const ConvProblem& problem, int64_t block, uint64_t seed)
    : problem_(problem),
      block_(block),
      per_group_(channels_per_group(problem)),
      folded_per_group_(ceil_div(per_group_, block)),
      signs_(static_cast<size_t>(std::max(problem.in_channels, problem.out_channels))) {
  folded_problem_ = fold(problem, folded_per_group_);
  for (size_t channel = 0; channel < signs_.size(); ++channel)
    signs_[channel] = random_bits(seed, channel) >> 63 ? -1.0 : 1.0;
}

std::array<int64_t, 2> BlockSums::channels(int64_t folded_channel) const {
  const int64_t group = folded_channel / folded_per_group_;
  const int64_t first = folded_channel % folded_per_group_ * block_;
  return {group * per_group_ + first, group * per_group_ + std::min(first + block_, per_group_) - 1};
}

template <typename T>
std::vector<double> BlockSums::folded(Role role, const T* tensor) const {
  const TensorShape from = problem_.shape(role), to = folded_problem_.shape(role);
  const size_t axis = channel_axis(problem_.pass, role);
  // Backward-data's filter counts its channels within the group that its k belongs to.
  const bool within_group = role == Role::filter && axis == 1;
  std::vector<double> sums(static_cast<size_t>(folded_problem_.elements(role)));
  // So many elements of one channel, and of one group, lie one behind the other, in both tensors.
  const int64_t step = from.stride[axis];
  const int64_t run = within_group && from.stride[0] < step ? 1 : step;
  const auto runs = static_cast<int64_t>(sums.size()) / run;
#pragma omp parallel for if (runs * run > 4096)
  for (int64_t i = 0; i < runs; ++i) {
    TensorIndex index = index_of_offset(to, i * run);
    const auto [first, last] = channels(index[axis]);
    const int64_t group_start = within_group ? index[0] / problem_.out_channels_per_group() * per_group_ : 0;
    index[axis] = first;
    const T* elements = tensor + offset_of(from, index);
    double* sum = sums.data() + i * run;
    for (int64_t channel = first; channel <= last; ++channel, elements += step) {
      const double sign = signs_[static_cast<size_t>(group_start + channel)];
      for (int64_t j = 0; j < run; ++j) sum[j] += sign * static_cast<double>(elements[j]);
    }
  }
  return sums;
}

std::vector<double> BlockSums::expected(const float* input, const float* filter, const float* output,
                                        std::span<const float> bias) const {
  if (problem_.pass == Pass::backward_filter)
    return all_sums(folded_problem_, input, filter, folded(Role::output, output).data());
  std::vector<double> sums = all_sums(folded_problem_, input, folded(Role::filter, filter).data(), output);
  if (bias.empty()) return sums;
  const TensorShape shape = folded_problem_.shape(Role::output);
  for (size_t i = 0; i < sums.size(); ++i) {
    const auto [first, last] = channels(index_of_offset(shape, static_cast<int64_t>(i))[1]);
    for (int64_t channel = first; channel <= last; ++channel)
      sums[i] += signs_[static_cast<size_t>(channel)] * bias[static_cast<size_t>(channel)];
  }
  return sums;
}

std::vector<double> BlockSums::of_result(const float* written) const {
  return folded(written_role(problem_.pass), written);
}

std::string BlockSums::describe(size_t sum) const {
  const Role role = written_role(problem_.pass);
  const size_t axis = channel_axis(problem_.pass, role);
  TensorIndex first = index_of_offset(folded_problem_.shape(role), static_cast<int64_t>(sum));
  const auto [low, high] = channels(first[axis]);
  TensorIndex last = first;
  first[axis] = low;
  last[axis] = high;
  return element_name(role, first) + " to " + element_name(role, last);
}

int64_t block_for_cost(const ConvProblem& problem, double multiply_adds) {
  const int64_t per_group = channels_per_group(problem);
  int64_t block = 1;
  while (block < per_group && problem.nominal_flops() / 2 / static_cast<double>(block) > multiply_adds)
    block *= 2;
  return std::min(block, per_group);
}

}  // namespace convscope
