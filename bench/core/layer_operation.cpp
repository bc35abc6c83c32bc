#include "bench/core/layer_operation.hpp"

#include <charconv>

namespace convscope {
namespace {

constexpr const char* kUncounted = " uncounted";  // after a mean's padding

// Takes a whole number from the front.
std::optional<int64_t> take_number(std::string_view& text) {
  int64_t number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  if (read.ec != std::errc() || number < 0 || number > kLargestSize || text.front() == '-')
    return std::nullopt;
  text.remove_prefix(static_cast<size_t>(read.ptr - text.data()));
  return number;
}

// "3" or "3x2".
std::optional<Extent2> take_extent(std::string_view& text) {
  const auto h = take_number(text);
  if (!h) return std::nullopt;
  if (!text.starts_with('x')) return Extent2{*h, *h};
  text.remove_prefix(1);
  const auto w = take_number(text);
  return w ? std::optional(Extent2{*h, *w}) : std::nullopt;
}

bool take(std::string_view& text, std::string_view word) {
  if (!text.starts_with(word)) return false;
  text.remove_prefix(word.size());
  return true;
}

// What follows the kind's name.
std::optional<LayerOperation> pool_from_text(OperationKind kind, std::string_view text) {
  LayerOperation pool{kind};
  const auto window = take_extent(text);
  if (!window || !take(text, "/")) return std::nullopt;
  const auto stride = take_extent(text);
  if (!stride) return std::nullopt;
  pool.window = *window;
  pool.stride = *stride;
  if (take(text, " pad ")) {
    const auto pad = take_extent(text);
    if (!pad) return std::nullopt;
    pool.pad = *pad;
  }
  const bool has_padding = pool.pad != Extent2{0, 0};
  if (kind == OperationKind::mean && has_padding) pool.counts_padding = !take(text, kUncounted);
  const bool is_sound =
      pool.window.h > pool.pad.h && pool.window.w > pool.pad.w && pool.stride.h > 0 && pool.stride.w > 0;
  return text.empty() && is_sound ? std::optional(pool) : std::nullopt;
}

}  // namespace

std::string_view name(OperationKind kind) {
  constexpr std::string_view names[] = {"bias", "relu", "lrn", "pool", "mean", "batch_norm", "add"};
  return names[static_cast<size_t>(kind)];
}

Extent2 LayerOperation::output(Extent2 input) const {
  if (!is_pool(kind)) return input;
  const auto side = [](int64_t size, int64_t taps, int64_t step, int64_t padding) {
    const int64_t room = size + 2 * padding - taps;
    return room < 0 ? 0 : room / step + 1;
  };
  return {side(input.h, window.h, stride.h, pad.h), side(input.w, window.w, stride.w, pad.w)};
}

std::string to_text(const LayerOperation& operation) {
  std::string text(name(operation.kind));
  if (operation.kind == OperationKind::add) return text + " " + operation.other;
  if (!is_pool(operation.kind)) return text;
  text += " " + to_text(operation.window) + "/" + extent_text(operation.stride);
  if (operation.pad != Extent2{0, 0}) text += " pad " + extent_text(operation.pad);
  return operation.counts_padding ? text : text + kUncounted;
}

std::optional<LayerOperation> operation_from_text(std::string_view text) {
  for (OperationKind kind : kOperationKinds) {
    const bool is_bare = !is_pool(kind) && kind != OperationKind::add;
    if (is_bare && text == name(kind)) return LayerOperation{kind};
  }
  if (take(text, "add ")) {
    LayerOperation add{OperationKind::add};
    add.other = text;
    return text.empty() ? std::nullopt : std::optional(add);
  }
  for (OperationKind kind : {OperationKind::pool, OperationKind::mean})
    if (take(text, std::string(name(kind)) + " ")) return pool_from_text(kind, text);
  return std::nullopt;
}

std::string operation_forms() {
  return "bias, relu, lrn, batch_norm, add with a layer's name, as in \"add conv1\", or " +
         std::string(kPoolForms);
}

}  // namespace convscope
