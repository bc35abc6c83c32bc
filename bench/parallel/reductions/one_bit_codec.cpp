#include "bench/parallel/reductions/one_bit_codec.hpp"

#include "bench/parallel/reductions/cuda/one_bit.hpp"

namespace convscope {
namespace {

void enqueue_decode(DeviceKind kind, const Columns& columns, std::span<const uint32_t> encoded,
                    std::span<float> values, bool adds, Queue& queue) {
  if (kind == DeviceKind::cpu)
    return adds ? decode_and_add(columns, encoded, values) : decode(columns, encoded, values);
  CONVSCOPE_BUILDS(enqueue_decode).of(kind)(columns, encoded, values, adds, queue);
}

}  // namespace

void OneBitCodec::encode(const Columns& columns, std::span<const float> gradient, std::span<float> error,
                         std::span<uint32_t> encoded) {
  if (kind_ == DeviceKind::cpu) return convscope::encode(columns, gradient, error, encoded);
  CONVSCOPE_BUILDS(enqueue_encode).of(kind_)(columns, gradient, error, encoded, queue_);
}

void OneBitCodec::decode(const Columns& columns, std::span<const uint32_t> encoded, std::span<float> values) {
  enqueue_decode(kind_, columns, encoded, values, false, queue_);
}

void OneBitCodec::decode_and_add(const Columns& columns, std::span<const uint32_t> encoded,
                                 std::span<float> values) {
  enqueue_decode(kind_, columns, encoded, values, true, queue_);
}

}  // namespace convscope
