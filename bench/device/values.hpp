// Tensors between the host, where values are always f32, and a device, where they have the storage type of
// their math mode (bf16 and f16 tensors are half as large). Values are rounded to nearest even on their way
// up.
#pragma once

#include <span>

#include "bench/core/problem.hpp"
#include "bench/device/buffer.hpp"

namespace convscope {

// The value that `type` holds for `value`.
float rounded_to(DataType type, float value);

// On the host.
void store_values(void* to, DataType type, std::span<const float> values);
void load_values(const void* from, DataType type, std::span<float> values);

// `to` is memory of `device`.
void upload_values(Device& device, void* to, DataType type, std::span<const float> values);

// The whole buffer, whose bytes must be those of the values in `type`. Throws std::out_of_range otherwise.
void upload_values(Buffer& buffer, DataType type, std::span<const float> values);
void download_values(const Buffer& buffer, DataType type, std::span<float> values);

}  // namespace convscope
