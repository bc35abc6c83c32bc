// A plan in the other layout. Tensors are transformed into the workspace, or out of it, by cuDNN: the filter
// in prepare(), as it changes less often, the others in run().
#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <utility>

#include "algorithms/cudnn/backend/legacy.hpp"
#include "algorithms/cudnn/backend/plans.hpp"
#include "algorithms/cudnn/library.hpp"
#include "bench/core/rounding.hpp"

namespace convscope::cudnn {
namespace {

constexpr int64_t kTensorAlignment = 256;

int64_t aligned_bytes(const ConvProblem& problem, Role role) {
  return round_up(problem.bytes(role), kTensorAlignment);
}

class TransposedPlan final : public Plan {
 public:
  TransposedPlan(const ConvProblem& problem, const ConvProblem& inner_problem, std::unique_ptr<Plan> inner)
      : handle_(shared_handle()), written_(written_role(problem.pass)), inner_(std::move(inner)) {
    for (Role role : kRoles) {
      Tensor& tensor = tensors_[static_cast<size_t>(role)];
      tensor.user = tensor_descriptor(problem, role);
      tensor.inner = tensor_descriptor(inner_problem, role);
      tensor.offset = bytes_;
      bytes_ += aligned_bytes(problem, role);
    }
  }

  int64_t workspace_bytes() const override { return bytes_ + inner_->workspace_bytes(); }
  std::string implementation() const override { return inner_->implementation() + ", transposed"; }
  const LibraryAnswer* answer() const override { return inner_->answer(); }
  bool has_prepare() const override { return written_ != Role::filter; }

  void prepare(const ConvArgs& args, Queue& queue) override {
    use_queue(handle_, queue);
    read(Role::filter, args);
  }

  void run(const ConvArgs& args, Queue& queue) override {
    use_queue(handle_, queue);
    queue.phase(Phase::layout);
    for (Role role : kRoles)
      if (role != written_ && role != Role::filter) read(role, args);
    queue.phase(Phase::product);
    inner_->run({inner(Role::input, args), inner(Role::filter, args), inner(Role::output, args),
                 static_cast<std::byte*>(args.workspace) + bytes_},
                queue);
    queue.phase(Phase::layout);
    const Tensor& tensor = tensors_[static_cast<size_t>(written_)];
    transform(tensor.inner, inner(written_, args), tensor.user, args.tensor(written_));
    queue.end_phase();
  }

 private:
  struct Tensor {
    TensorDescriptor user{nullptr, nullptr}, inner{nullptr, nullptr};
    int64_t offset = 0;
  };

  void* inner(Role role, const ConvArgs& args) const {
    return static_cast<std::byte*>(args.workspace) + tensors_[static_cast<size_t>(role)].offset;
  }

  void read(Role role, const ConvArgs& args) {
    const Tensor& tensor = tensors_[static_cast<size_t>(role)];
    transform(tensor.user, args.tensor(role), tensor.inner, inner(role, args));
  }

  void transform(const TensorDescriptor& from, const void* data, const TensorDescriptor& to, void* result) {
    constexpr float one = 1, zero = 0;
    check(api().transform_tensor(handle_.get(), &one, from.get(), data, &zero, to.get(), result),
          "cudnnTransformTensor");
  }

  Handle handle_;
  Role written_;
  std::unique_ptr<Plan> inner_;
  std::array<Tensor, kRoles.size()> tensors_;
  int64_t bytes_ = 0;
};

}  // namespace

std::unique_ptr<Plan> make_transposed_plan(const Variant& variant, const ConvProblem& problem, Device& device,
                                           const PlanOptions& options) {
  ConvProblem inner_problem = problem;
  inner_problem.layout = problem.layout == Layout::nhwc ? Layout::nchw : Layout::nhwc;
  Variant inner_variant = variant;
  inner_variant.transposed = false;
  PlanOptions inner_options = options;
  for (Role role : kRoles) inner_options.workspace_cap -= aligned_bytes(problem, role);
  if (inner_options.workspace_cap < 0)
    throw Refused(Reason::workspace_over_cap,
                  fmt::format("the transposed tensors alone take {} bytes: the cap is {}",
                              options.workspace_cap - inner_options.workspace_cap, options.workspace_cap));
  try {
    return std::make_unique<TransposedPlan>(problem, inner_problem,
                                            make_plan(inner_variant, inner_problem, device, inner_options));
  } catch (const Refused& refusal) {
    if (refusal.reason() != Reason::workspace_over_cap) throw;
    const std::string why = fmt::format("{} beside {} bytes of transposed tensors", refusal.what(),
                                        options.workspace_cap - inner_options.workspace_cap);
    if (refusal.answer() == nullptr) throw Refused(refusal.reason(), why);
    throw Refused(refusal.reason(), why, *refusal.answer());
  }
}

}  // namespace convscope::cudnn
