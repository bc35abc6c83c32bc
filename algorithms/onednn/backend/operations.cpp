// See ../operations.hpp.
#include "algorithms/onednn/operations.hpp"

#include <stdexcept>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "algorithms/onednn/backend/operation_descriptors.hpp"
#include "algorithms/onednn/library.hpp"
#include "bench/core/rounding.hpp"

namespace convscope::onednn {
namespace {

using dnnl::memory;

// A primitive and the slots of its arguments, or the memory that forward keeps.
struct Step {
  dnnl::primitive primitive;
  std::unordered_map<int, memory> arguments;
  std::vector<std::tuple<int, Slot, int64_t>> slots;  // argument, tensor, where in it
  std::vector<std::pair<int, int64_t>> kept;          // argument, byte

  void execute(const OperationTensors& tensors, void* kept_memory, dnnl::stream& stream) {
    for (const auto& [argument, slot, first] : slots)
      arguments.at(argument).set_data_handle(tensors[slot] + first);
    for (const auto& [argument, byte] : kept)
      arguments.at(argument).set_data_handle(static_cast<char*>(kept_memory) + byte);
    primitive.execute(stream, arguments);
  }
};

class LibraryPlan final : public OperationPlan {
 public:
  explicit LibraryPlan(const OperationProblem& problem)
      : engine_(dnnl::engine::kind::cpu, 0), stream_(engine_) {
    switch (problem.sort) {
      case OperationSort::bias:
      case OperationSort::relu:
      case OperationSort::bias_relu:
        problem.backward ? add_bias_relu_backward(problem) : add_bias_relu_forward(problem);
        break;
      case OperationSort::lrn:
        add_lrn(problem);
        break;
      case OperationSort::pool:
      case OperationSort::mean:
        add_pool(problem);
        break;
      case OperationSort::batch_norm:
      case OperationSort::batch_norm_relu:
        add_batch_norm(problem);
        break;
      case OperationSort::add:
      case OperationSort::add_relu:
        add_addition(problem);
        break;
      case OperationSort::copy:
        add_copy(problem);
        break;
      case OperationSort::update:
      case OperationSort::one_bit:
        throw std::logic_error("oneDNN has no " + to_text(problem));
    }
  }

  int64_t kept_bytes() const override { return kept_bytes_; }
  std::string implementation() const override { return implementation_; }
  void prepare(const OperationTensors& tensors, void* kept, Queue&) override {
    execute(forward_, tensors, kept);
  }
  void run(const OperationTensors& tensors, void* kept, Queue&) override { execute(steps_, tensors, kept); }

 private:
  template <typename Descriptor, typename Primitive>
  void add(std::vector<Step>& to, const Descriptor& descriptor, const Primitive& primitive,
           std::vector<std::tuple<int, Slot, memory::desc>> slots, bool keeps = false) {
    Step step{primitive, {}, {}, {}};
    for (const auto& [argument, slot, of] : slots) {
      step.arguments.emplace(argument, memory(of, engine_, DNNL_MEMORY_NONE));
      step.slots.emplace_back(argument, slot, 0);
    }
    if (keeps && descriptor.workspace_desc().get_size() > 0) {
      step.arguments.emplace(DNNL_ARG_WORKSPACE,
                             memory(descriptor.workspace_desc(), engine_, DNNL_MEMORY_NONE));
      step.kept.emplace_back(DNNL_ARG_WORKSPACE, 0);
      kept_bytes_ = static_cast<int64_t>(descriptor.workspace_desc().get_size());
    }
    if (!implementation_.empty()) implementation_ += ", ";
    implementation_ += descriptor.impl_info_str();
    to.push_back(std::move(step));
  }

  void add_bias_relu_forward(const OperationProblem& problem) {
    const memory::desc all = dense(problem.in);
    if (problem.sort == OperationSort::relu) {
      const auto descriptor = relu_forward(engine_, problem.in);
      add(steps_, descriptor, dnnl::eltwise_forward(descriptor),
          {{DNNL_ARG_SRC, Slot::y, all}, {DNNL_ARG_DST, Slot::y, all}});
      return;
    }
    const auto descriptor = addition(engine_, problem.in, one_a_channel(problem.in), problem.has_relu());
    add(steps_, descriptor, dnnl::binary(descriptor),
        {{DNNL_ARG_SRC_0, Slot::y, all},
         {DNNL_ARG_SRC_1, Slot::parameter, one_a_channel(problem.in)},
         {DNNL_ARG_DST, Slot::y, all}});
  }

  void add_bias_relu_backward(const OperationProblem& problem) {
    const memory::desc all = dense(problem.in);
    if (problem.has_relu()) {
      const auto descriptor = relu_backward(engine_, problem.in);
      add(steps_, descriptor, dnnl::eltwise_backward(descriptor),
          {{DNNL_ARG_DST, Slot::y, all},
           {DNNL_ARG_DIFF_DST, Slot::dy, all},
           {DNNL_ARG_DIFF_SRC, Slot::dy, all}});
    }
    if (problem.sort == OperationSort::relu) return;
    const auto descriptor = sum_over_channels(engine_, problem.in);
    add(steps_, descriptor, dnnl::reduction(descriptor),
        {{DNNL_ARG_SRC, Slot::dy, all}, {DNNL_ARG_DST, Slot::parameter_gradient, one_a_channel(problem.in)}});
  }

  void add_lrn(const OperationProblem& problem) {
    const memory::desc all = dense(problem.in);
    const auto forward = lrn_forward(engine_, problem.in);
    add(problem.backward ? forward_ : steps_, forward, dnnl::lrn_forward(forward),
        {{DNNL_ARG_SRC, Slot::x, all}, {DNNL_ARG_DST, Slot::y, all}}, true);
    if (!problem.backward) return;
    implementation_.clear();
    const auto backward = lrn_backward(engine_, problem.in, forward);
    add(steps_, backward, dnnl::lrn_backward(backward),
        {{DNNL_ARG_SRC, Slot::x, all},
         {DNNL_ARG_DIFF_DST, Slot::dy, all},
         {DNNL_ARG_DIFF_SRC, Slot::dx, all}},
        true);
  }

  void add_pool(const OperationProblem& problem) {
    const memory::desc in = dense(problem.in), out = dense(problem.out());
    const auto forward = pool_forward(engine_, problem);
    add(problem.backward ? forward_ : steps_, forward, dnnl::pooling_forward(forward),
        {{DNNL_ARG_SRC, Slot::x, in}, {DNNL_ARG_DST, Slot::y, out}}, true);
    if (!problem.backward) return;
    implementation_.clear();
    const auto backward = pool_backward(engine_, problem, forward);
    add(steps_, backward, dnnl::pooling_backward(backward),
        {{DNNL_ARG_DIFF_DST, Slot::dy, out}, {DNNL_ARG_DIFF_SRC, Slot::dx, in}}, true);
  }

  void add_addition(const OperationProblem& problem) {
    const memory::desc all = dense(problem.in);
    const auto descriptor = addition(engine_, problem.in, all, problem.has_relu());
    add(steps_, descriptor, dnnl::binary(descriptor),
        {{DNNL_ARG_SRC_0, Slot::y, all}, {DNNL_ARG_SRC_1, Slot::x, all}, {DNNL_ARG_DST, Slot::y, all}});
  }

  void add_copy(const OperationProblem& problem) {
    const memory::desc all = dense(problem.in);
    const dnnl::reorder::primitive_desc descriptor(engine_, all, engine_, all);
    add(steps_, descriptor, dnnl::reorder(descriptor),
        {{DNNL_ARG_FROM, Slot::x, all}, {DNNL_ARG_TO, Slot::y, all}});
  }

  void add_batch_norm(const OperationProblem& problem) {
    const memory::desc all = dense(problem.in), channels = channels_of(problem.in);
    const auto forward = batch_norm_forward(engine_, problem);
    std::vector<Step>& first = problem.backward ? forward_ : steps_;
    add(first, forward, dnnl::batch_normalization_forward(forward),
        {{DNNL_ARG_SRC, Slot::x, all},
         {DNNL_ARG_DST, Slot::y, all},
         {DNNL_ARG_SCALE, Slot::parameter, channels},
         {DNNL_ARG_SHIFT, Slot::parameter, channels}},
        true);
    finish_batch_norm(first.back(), problem.in.c);
    if (!problem.backward) return;
    implementation_.clear();
    const auto backward = batch_norm_backward(engine_, problem, forward);
    add(steps_, backward, dnnl::batch_normalization_backward(backward),
        {{DNNL_ARG_SRC, Slot::x, all},
         {DNNL_ARG_DIFF_DST, Slot::dy, all},
         {DNNL_ARG_DIFF_SRC, Slot::dx, all},
         {DNNL_ARG_SCALE, Slot::parameter, channels},
         {DNNL_ARG_SHIFT, Slot::parameter, channels},
         {DNNL_ARG_DIFF_SCALE, Slot::parameter_gradient, channels},
         {DNNL_ARG_DIFF_SHIFT, Slot::parameter_gradient, channels}},
        true);
    finish_batch_norm(steps_.back(), problem.in.c);
  }

  // Shifts stand behind the scales; mean and variance behind the workspace.
  void finish_batch_norm(Step& step, int64_t channels) {
    for (auto& [argument, slot, first] : step.slots)
      if (argument == DNNL_ARG_SHIFT || argument == DNNL_ARG_DIFF_SHIFT) first = channels;
    const bool has_workspace = !step.kept.empty();
    int64_t byte = has_workspace ? round_up(workspace_bytes_of(step), int64_t{64}) : 0;
    for (int argument : {DNNL_ARG_MEAN, DNNL_ARG_VARIANCE}) {
      step.arguments.emplace(argument, memory(channels_of({1, channels, 1, 1}), engine_, DNNL_MEMORY_NONE));
      step.kept.emplace_back(argument, byte);
      byte += channels * static_cast<int64_t>(sizeof(float));
    }
    kept_bytes_ = byte;
  }
  static int64_t workspace_bytes_of(const Step& step) {
    return static_cast<int64_t>(step.arguments.at(DNNL_ARG_WORKSPACE).get_desc().get_size());
  }

  void execute(std::vector<Step>& steps, const OperationTensors& tensors, void* kept) {
    for (Step& step : steps) step.execute(tensors, kept, stream_);
    stream_.wait();
  }

  dnnl::engine engine_;
  dnnl::stream stream_;
  std::vector<Step> forward_, steps_;  // of backward: what makes its workspace, and itself
  int64_t kept_bytes_ = 0;
  std::string implementation_;
};

std::string words(const dnnl::error& error) {
  return "oneDNN: " + std::string(error.message);
}

class LibraryOperations final : public OperationAlgorithm {
 public:
  std::string provider() const override { return "onednn"; }
  std::string version() const override { return onednn::version(); }
  bool runs_on(DeviceKind kind) const override { return kind == DeviceKind::cpu; }
  std::optional<std::string> refusal(const OperationProblem& problem) const override {
    if (problem.sort == OperationSort::update) return "oneDNN has no update of parameters";
    if (problem.sort == OperationSort::one_bit) return "oneDNN has no 1-bit codec";
    return {};
  }
  std::unique_ptr<OperationPlan> plan(const OperationProblem& problem, Device&) const override {
    try {
      dnnl::set_primitive_cache_capacity(0);
      return std::make_unique<LibraryPlan>(problem);
    } catch (const dnnl::error& error) {
      throw std::runtime_error(words(error));
    }
  }
};

}  // namespace

std::unique_ptr<OperationAlgorithm> operations() {
  return std::make_unique<LibraryOperations>();
}

}  // namespace convscope::onednn
