// See ../operations.hpp. The #ifs below are the only places that know two versions of oneDNN.
#include "algorithms/onednn/operations.hpp"

#include <oneapi/dnnl/dnnl.hpp>
#include <stdexcept>
#include <unordered_map>
#include <vector>

#include "algorithms/onednn/library.hpp"

namespace convscope::onednn {
namespace {

using dnnl::algorithm;
using dnnl::memory;
using dnnl::prop_kind;

// Krizhevsky et al. 2012, section 3.3. oneDNN divides alpha by the number of channels that it sums over.
constexpr int kLrnChannels = 5;
constexpr float kLrnAlpha = 1e-4F * kLrnChannels, kLrnBeta = 0.75F, kLrnBias = 2;

memory::desc dense(const Activations& shape) {
  return {{shape.n, shape.c, shape.h, shape.w}, memory::data_type::f32, memory::format_tag::nchw};
}
memory::desc one_a_channel(const Activations& shape) {
  return dense({1, shape.c, 1, 1});
}

#if DNNL_VERSION_MAJOR >= 3
template <typename Primitive, typename... Parts>
typename Primitive::primitive_desc describe(const dnnl::engine& engine, const Parts&... parts) {
  return {engine, parts...};
}
void append_relu(dnnl::post_ops& operations) {
  operations.append_eltwise(algorithm::eltwise_relu, 0, 0);
}
#else
// oneDNN 2 wants an operation descriptor first, and the attributes and the hint behind the engine.
template <typename Primitive, typename... Parts>
typename Primitive::primitive_desc describe(const dnnl::engine& engine, const Parts&... parts) {
  return {typename Primitive::desc(parts...), engine};
}
void append_relu(dnnl::post_ops& operations) {
  operations.append_eltwise(1, algorithm::eltwise_relu, 0, 0);
}
#endif

dnnl::binary::primitive_desc bias_addition(const dnnl::engine& engine, const Activations& shape, bool relu) {
  dnnl::primitive_attr attr;
  if (relu) {
    dnnl::post_ops operations;
    append_relu(operations);
    attr.set_post_ops(operations);
  }
  const memory::desc all = dense(shape), bias = one_a_channel(shape);
#if DNNL_VERSION_MAJOR >= 3
  return {engine, algorithm::binary_add, all, bias, all, attr};
#else
  return {dnnl::binary::desc(algorithm::binary_add, all, bias, all), attr, engine};
#endif
}

dnnl::eltwise_forward::primitive_desc relu_forward(const dnnl::engine& engine, const Activations& shape) {
#if DNNL_VERSION_MAJOR >= 3
  return describe<dnnl::eltwise_forward>(engine, prop_kind::forward_training, algorithm::eltwise_relu,
                                         dense(shape), dense(shape), 0.0F, 0.0F);
#else
  return describe<dnnl::eltwise_forward>(engine, prop_kind::forward_training, algorithm::eltwise_relu,
                                         dense(shape), 0.0F, 0.0F);
#endif
}

// By what forward wrote and not by what it read, as it is in place.
dnnl::eltwise_backward::primitive_desc relu_backward(const dnnl::engine& engine, const Activations& shape) {
  constexpr auto kind = algorithm::eltwise_relu_use_dst_for_bwd;
  const memory::desc all = dense(shape);
#if DNNL_VERSION_MAJOR >= 3
  const dnnl::eltwise_forward::primitive_desc hint(engine, prop_kind::forward_training, kind, all, all, 0.0F,
                                                   0.0F);
  return {engine, kind, all, all, all, 0.0F, 0.0F, hint};
#else
  const dnnl::eltwise_forward::primitive_desc hint(
      dnnl::eltwise_forward::desc(prop_kind::forward_training, kind, all, 0.0F, 0.0F), engine);
  return {dnnl::eltwise_backward::desc(kind, all, all, 0.0F, 0.0F), engine, hint};
#endif
}

dnnl::reduction::primitive_desc sum_over_channels(const dnnl::engine& engine, const Activations& shape) {
  return describe<dnnl::reduction>(engine, algorithm::reduction_sum, dense(shape), one_a_channel(shape), 0.0F,
                                   0.0F);
}

// A pool's windows as oneDNN has them: what the last one does not reach is negative padding behind.
struct Windows {
  memory::dims size, stride, pad, behind;
};
Windows windows_of(const OperationProblem& p) {
  const LayerOperation& pool = p.pool;
  const Activations out = p.out();
  return {{pool.window.h, pool.window.w},
          {pool.stride.h, pool.stride.w},
          {pool.pad.h, pool.pad.w},
          {(out.h - 1) * pool.stride.h + pool.window.h - p.in.h - pool.pad.h,
           (out.w - 1) * pool.stride.w + pool.window.w - p.in.w - pool.pad.w}};
}

dnnl::pooling_forward::primitive_desc pool_forward(const dnnl::engine& engine, const OperationProblem& p) {
  const Windows at = windows_of(p);
#if DNNL_VERSION_MAJOR >= 3
  return describe<dnnl::pooling_forward>(engine, prop_kind::forward_training, algorithm::pooling_max,
                                         dense(p.in), dense(p.out()), at.stride, at.size, memory::dims{0, 0},
                                         at.pad, at.behind);
#else
  return describe<dnnl::pooling_forward>(engine, prop_kind::forward_training, algorithm::pooling_max,
                                         dense(p.in), dense(p.out()), at.stride, at.size, at.pad, at.behind);
#endif
}

dnnl::pooling_backward::primitive_desc pool_backward(const dnnl::engine& engine, const OperationProblem& p,
                                                     const dnnl::pooling_forward::primitive_desc& hint) {
  const Windows at = windows_of(p);
#if DNNL_VERSION_MAJOR >= 3
  return {engine,  algorithm::pooling_max, dense(p.in), dense(p.out()), at.stride,
          at.size, memory::dims{0, 0},     at.pad,      at.behind,      hint};
#else
  return {dnnl::pooling_backward::desc(algorithm::pooling_max, dense(p.in), dense(p.out()), at.stride,
                                       at.size, at.pad, at.behind),
          engine, hint};
#endif
}

dnnl::lrn_forward::primitive_desc lrn_forward(const dnnl::engine& engine, const Activations& shape) {
  const memory::desc all = dense(shape);
#if DNNL_VERSION_MAJOR >= 3
  return {engine,
          prop_kind::forward_training,
          algorithm::lrn_across_channels,
          all,
          all,
          kLrnChannels,
          kLrnAlpha,
          kLrnBeta,
          kLrnBias};
#else
  return {dnnl::lrn_forward::desc(prop_kind::forward_training, algorithm::lrn_across_channels, all,
                                  kLrnChannels, kLrnAlpha, kLrnBeta, kLrnBias),
          engine};
#endif
}

dnnl::lrn_backward::primitive_desc lrn_backward(const dnnl::engine& engine, const Activations& shape,
                                                const dnnl::lrn_forward::primitive_desc& hint) {
  const memory::desc all = dense(shape);
#if DNNL_VERSION_MAJOR >= 3
  return {engine, algorithm::lrn_across_channels, all, all, all, kLrnChannels, kLrnAlpha, kLrnBeta, kLrnBias,
          hint};
#else
  return {dnnl::lrn_backward::desc(algorithm::lrn_across_channels, all, all, kLrnChannels, kLrnAlpha,
                                   kLrnBeta, kLrnBias),
          engine, hint};
#endif
}

// A primitive and the slots of its arguments, or the memory that forward keeps.
struct Step {
  dnnl::primitive primitive;
  std::unordered_map<int, memory> arguments;
  std::vector<std::pair<int, Slot>> slots;
  std::vector<int> kept;  // arguments

  void execute(const OperationTensors& tensors, void* kept_memory, dnnl::stream& stream) {
    for (const auto& [argument, slot] : slots) arguments.at(argument).set_data_handle(tensors[slot]);
    for (int argument : kept) arguments.at(argument).set_data_handle(kept_memory);
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
        add_pool(problem);
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
      step.slots.emplace_back(argument, slot);
    }
    if (keeps && descriptor.workspace_desc().get_size() > 0) {
      step.arguments.emplace(DNNL_ARG_WORKSPACE,
                             memory(descriptor.workspace_desc(), engine_, DNNL_MEMORY_NONE));
      step.kept.push_back(DNNL_ARG_WORKSPACE);
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
    const auto descriptor = bias_addition(engine_, problem.in, problem.sort == OperationSort::bias_relu);
    add(steps_, descriptor, dnnl::binary(descriptor),
        {{DNNL_ARG_SRC_0, Slot::y, all},
         {DNNL_ARG_SRC_1, Slot::parameter, one_a_channel(problem.in)},
         {DNNL_ARG_DST, Slot::y, all}});
  }

  void add_bias_relu_backward(const OperationProblem& problem) {
    const memory::desc all = dense(problem.in);
    if (problem.sort != OperationSort::bias) {
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
