#include "algorithms/cudnn/backend/backend_descriptor.hpp"

#include <algorithm>
#include <utility>

namespace convscope::cudnn {

BackendDescriptor::BackendDescriptor(cudnnBackendDescriptorType_t type) {
  check(api().create_descriptor(type, &descriptor_), "cudnnBackendCreateDescriptor");
}
BackendDescriptor::BackendDescriptor(BackendDescriptor&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, nullptr)) {}
BackendDescriptor& BackendDescriptor::operator=(BackendDescriptor&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  return *this;
}
BackendDescriptor::~BackendDescriptor() {
  if (descriptor_ != nullptr) api().destroy_descriptor(descriptor_);
}

void BackendDescriptor::set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t count,
                            const void* values) {
  check(api().set_attribute(descriptor_, name, type, count, values), "cudnnBackendSetAttribute");
}
void BackendDescriptor::set(cudnnBackendAttributeName_t name, int64_t value) {
  set(name, CUDNN_TYPE_INT64, 1, &value);
}
void BackendDescriptor::set(cudnnBackendAttributeName_t name, std::span<const int64_t> values) {
  set(name, CUDNN_TYPE_INT64, static_cast<int64_t>(values.size()), values.data());
}
void BackendDescriptor::set(cudnnBackendAttributeName_t name, float value) {
  set(name, CUDNN_TYPE_FLOAT, 1, &value);
}
void BackendDescriptor::set(cudnnBackendAttributeName_t name, const BackendDescriptor& value) {
  set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &value.descriptor_);
}
void BackendDescriptor::set(cudnnBackendAttributeName_t name, std::span<const BackendDescriptor> values) {
  std::vector<cudnnBackendDescriptor_t> all;
  for (const BackendDescriptor& value : values) all.push_back(value.get());
  set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, static_cast<int64_t>(all.size()), all.data());
}
void BackendDescriptor::finalize() {
  check(api().finalize(descriptor_), "cudnnBackendFinalize");
}

int64_t BackendDescriptor::count(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type) const {
  int64_t number = 0;
  check(api().get_attribute(descriptor_, name, type, 0, &number, nullptr), "cudnnBackendGetAttribute");
  return number;
}
int64_t BackendDescriptor::read(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                                int64_t room, void* values) const {
  if (room == 0) return 0;
  int64_t number = 0;
  check(api().get_attribute(descriptor_, name, type, room, &number, values), "cudnnBackendGetAttribute");
  return std::min(number, room);
}
int64_t BackendDescriptor::number(cudnnBackendAttributeName_t name) const {
  int64_t value = 0, found = 0;
  check(api().get_attribute(descriptor_, name, CUDNN_TYPE_INT64, 1, &found, &value),
        "cudnnBackendGetAttribute");
  return value;
}
std::vector<BackendDescriptor> BackendDescriptor::descriptors(cudnnBackendAttributeName_t name,
                                                              cudnnBackendDescriptorType_t type,
                                                              std::optional<int64_t> room) const {
  // cuDNN fills descriptors that its caller made.
  std::vector<BackendDescriptor> all;
  std::vector<cudnnBackendDescriptor_t> raw;
  const int64_t most = room ? *room : count(name, CUDNN_TYPE_BACKEND_DESCRIPTOR);
  for (int64_t i = 0; i < most; ++i) raw.push_back(all.emplace_back(type).get());
  const int64_t found = read(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, most, raw.data());
  while (static_cast<int64_t>(all.size()) > found) all.pop_back();
  return all;
}

}  // namespace convscope::cudnn
