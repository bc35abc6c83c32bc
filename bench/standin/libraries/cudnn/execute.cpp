// Executing a plan.
#include <fmt/format.h>

#include <cstdint>

#include "bench/standin/libraries/cudnn/backend.hpp"
#include "bench/standin/libraries/runtime.hpp"

namespace convscope::standin {

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
        compute(shared->convolution, tensors.at(shared->input), tensors.at(shared->filter),
                tensors.at(shared->output), shared->alpha, shared->beta);
        take(seconds);
      });
  if (code == cudaSuccess) return CUDNN_STATUS_SUCCESS;
  return failed(CUDNN_STATUS_EXECUTION_FAILED_CUDART, "cudnnBackendExecute");
}

}  // namespace convscope::standin
