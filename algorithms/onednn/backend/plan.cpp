// See plan.hpp.
#include "algorithms/onednn/backend/plan.hpp"

#include <oneapi/dnnl/dnnl_debug.h>

#include <algorithm>
#include <cstddef>
#include <stdexcept>

#include "algorithms/onednn/backend/descriptor.hpp"
#include "bench/core/rounding.hpp"

namespace convscope::onednn {
namespace {

constexpr int64_t kAlignment = 64;

int64_t aligned(size_t bytes) {
  return round_up(static_cast<int64_t>(bytes), kAlignment);
}

}  // namespace

dnnl_memory_t Memories::add(std::vector<Slot>& to, const dnnl::memory::desc& descriptor, int64_t offset) {
  to.push_back({dnnl::memory(descriptor, engine_, DNNL_MEMORY_NONE), offset});
  return to.back().memory.get();
}

dnnl_memory_t Memories::add_user(Role role, const dnnl::memory::desc& descriptor) {
  auto& memory = user_[static_cast<size_t>(role)];
  memory = dnnl::memory(descriptor, engine_, DNNL_MEMORY_NONE);
  return memory.get();
}

dnnl_memory_t Memories::add_bias(const dnnl::memory::desc& descriptor) {
  bias_ = dnnl::memory(descriptor, engine_, DNNL_MEMORY_NONE);
  return bias_.get();
}

dnnl_memory_t Memories::add_own(const dnnl::memory::desc& descriptor) {
  const dnnl_memory_t memory = add(own_, descriptor, own_bytes_);
  own_bytes_ += aligned(descriptor.get_size());
  return memory;
}

dnnl_memory_t Memories::add_scratch(const dnnl::memory::desc& descriptor) {
  scratch_bytes_ = std::max(scratch_bytes_, aligned(descriptor.get_size()));
  return add(scratch_, descriptor, 0);
}

void Memories::bind(const ConvArgs& args) {
  for (Role role : kRoles) user_[static_cast<size_t>(role)].set_data_handle(args.tensor(role));
  if (bias_) bias_.set_data_handle(const_cast<float*>(args.bias));  // oneDNN only reads it
  // Setting a pointer makes oneDNN 2 write the zeros of a padded layout, so do it only when it is a new one.
  if (args.workspace == bound_workspace_) return;
  bound_workspace_ = args.workspace;
  auto* base = static_cast<std::byte*>(args.workspace);
  for (Slot& slot : own_) slot.memory.set_data_handle(base + slot.offset);
  for (Slot& slot : scratch_) slot.memory.set_data_handle(base + own_bytes_);
}

void Step::execute(const dnnl::stream& stream) const {
  const dnnl_status_t status = dnnl_primitive_execute(primitive_.get(), stream.get(),
                                                      static_cast<int>(arguments_.size()), arguments_.data());
  if (status != dnnl_success)
    throw std::runtime_error(std::string("oneDNN could not execute a primitive (") + dnnl_status2str(status) +
                             ")");
}

ConvolutionPlan::ConvolutionPlan(const dnnl::engine& engine, const ConvProblem& problem, Method method,
                                 const dnnl::primitive_desc& chosen)
    : problem_(problem),
      method_(method),
      engine_(engine),
      stream_(engine),
      memories_(engine),
      implementation_(chosen.impl_info_str()) {
  std::vector<dnnl_exec_arg_t> arguments;
  for (Role role : kRoles)
    arguments.push_back({argument(problem.pass, role), add_operand(problem, chosen, role)});
  if (has_bias(problem.epilogue))
    arguments.push_back({DNNL_ARG_BIAS, memories_.add_bias(bias_descriptor(problem))});
  if (const auto scratch = chosen.scratchpad_desc(); scratch.get_size() > 0)
    arguments.push_back({DNNL_ARG_SCRATCHPAD, memories_.add_scratch(scratch)});
  convolution_.emplace_back(dnnl::primitive(chosen.get()), std::move(arguments));
}

std::optional<OperationCount> ConvolutionPlan::operations() const {
  if (method_ == Method::automatic || method_ == Method::winograd) return {};
  return OperationCount{problem_.nominal_flops(), 0,
                        static_cast<double>(problem_.total_bytes() + 2 * reordered_bytes_)};
}

std::vector<Step>& ConvolutionPlan::reorders_of(Role role, Pass pass) {
  if (role == written_role(pass)) return reorders_out_;
  return role == Role::filter ? filter_reorder_ : reorders_in_;
}

dnnl_memory_t ConvolutionPlan::add_operand(const ConvProblem& problem, const dnnl::primitive_desc& chosen,
                                           Role role) {
  const auto user = user_descriptor(problem, role), own = own_descriptor(chosen, problem.pass, role);
  const Tensor user_tensor{user, memories_.add_user(role, user)};
  if (user == own) return user_tensor.memory;
  const Tensor own_tensor{own, memories_.add_own(own)};
  reordered_bytes_ += static_cast<int64_t>(own.get_size());
  ConvProblem dense = problem;
  dense.layout = Layout::nchw;
  const bool written = role == written_role(problem.pass);
  add_reorder(reorders_of(role, problem.pass), written ? own_tensor : user_tensor,
              written ? user_tensor : own_tensor, user_descriptor(dense, role));
  return own_tensor.memory;
}

void ConvolutionPlan::add_reorder(std::vector<Step>& steps, const Tensor& from, const Tensor& to,
                                  const dnnl::memory::desc& plain) {
  try {
    steps.push_back(reorder(from, to));
  } catch (const dnnl::error& error) {
    // oneDNN transforms filters for Winograd from KCRS order only.
    if (error.status != dnnl_unimplemented || from.descriptor == plain || to.descriptor == plain) throw;
    const Tensor between{plain, memories_.add_own(plain)};
    steps.push_back(reorder(from, between));
    steps.push_back(reorder(between, to));
  }
}

Step ConvolutionPlan::reorder(const Tensor& from, const Tensor& to) {
  const dnnl::reorder::primitive_desc chosen(engine_, from.descriptor, engine_, to.descriptor, attributes());
  std::vector<dnnl_exec_arg_t> arguments{{DNNL_ARG_FROM, from.memory}, {DNNL_ARG_TO, to.memory}};
  if (const auto scratch = chosen.scratchpad_desc(); scratch.get_size() > 0)
    arguments.push_back({DNNL_ARG_SCRATCHPAD, memories_.add_scratch(scratch)});
  return {dnnl::reorder(chosen), std::move(arguments)};
}

void ConvolutionPlan::execute(const std::vector<Step>& steps, Phase phase, Queue& queue) const {
  if (steps.empty()) return;
  queue.phase(phase);
  for (const Step& step : steps) step.execute(stream_);
  queue.end_phase();
}

void ConvolutionPlan::prepare(const ConvArgs& args, Queue& queue) {
  memories_.bind(args);
  execute(filter_reorder_, Phase::prepare, queue);
}

void ConvolutionPlan::run(const ConvArgs& args, Queue& queue) {
  memories_.bind(args);
  execute(reorders_in_, Phase::layout, queue);
  execute(convolution_, Phase::product, queue);
  execute(reorders_out_, Phase::layout, queue);
}

}  // namespace convscope::onednn
