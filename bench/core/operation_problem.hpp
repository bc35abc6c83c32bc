// OperationProblem: one of the operations between convolutions, in one direction, as a plain value:
// everything that its result and its time depend on besides the machine and who computes it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bench/core/layer_operation.hpp"
#include "bench/core/names.hpp"

namespace convscope {

// The tensor of an operation: dense f32 in nchw.
struct Activations {
  int64_t n = 1, c = 1, h = 1, w = 1;
  int64_t pixels() const { return h * w; }
  int64_t elements() const { return n * c * h * w; }
  bool operator==(const Activations&) const = default;
};

// bias_relu, batch_norm_relu and add_relu are one pass. add: another tensor of the shape is added, an
// activation in forward, a gradient in backward, where a tensor was read twice. copy: of a tensor, a part of
// a concatenation for one. update: SGD with momentum and weight decay over the parameters of a layer.
// one_bit: a filter's gradient coded by one bit a value with error feedback, and decoded (docs/step.md).
enum class OperationSort {
  bias,
  relu,
  bias_relu,
  lrn,
  pool,
  mean,
  batch_norm,
  batch_norm_relu,
  add,
  add_relu,
  copy,
  update,
  one_bit
};
inline constexpr auto kOperationSorts = enumerators<OperationSort::one_bit>();
// "bias", "relu", "bias+relu", "lrn", "pool", "mean", "batch_norm", "batch_norm+relu", "add", "add+relu",
// "copy", "update", "1bit"
std::string_view name(OperationSort);

// velocity = momentum velocity + gradient + decay weight; weight -= rate velocity.
struct UpdateRule {
  float rate = 1e-3F, momentum = 0.9F, decay = 5e-4F;
};

// What an operation reads and writes. x, y: of forward; dx, dy: their gradients; parameter: the biases,
// the scales and behind them the shifts of batch normalisation, or what is updated. error: what earlier codes
// of the gradient lost.
enum class Slot { x, y, dx, dy, parameter, parameter_gradient, velocity, error };
inline constexpr auto kSlots = enumerators<Slot::error>();
std::string_view name(Slot);  // as spelled above

// How an operation uses a tensor. updated: read and written in place.
enum class Use { read, written, updated };
struct SlotUse {
  Slot slot;
  Use use;
};

struct OperationProblem {
  OperationSort sort = OperationSort::relu;
  bool backward = false;  // where has_directions()
  Activations in;         // of x; of an update its parameters, along w; of a code a column for each n
  LayerOperation pool{OperationKind::pool};  // of a pool or a mean, whose kind it has

  bool operator==(const OperationProblem&) const = default;

  // An addition has none: its backward is ReLU's, or nothing.
  bool has_directions() const {
    return !is_addition() && sort != OperationSort::copy && sort != OperationSort::update &&
           sort != OperationSort::one_bit;
  }
  bool is_batch_norm() const {
    return sort == OperationSort::batch_norm || sort == OperationSort::batch_norm_relu;
  }
  bool is_addition() const { return sort == OperationSort::add || sort == OperationSort::add_relu; }
  bool has_bias() const { return sort == OperationSort::bias || sort == OperationSort::bias_relu; }
  bool has_relu() const {
    return sort == OperationSort::relu || sort == OperationSort::bias_relu ||
           sort == OperationSort::batch_norm_relu || sort == OperationSort::add_relu;
  }
  bool is_pool() const { return sort == OperationSort::pool || sort == OperationSort::mean; }
  Activations out() const;  // of y
  // Bias and ReLU are in place: forward in y, backward in dy, where y tells what ReLU left. x is added to y,
  // or copied there.
  std::vector<SlotUse> slots() const;
  int64_t elements(Slot) const;
  // Each tensor once, twice where it is updated: what memory has to move at least. Without what backward can
  // make from what it reads anyway, as y of lrn.
  int64_t bytes() const;
};

// "bias+relu backward n=16 c=96 hw=55x55", "pool 3x3/2 n=16 c=96 hw=55x55", "update values=34944",
// "1bit columns=96 values=363".
std::string to_text(const OperationProblem&);

}  // namespace convscope
