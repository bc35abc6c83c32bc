// ConvProblem: one convolution of one layer in one pass, as a plain value. Everything that a result depends
// on and that is not the machine, the algorithm or the protocol is here. Start reading at struct ConvProblem.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "bench/core/names.hpp"

namespace convscope {

struct Extent2 {
  int64_t h = 1;
  int64_t w = 1;
  auto operator<=>(const Extent2&) const = default;
};
std::string to_text(Extent2);      // "3x5"
std::string extent_text(Extent2);  // "3x5", or "5" where both are

enum class Pass { forward, backward_data, backward_filter };

// The arithmetic class. `fp32` is strict FP32; classes never share a "best". The storage type follows from
// it: f32 for fp32, tf32 and 3xtf32, 16 bits for bf16 and fp16.
enum class MathMode { fp32, tf32, tf32x3, bf16, fp16 };
enum class DataType { f32, bf16, f16 };

// Memory order of the activations; the filter's order goes with it: KCRS, KRSC, CRSK (C is per group).
enum class Layout { nchw, nhwc, chwn };

// What is applied to every output of a forward pass before it is stored: nothing, max(y, 0), the bias of its
// channel, or the bias and then max(y, 0).
enum class Epilogue { none, relu, bias, bias_relu };

// The three tensors. In backward passes `input` and `output` hold the gradients of the forward input and
// output.
enum class Role { input, filter, output };

inline constexpr auto kPasses = enumerators<Pass::backward_filter>();
inline constexpr auto kMathModes = enumerators<MathMode::fp16>();
inline constexpr auto kLayouts = enumerators<Layout::chwn>();
inline constexpr auto kEpilogues = enumerators<Epilogue::bias_relu>();
inline constexpr auto kRoles = enumerators<Role::output>();

std::string_view name(Pass);      // "forward", "backward_data", "backward_filter"
std::string_view name(MathMode);  // "fp32", "tf32", "3xtf32", "bf16", "fp16"
std::string_view name(Layout);    // "nchw", "nhwc", "chwn"
std::string_view name(Epilogue);  // "none", "relu", "bias", "bias+relu"
std::string_view name(Role);      // "input", "filter", "output"

constexpr bool has_bias(Epilogue epilogue) {
  return epilogue == Epilogue::bias || epilogue == Epilogue::bias_relu;
}
constexpr bool has_relu(Epilogue epilogue) {
  return epilogue == Epilogue::relu || epilogue == Epilogue::bias_relu;
}

DataType storage_type(MathMode);
int64_t bytes_per_element(DataType);
Role written_role(Pass);

// Sizes and strides of a tensor in logical order, in elements: activations (n, c, h, w), filters (k, c, r,
// s).
struct TensorShape {
  std::array<int64_t, 4> size{};
  std::array<int64_t, 4> stride{};
  int64_t offset(int64_t i0, int64_t i1, int64_t i2, int64_t i3) const {
    return i0 * stride[0] + i1 * stride[1] + i2 * stride[2] + i3 * stride[3];
  }
};

// Cross-correlation (no filter flip). Padding is symmetric; dilation 1 is dense. Filters have
// in_channels/groups channels each. Sizes are elements.
struct ConvProblem {
  Pass pass = Pass::forward;
  MathMode math = MathMode::fp32;
  Layout layout = Layout::nchw;
  int64_t batch = 1;
  int64_t in_channels = 1;
  int64_t out_channels = 1;
  int64_t groups = 1;
  Extent2 input{1, 1};
  Extent2 filter{1, 1};
  Extent2 stride{1, 1};
  Extent2 pad{0, 0};
  Extent2 dilation{1, 1};
  Epilogue epilogue = Epilogue::none;  // of the forward pass alone

  auto operator<=>(const ConvProblem&) const = default;

  Extent2 output() const;
  int64_t in_channels_per_group() const { return in_channels / groups; }
  int64_t out_channels_per_group() const { return out_channels / groups; }
  bool is_depthwise() const { return groups > 1 && groups == in_channels; }

  TensorShape shape(Role) const;
  int64_t elements(Role) const;
  int64_t bytes(Role) const;
  int64_t total_bytes() const;  // the three tensors together, each once: `bytes_min`

  // 2NKCRSPQ/groups, the same for the three passes: `flops_nominal`.
  double nominal_flops() const;
  // The same with the taps that fall on padding left out: `flops_effective`.
  double effective_flops() const;
};

// No field may be larger: no such problem makes sense, and products of two fields still fit 64 bits.
inline constexpr int64_t kLargestSize = int64_t{1} << 31;

// What makes the problem invalid (a zero size, a filter larger than the padded input, a 64-bit overflow), or
// nothing. The sentence names the field, the value and what is allowed.
std::optional<std::string> validate(const ConvProblem&);

// One line that parse_problem reads back to the same value, as in
//   forward fp32 nchw n=16 c=96 hw=27x27 k=256 rs=5x5 stride=1x1 pad=2x2 dilation=1x1 groups=1
// with epilogue=bias+relu at its end where there is one.
std::string to_line(const ConvProblem&);

// Reads to_line's form (defaults may be left out) or benchdnn's descriptor. Throws UsageError.
ConvProblem parse_problem(std::string_view line);

// oneDNN benchdnn's descriptor of the same shape: `mb16_ic96ih27oc256oh27kh5ph2`, square dimensions written
// once, dilation counted from zero. Pass, math, layout and epilogue are not in it.
std::string to_benchdnn(const ConvProblem&);
ConvProblem parse_benchdnn(std::string_view descriptor);

}  // namespace convscope
