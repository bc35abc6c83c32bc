#include "bench/parallel/reductions/one_bit_codec.hpp"

#include "bench/parallel/reductions/cuda/one_bit.hpp"

namespace convscope {

void OneBitCodec::encode(const Columns& columns, std::span<const float> gradient, std::span<float> error,
                         std::span<uint32_t> encoded) {
  if (kind_ == DeviceKind::cpu) return convscope::encode(columns, gradient, error, encoded);
  CONVSCOPE_BUILDS(enqueue_encode).of(kind_)(columns, gradient, error, encoded, queue_);
}

void OneBitCodec::decode(const Columns& columns, std::span<const uint32_t> encoded, std::span<float> values,
                         bool adds) {
  if (kind_ == DeviceKind::cpu) return convscope::decode(columns, encoded, values, adds);
  CONVSCOPE_BUILDS(enqueue_decode).of(kind_)(columns, encoded, values, adds, queue_);
}

}  // namespace convscope
