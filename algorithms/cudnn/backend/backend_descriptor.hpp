// The owner of every object of cuDNN's backend API, which is what its graph API is made of: attributes are
// set, then the object is finalised, then others may be read. What the objects mean is in graph.hpp.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "algorithms/cudnn/backend/api.hpp"

namespace convscope::cudnn {

// Move-only. All functions throw as check() does.
class BackendDescriptor {
 public:
  explicit BackendDescriptor(cudnnBackendDescriptorType_t type);
  BackendDescriptor(BackendDescriptor&& other) noexcept;
  BackendDescriptor& operator=(BackendDescriptor&& other) noexcept;
  ~BackendDescriptor();

  cudnnBackendDescriptor_t get() const { return descriptor_; }

  void set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t count,
           const void* values);
  void set(cudnnBackendAttributeName_t name, int64_t value);
  void set(cudnnBackendAttributeName_t name, std::span<const int64_t> values);
  void set(cudnnBackendAttributeName_t name, float value);
  void set(cudnnBackendAttributeName_t name, const BackendDescriptor& value);
  void set(cudnnBackendAttributeName_t name, std::span<const BackendDescriptor> values);
  void finalize();

  int64_t number(cudnnBackendAttributeName_t name) const;
  // Nothing where the attribute is not set. cuDNN is asked for up to `room` values, or how many there are:
  // that is not documented of every attribute.
  template <typename T>
  std::vector<T> values(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                        std::optional<int64_t> room = std::nullopt) const {
    std::vector<T> all(static_cast<size_t>(room ? *room : count(name, type)));
    all.resize(static_cast<size_t>(read(name, type, static_cast<int64_t>(all.size()), all.data())));
    return all;
  }
  // Descriptors of `type` that the attribute holds; `room` as above.
  std::vector<BackendDescriptor> descriptors(cudnnBackendAttributeName_t name,
                                             cudnnBackendDescriptorType_t type,
                                             std::optional<int64_t> room = std::nullopt) const;

 private:
  int64_t count(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type) const;
  int64_t read(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t room,
               void* values) const;

  cudnnBackendDescriptor_t descriptor_ = nullptr;
};

}  // namespace convscope::cudnn
