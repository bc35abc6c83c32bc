#include "bench/core/problem.hpp"

#include <algorithm>
#include <limits>

namespace convscope {
namespace {

int64_t output_size(int64_t input, int64_t filter, int64_t stride, int64_t pad, int64_t dilation) {
  return (input + 2 * pad - ((filter - 1) * dilation + 1)) / stride + 1;
}

// How many i below `count` have begin + i * step below `end`; step is at least 1.
int64_t steps_below(int64_t end, int64_t begin, int64_t step, int64_t count) {
  return begin >= end ? 0 : std::min((end - begin - 1) / step + 1, count);
}

// The number of (output, tap) pairs along one dimension whose input position lies inside the tensor.
int64_t inside_pairs(int64_t input, int64_t output, int64_t filter, int64_t stride, int64_t pad,
                     int64_t dilation) {
  if (pad == 0) return output * filter;
  // Outputs and taps play the same part: walk along the fewer.
  if (output < filter) return inside_pairs(input, filter, output, dilation, pad, stride);
  int64_t pairs = 0;
  for (int64_t r = 0; r < filter; ++r) {
    const int64_t begin = r * dilation - pad;
    pairs += steps_below(input, begin, stride, output) - steps_below(0, begin, stride, output);
  }
  return pairs;
}

// Of activations (n, c, h, w) and of filters (k, c, r, s): the layouts order both alike.
TensorShape dense_shape(Layout layout, int64_t outer, int64_t channels, Extent2 extent) {
  const auto [h, w] = extent;
  const std::array<int64_t, 4> size{outer, channels, h, w};
  switch (layout) {
    case Layout::nchw:
      return {size, {channels * h * w, h * w, w, 1}};
    case Layout::nhwc:
      return {size, {h * w * channels, 1, w * channels, channels}};
    case Layout::chwn:
      return {size, {1, h * w * outer, w * outer, outer}};
  }
  return {};
}

// a * b, or nothing when it does not fit 63 bits; both are at least 1.
std::optional<int64_t> product(std::optional<int64_t> a, int64_t b) {
  int64_t result = 0;
  if (!a || __builtin_mul_overflow(*a, b, &result)) return std::nullopt;
  return result;
}

std::optional<std::string> out_of_range(std::string_view field, int64_t value, int64_t lowest) {
  if (value >= lowest && value <= kLargestSize) return std::nullopt;
  return std::string(field) + " is " + std::to_string(value) + "; allowed is " + std::to_string(lowest) +
         " to " + std::to_string(kLargestSize);
}

}  // namespace

DataType storage_type(MathMode math) {
  if (math == MathMode::bf16) return DataType::bf16;
  if (math == MathMode::fp16) return DataType::f16;
  return DataType::f32;
}

int64_t bytes_per_element(DataType type) {
  return type == DataType::f32 ? 4 : 2;
}

Role written_role(Pass pass) {
  constexpr Role written[] = {Role::output, Role::input, Role::filter};
  return written[static_cast<size_t>(pass)];
}

Extent2 ConvProblem::output() const {
  return {output_size(input.h, filter.h, stride.h, pad.h, dilation.h),
          output_size(input.w, filter.w, stride.w, pad.w, dilation.w)};
}

TensorShape ConvProblem::shape(Role role) const {
  switch (role) {
    case Role::input:
      return dense_shape(layout, batch, in_channels, input);
    case Role::filter:
      return dense_shape(layout, out_channels, in_channels_per_group(), filter);
    case Role::output:
      return dense_shape(layout, batch, out_channels, output());
  }
  return {};
}

int64_t ConvProblem::elements(Role role) const {
  const auto size = shape(role).size;
  return size[0] * size[1] * size[2] * size[3];
}

int64_t ConvProblem::bytes(Role role) const {
  return elements(role) * bytes_per_element(storage_type(math));
}

int64_t ConvProblem::total_bytes() const {
  return bytes(Role::input) + bytes(Role::filter) + bytes(Role::output);
}

double ConvProblem::nominal_flops() const {
  return 2.0 * static_cast<double>(elements(Role::output)) * static_cast<double>(in_channels_per_group()) *
         static_cast<double>(filter.h * filter.w);
}

double ConvProblem::effective_flops() const {
  const Extent2 out = output();
  const int64_t rows = inside_pairs(input.h, out.h, filter.h, stride.h, pad.h, dilation.h);
  const int64_t columns = inside_pairs(input.w, out.w, filter.w, stride.w, pad.w, dilation.w);
  return 2.0 * static_cast<double>(batch * out_channels) * static_cast<double>(in_channels_per_group()) *
         static_cast<double>(rows) * static_cast<double>(columns);
}

std::optional<std::string> validate(const ConvProblem& p) {
  const struct {
    std::string_view field;
    int64_t value, lowest;
  } fields[] = {{"batch", p.batch, 1},
                {"in_channels", p.in_channels, 1},
                {"out_channels", p.out_channels, 1},
                {"groups", p.groups, 1},
                {"input height", p.input.h, 1},
                {"input width", p.input.w, 1},
                {"filter height", p.filter.h, 1},
                {"filter width", p.filter.w, 1},
                {"stride height", p.stride.h, 1},
                {"stride width", p.stride.w, 1},
                {"pad height", p.pad.h, 0},
                {"pad width", p.pad.w, 0},
                {"dilation height", p.dilation.h, 1},
                {"dilation width", p.dilation.w, 1}};
  for (const auto& [field, value, lowest] : fields)
    if (auto fault = out_of_range(field, value, lowest)) return fault;

  for (const auto& [field, channels] :
       {std::pair{"in_channels", p.in_channels}, {"out_channels", p.out_channels}})
    if (channels % p.groups != 0)
      return std::string(field) + " is " + std::to_string(channels) + ", which is not divisible by groups (" +
             std::to_string(p.groups) + ")";

  const Extent2 reach{(p.filter.h - 1) * p.dilation.h + 1, (p.filter.w - 1) * p.dilation.w + 1};
  const Extent2 padded{p.input.h + 2 * p.pad.h, p.input.w + 2 * p.pad.w};
  if (reach.h > padded.h || reach.w > padded.w)
    return "the filter reaches " + to_text(reach) + " with its dilation, more than the padded input's " +
           to_text(padded);

  const Extent2 out = p.output();
  const std::pair<Role, std::array<int64_t, 4>> tensors[] = {
      {Role::input, {p.batch, p.in_channels, p.input.h, p.input.w}},
      {Role::filter, {p.out_channels, p.in_channels_per_group(), p.filter.h, p.filter.w}},
      {Role::output, {p.batch, p.out_channels, out.h, out.w}}};
  for (const auto& [role, sizes] : tensors) {
    std::optional<int64_t> bytes = bytes_per_element(storage_type(p.math));
    for (int64_t size : sizes) bytes = product(bytes, size);
    // A quarter of the range leaves room for sums over the three tensors.
    if (!bytes || *bytes > std::numeric_limits<int64_t>::max() / 4)
      return "the " + std::string(name(role)) + " tensor's size overflows 64 bits";
  }
  if (p.epilogue != Epilogue::none && p.pass != Pass::forward)
    return "the pass is " + std::string(name(p.pass)) + " with the epilogue " +
           std::string(name(p.epilogue)) + "; only forward has one";
  return std::nullopt;
}

}  // namespace convscope
