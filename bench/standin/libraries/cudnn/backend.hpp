// What stands behind cuDNN's opaque pointers of the backend (graph) API: one object for all types of
// descriptor, a set of typed attributes. Which attributes a type has is in attributes.cpp; what finalising
// checks, in finalize.cpp. Both are as strict as cuDNN 9.19 was found to be, which answers these calls
// without a device, and stricter where its documentation is.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "bench/standin/libraries/cudnn/answers.hpp"
#include "bench/standin/libraries/cudnn/convolution.hpp"

namespace convscope::standin {

struct BackendObject;
using Object = std::shared_ptr<BackendObject>;

// Values of one attribute: bytes, or other descriptors, which are kept alive.
struct AttributeValue {
  int64_t count = 0;
  std::vector<unsigned char> bytes;
  std::vector<Object> objects;
};

// What an operation graph is, worked out when it is finalised; engines, configurations and plans share it.
struct Graph {
  Convolution convolution;
  std::map<int64_t, int64_t> alignment;       // bytes, by the tensor's unique id
  int64_t input = 0, filter = 0, output = 0;  // unique ids; `output` of the last operation
  int64_t bias = 0;                           // of an epilogue that has one
  bool is_output_virtual = false;
  bool is_ranked = true;  // whether heuristics know an engine for it
  double alpha = 1, beta = 0;
  GraphAnswers answers;
};

struct BackendObject {
  cudnnBackendDescriptorType_t type{};
  bool is_final = false;
  std::map<cudnnBackendAttributeName_t, AttributeValue> attributes;
  std::shared_ptr<const Graph> graph;  // of a finalised graph, heuristic, engine, configuration or plan
  Offer config;                        // of a finalised configuration or plan

  bool has(cudnnBackendAttributeName_t name) const { return attributes.contains(name); }
  // Of attributes that are set.
  template <typename T>
  std::vector<T> values(cudnnBackendAttributeName_t name) const;
  template <typename T>
  T value(cudnnBackendAttributeName_t name) const {
    return values<T>(name).front();
  }
  Object object(cudnnBackendAttributeName_t name) const { return attributes.at(name).objects.front(); }
  const std::vector<Object>& objects(cudnnBackendAttributeName_t name) const;

  template <typename T>
  void put(cudnnBackendAttributeName_t name, const std::vector<T>& values);
  void put(cudnnBackendAttributeName_t name, std::vector<Object> objects);
};

// One attribute of a type of descriptor.
struct AttributeRule {
  cudnnBackendDescriptorType_t owner;
  cudnnBackendAttributeName_t name;
  cudnnBackendAttributeType_t type;
  int64_t min = 1, max = 1;  // values
  bool may_be_set = true;
  bool is_required = false;  // by cudnnBackendFinalize
  // Of CUDNN_TYPE_BACKEND_DESCRIPTOR: what it must be; the first of a graph's operations.
  cudnnBackendDescriptorType_t holds = CUDNN_BACKEND_POINTWISE_DESCRIPTOR;
};

std::span<const AttributeRule> attribute_rules();
// Null where descriptors of the type have no such attribute.
const AttributeRule* attribute_rule(cudnnBackendDescriptorType_t owner, cudnnBackendAttributeName_t name);
bool is_known(cudnnBackendDescriptorType_t type);
bool is_operation(cudnnBackendDescriptorType_t type);
size_t bytes_of(cudnnBackendAttributeType_t type);

// Elements of a tensor's descriptor, and whether they are handed from one operation to the next.
TensorView view_of(const BackendObject& tensor);
inline int64_t uid_of(const Object& tensor) {
  return tensor->value<int64_t>(CUDNN_ATTR_TENSOR_UNIQUE_ID);
}
bool is_virtual(const BackendObject& tensor);

// Adds an operation behind what the graph has (epilogue.cpp).
cudnnStatus_t add_pointwise(Graph& graph, const BackendObject& operation);

// Checks the object and works out what it tells from then on.
cudnnStatus_t finalize(BackendObject& object);

template <typename T>
std::vector<T> BackendObject::values(cudnnBackendAttributeName_t name) const {
  const AttributeValue& value = attributes.at(name);
  const T* first = reinterpret_cast<const T*>(value.bytes.data());
  return std::vector<T>(first, first + value.count);
}

template <typename T>
void BackendObject::put(cudnnBackendAttributeName_t name, const std::vector<T>& values) {
  AttributeValue& value = attributes[name];
  value.count = static_cast<int64_t>(values.size());
  const auto* first = reinterpret_cast<const unsigned char*>(values.data());
  value.bytes.assign(first, first + sizeof(T) * values.size());
}

}  // namespace convscope::standin
