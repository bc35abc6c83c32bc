#include "algorithms/cudnn/library.hpp"

#include "algorithms/cudnn/backend/plans.hpp"
#include "bench/device/cuda/cuda.hpp"
#include "bench/device/cuda/cuda_queue.hpp"

namespace convscope::cudnn {
namespace {

// Launches that one call of cuDNN takes, at most, in the queue of a held stream.
constexpr int kOperationsPerCall = 32;

}  // namespace

void use_queue(const Handle& handle, Queue& queue) {
  check(api().set_stream(handle.get(), cuda::cuda_queue(queue).stream_for(kOperationsPerCall)),
        "cudnnSetStream");
}

std::string unusable_because() {
  return api().defect;
}

std::string version() {
  if (!cuda::device_defect().empty() || !unusable_because().empty()) return "";
  return version_text(api().version());
}

std::unique_ptr<Plan> make_plan(const Variant& variant, const ConvProblem& problem, Device& device,
                                const PlanOptions& options) {
  if (variant.transposed) return make_transposed_plan(variant, problem, device, options);
  return asks_graph(variant) ? make_graph_plan(variant, problem, device, options)
                             : make_legacy_plan(variant, problem, options);
}

}  // namespace convscope::cudnn
