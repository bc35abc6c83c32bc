#include "bench/device/values.hpp"

#include <cstring>
#include <stdexcept>
#include <vector>

#include "bench/core/float16.hpp"

namespace convscope {
namespace {

uint16_t to_bits(DataType type, float value) {
  return type == DataType::bf16 ? bf16_bits(value) : f16_bits(value);
}

float from_bits(DataType type, uint16_t bits) {
  return type == DataType::bf16 ? from_bf16_bits(bits) : from_f16_bits(bits);
}

void check_size(const Buffer& buffer, DataType type, size_t values) {
  if (buffer.bytes() != values * static_cast<size_t>(bytes_per_element(type)))
    throw std::out_of_range("the buffer has another size than the values");
}

}  // namespace

float rounded_to(DataType type, float value) {
  return type == DataType::f32 ? value : from_bits(type, to_bits(type, value));
}

void store_values(void* to, DataType type, std::span<const float> values) {
  if (type == DataType::f32) {
    std::memcpy(to, values.data(), values.size_bytes());
    return;
  }
  auto* bits = static_cast<uint16_t*>(to);
  for (float value : values) *bits++ = to_bits(type, value);
}

void load_values(const void* from, DataType type, std::span<float> values) {
  if (type == DataType::f32) {
    std::memcpy(values.data(), from, values.size_bytes());
    return;
  }
  const auto* bits = static_cast<const uint16_t*>(from);
  for (float& value : values) value = from_bits(type, *bits++);
}

// The f32 paths copy once only: tensors are large.
void upload_values(Device& device, void* to, DataType type, std::span<const float> values) {
  if (type == DataType::f32) {
    device.copy_to_device(to, values.data(), values.size_bytes());
    return;
  }
  std::vector<uint16_t> stored(values.size());
  store_values(stored.data(), type, values);
  device.copy_to_device(to, stored.data(), stored.size() * sizeof(uint16_t));
}

void upload_values(Buffer& buffer, DataType type, std::span<const float> values) {
  check_size(buffer, type, values.size());
  if (!values.empty()) upload_values(*buffer.device(), buffer.data(), type, values);
}

void download_values(const Buffer& buffer, DataType type, std::span<float> values) {
  check_size(buffer, type, values.size());
  if (type == DataType::f32) {
    buffer.download(values.data(), values.size_bytes());
    return;
  }
  std::vector<uint16_t> stored(values.size());
  buffer.download(stored.data(), buffer.bytes());
  load_values(stored.data(), type, values);
}

}  // namespace convscope
