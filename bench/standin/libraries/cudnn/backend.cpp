// The six functions of the backend API over generic attributes.
#include "bench/standin/libraries/cudnn/backend.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

#include "bench/standin/libraries/cudnn/legacy_descriptors.hpp"
#include "bench/standin/libraries/runtime.hpp"

namespace convscope::standin {
namespace {

// Every type is an enum, a float or a whole number but these.
static_assert(sizeof(cudnnBackendNumericalNote_t) == sizeof(int) && sizeof(cudnnDataType_t) == sizeof(int) &&
              sizeof(float) == sizeof(int) && sizeof(void*) == sizeof(int64_t));

// The caller's pointer is to a shared pointer, so that descriptors that hold the object keep it alive.
Object& object_at(cudnnBackendDescriptor_t descriptor) {
  return *static_cast<Object*>(descriptor);
}

cudnnStatus_t check_held(const AttributeRule& rule, const Object& object) {
  const bool fits = is_operation(rule.holds) ? is_operation(object->type) : object->type == rule.holds;
  if (!fits)
    return failed(CUDNN_STATUS_BAD_PARAM_DESCRIPTOR_TYPE,
                  fmt::format("attribute {} does not hold descriptors of type {}",
                              static_cast<int>(rule.name), static_cast<int>(object->type)));
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t set_objects(AttributeValue& value, const AttributeRule& rule, int64_t count,
                          const void* values) {
  const auto* raw = static_cast<const cudnnBackendDescriptor_t*>(values);
  for (int64_t i = 0; i < count; ++i) {
    if (raw[i] == nullptr) return failed(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "a null descriptor");
    const Object& object = object_at(raw[i]);
    if (const cudnnStatus_t status = check_held(rule, object); status != CUDNN_STATUS_SUCCESS) return status;
    if (!object->is_final)
      return failed(CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED, "a descriptor in an attribute");
    value.objects.push_back(object);
  }
  return CUDNN_STATUS_SUCCESS;
}

// The rule of an attribute in a call with this type.
cudnnStatus_t find_rule(const BackendObject& object, cudnnBackendAttributeName_t name,
                        cudnnBackendAttributeType_t type, const AttributeRule*& rule) {
  rule = attribute_rule(object.type, name);
  if (rule == nullptr)
    return failed(CUDNN_STATUS_BAD_PARAM, fmt::format("descriptors of type {} have no attribute {}",
                                                      static_cast<int>(object.type), static_cast<int>(name)));
  if (rule->type != type)
    return failed(CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE,
                  fmt::format("attribute {} has type {}, not {}", static_cast<int>(name),
                              static_cast<int>(rule->type), static_cast<int>(type)));
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t set_attribute(BackendObject& object, cudnnBackendAttributeName_t name,
                            cudnnBackendAttributeType_t type, int64_t count, const void* values) {
  const AttributeRule* rule = nullptr;
  if (const cudnnStatus_t status = find_rule(object, name, type, rule); status != CUDNN_STATUS_SUCCESS)
    return status;
  if (object.is_final) return failed(CUDNN_STATUS_BAD_PARAM, "the descriptor is finalised");
  if (!rule->may_be_set)
    return failed(CUDNN_STATUS_BAD_PARAM, fmt::format("attribute {} is not set", static_cast<int>(name)));
  if (count < rule->min || count > rule->max)
    return failed(CUDNN_STATUS_BAD_PARAM,
                  fmt::format("attribute {} of {} values, not {}", static_cast<int>(name), rule->min, count));
  if (count > 0 && values == nullptr) return failed(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "no values");
  AttributeValue value;
  value.count = count;
  if (type == CUDNN_TYPE_BACKEND_DESCRIPTOR) {
    if (const cudnnStatus_t status = set_objects(value, *rule, count, values); status != CUDNN_STATUS_SUCCESS)
      return status;
  } else {
    const auto* first = static_cast<const unsigned char*>(values);
    value.bytes.assign(first, first + bytes_of(type) * static_cast<size_t>(count));
  }
  if (type == CUDNN_TYPE_HANDLE && *static_cast<void* const*>(values) == nullptr)
    return failed(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "nullptr == handle");
  object.attributes[name] = std::move(value);
  return CUDNN_STATUS_SUCCESS;
}

// Fills descriptors that the caller made, of the right type and not finalised.
cudnnStatus_t fill_objects(const AttributeRule& rule, const std::vector<Object>& from, int64_t count,
                           void* values) {
  auto* raw = static_cast<cudnnBackendDescriptor_t*>(values);
  for (int64_t i = 0; i < count; ++i) {
    if (raw[i] == nullptr) return failed(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "a null descriptor");
    Object& to = object_at(raw[i]);
    if (const cudnnStatus_t status = check_held(rule, to); status != CUDNN_STATUS_SUCCESS) return status;
    if (to->is_final) return failed(CUDNN_STATUS_BAD_PARAM, "a descriptor to fill is finalised already");
    *to = *from[static_cast<size_t>(i)];
  }
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t get_attribute(const BackendObject& object, cudnnBackendAttributeName_t name,
                            cudnnBackendAttributeType_t type, int64_t room, int64_t* count, void* values) {
  if (!object.is_final) return failed(CUDNN_STATUS_NOT_INITIALIZED, "the descriptor is not finalised");
  const AttributeRule* rule = nullptr;
  if (const cudnnStatus_t status = find_rule(object, name, type, rule); status != CUDNN_STATUS_SUCCESS)
    return status;
  const auto found = object.attributes.find(name);
  const AttributeValue none;
  const AttributeValue& value = found == object.attributes.end() ? none : found->second;
  if (values == nullptr || room == 0) {
    if (count == nullptr) return failed(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "nowhere to put the count");
    *count = value.count;
    // cuDNN 9.19 says so of the choices of knobs, however many there are, and counts more results of a
    // heuristic than it then has.
    if (name == CUDNN_ATTR_ENGINECFG_KNOB_CHOICES) *count = 0;
    if (name == CUDNN_ATTR_ENGINEHEUR_RESULTS) *count = value.count + 3;
    return CUDNN_STATUS_SUCCESS;
  }
  if (room < 0) return failed(CUDNN_STATUS_BAD_PARAM, "room for a negative number of values");
  const int64_t told = std::min(room, value.count);
  if (count != nullptr) *count = told;
  if (type == CUDNN_TYPE_BACKEND_DESCRIPTOR) return fill_objects(*rule, value.objects, told, values);
  std::memcpy(values, value.bytes.data(), bytes_of(type) * static_cast<size_t>(told));
  return CUDNN_STATUS_SUCCESS;
}

// Enqueues the plan's convolution.
cudnnStatus_t execute(cudaStream_t stream, const BackendObject& plan, const BackendObject& pack) {
  const auto uids = pack.values<int64_t>(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
  const auto pointers = pack.values<void*>(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
  std::map<int64_t, void*> tensors;
  for (size_t i = 0; i < uids.size(); ++i) tensors[uids[i]] = pointers[i];
  const Graph& graph = *plan.graph;
  for (const auto& [uid, alignment] : graph.alignment) {
    const auto found = tensors.find(uid);
    if (found == tensors.end() || found->second == nullptr)
      return failed(CUDNN_STATUS_BAD_PARAM, fmt::format("the variant pack has no tensor {}", uid));
    if (reinterpret_cast<uintptr_t>(found->second) % static_cast<uintptr_t>(alignment) != 0)
      return failed(CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER,
                    fmt::format("tensor {} is not aligned to {} bytes", uid, alignment));
  }
  void* workspace = nullptr;
  if (pack.has(CUDNN_ATTR_VARIANT_PACK_WORKSPACE))
    workspace = pack.value<void*>(CUDNN_ATTR_VARIANT_PACK_WORKSPACE);
  const auto bytes = static_cast<size_t>(plan.config.workspace_bytes);
  if (bytes > 0 && workspace == nullptr)
    return failed(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "the plan needs a workspace");
  if (const cudnnStatus_t status = status_in(plan.config.refusal); status != CUDNN_STATUS_SUCCESS)
    return failed(status, plan.config.name);
  load_kernels(&graph);
  const cudaError_t code =
      enqueue(stream, [=, shared = plan.graph, seconds = scripted_time(plan.config.seconds)] {
        scribble(workspace, bytes);
        const auto* const bias = shared->bias == 0 ? nullptr : static_cast<float*>(tensors.at(shared->bias));
        compute(shared->convolution, tensors.at(shared->input), tensors.at(shared->filter),
                tensors.at(shared->output), shared->alpha, shared->beta, bias);
        take(seconds);
      });
  if (code == cudaSuccess) return CUDNN_STATUS_SUCCESS;
  return failed(CUDNN_STATUS_EXECUTION_FAILED_CUDART, "cudnnBackendExecute");
}

}  // namespace

void BackendObject::put(cudnnBackendAttributeName_t name, std::vector<Object> objects) {
  AttributeValue& value = attributes[name];
  value.count = static_cast<int64_t>(objects.size());
  value.objects = std::move(objects);
}

const std::vector<Object>& BackendObject::objects(cudnnBackendAttributeName_t name) const {
  static const std::vector<Object> none;
  const auto found = attributes.find(name);
  return found == attributes.end() ? none : found->second.objects;
}

}  // namespace convscope::standin

using namespace convscope::standin;

extern "C" {

cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type,
                                           cudnnBackendDescriptor_t* descriptor) {
  if (const Fault fault = enter_cudnn("cudnnBackendCreateDescriptor")) return failed(fault);
  if (descriptor == nullptr)
    return failed(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "cudnnBackendCreateDescriptor");
  if (!is_known(type))
    return failed(CUDNN_STATUS_NOT_SUPPORTED,
                  fmt::format("the stand-in has no descriptor of type {}", static_cast<int>(type)));
  auto object = std::make_shared<BackendObject>();
  object->type = type;
  *descriptor = new Object(std::move(object));
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t descriptor) {
  if (const Fault fault = enter_cudnn("cudnnBackendDestroyDescriptor")) return failed(fault);
  if (descriptor == nullptr)
    return failed(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "cudnnBackendDestroyDescriptor");
  delete &object_at(descriptor);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t count, const void* values) {
  if (const Fault fault = enter_cudnn("cudnnBackendSetAttribute")) return failed(fault);
  if (descriptor == nullptr) return failed(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "cudnnBackendSetAttribute");
  return set_attribute(*object_at(descriptor), name, type, count, values);
}

cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t const descriptor,
                                       cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                                       int64_t room, int64_t* count, void* values) {
  if (const Fault fault = enter_cudnn("cudnnBackendGetAttribute")) return failed(fault);
  if (descriptor == nullptr) return failed(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "cudnnBackendGetAttribute");
  return get_attribute(*object_at(descriptor), name, type, room, count, values);
}

cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t descriptor) {
  if (const Fault fault = enter_cudnn("cudnnBackendFinalize")) return failed(fault);
  if (descriptor == nullptr) return failed(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "cudnnBackendFinalize");
  BackendObject& object = *object_at(descriptor);
  if (object.is_final) return failed(CUDNN_STATUS_BAD_PARAM, "the descriptor is finalised already");
  for (const AttributeRule& rule : attribute_rules())
    if (rule.owner == object.type && rule.is_required && !object.has(rule.name))
      return failed(CUDNN_STATUS_BAD_PARAM,
                    fmt::format("attribute {} was never set", static_cast<int>(rule.name)));
  const cudnnStatus_t status = finalize(object);
  object.is_final = status == CUDNN_STATUS_SUCCESS;
  return status;
}

cudnnStatus_t cudnnBackendExecute(cudnnHandle_t handle, cudnnBackendDescriptor_t plan,
                                  cudnnBackendDescriptor_t pack) {
  if (const Fault fault = enter_cudnn("cudnnBackendExecute")) return failed(fault);
  if (handle == nullptr || plan == nullptr || pack == nullptr)
    return failed(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "cudnnBackendExecute");
  const BackendObject &made = *object_at(plan), &given = *object_at(pack);
  if (made.type != CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR ||
      given.type != CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR)
    return failed(CUDNN_STATUS_BAD_PARAM_DESCRIPTOR_TYPE,
                  "cudnnBackendExecute takes a plan and a variant pack");
  if (!made.is_final || !given.is_final)
    return failed(CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED, "the plan or the variant pack");
  return execute(handle->stream, made, given);
}

}  // extern "C"
