// LayerOperation: what stands between a convolution and the next in a network, as plain data with a text form
// that configs use. Tensors are activations (n, c, h, w).
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "bench/core/problem.hpp"

namespace convscope {

// bias: one value a channel is added. relu: max(x, 0). lrn: local response normalisation across channels with
// the constants of Krizhevsky et al. 2012, section 3.3. pool: the maximum of a window; padding never wins.
// mean: the mean of a window, whose padding is zeros. batch_norm: (x - mean) / sqrt(variance +
// kBatchNormEpsilon) times a scale plus a shift, one of each a channel, with the mean and the biased variance
// of the channel in this batch (Ioffe and Szegedy 2015). add: the output of another layer is added.
enum class OperationKind { bias, relu, lrn, pool, mean, batch_norm, add };
inline constexpr auto kOperationKinds = enumerators<OperationKind::add>();
inline constexpr double kBatchNormEpsilon = 1e-5;
std::string_view name(OperationKind);  // as spelled above
// Whether it takes windows of the image, to their maximum or their mean.
constexpr bool is_pool(OperationKind kind) {
  return kind == OperationKind::pool || kind == OperationKind::mean;
}

struct LayerOperation {
  OperationKind kind = OperationKind::relu;
  Extent2 window{1, 1}, stride{1, 1}, pad{0, 0};  // of a pool or a mean
  // Of a mean: whether it is over the whole window (frameworks' count_include_pad) or over what of the window
  // is in the image. True without padding, where both are the same.
  bool counts_padding = true;
  std::string other{};  // of an addition: the layer whose output is added

  auto operator<=>(const LayerOperation&) const = default;

  // The image that it gives for this one; rounded down, as a convolution's. Not positive where the window
  // does not fit.
  Extent2 output(Extent2 input) const;
};

inline constexpr std::string_view kPoolForms =
    "pool or mean with window and stride, as in \"pool 3x3/2\" or \"mean 3x3/2x1 pad 1x0\", a padding "
    "smaller than the window, and after it \"uncounted\" where a mean leaves it out, as in \"mean 3x3/1 "
    "pad 1 uncounted\"";
// What a config may say.
std::string operation_forms();

inline bool has(std::span<const LayerOperation> operations, OperationKind kind) {
  return std::ranges::any_of(operations, [&](const LayerOperation& one) { return one.kind == kind; });
}

// "bias", "pool 3x3/2", "pool 3x2/2x1 pad 1", "mean 3x3/1 pad 1 uncounted", "add conv1": reads back to the
// same value. One number stands for both.
std::string to_text(const LayerOperation&);
// Nothing where the text is no such form, or a pool's padding is not smaller than its window, so that a
// window may hold nothing but padding, or padding is not counted where there is none.
std::optional<LayerOperation> operation_from_text(std::string_view text);

}  // namespace convscope
