// See descriptor.hpp.
#include "algorithms/onednn/backend/descriptor.hpp"

#include <functional>
#include <string_view>

namespace convscope::onednn {
namespace {

using dnnl::memory;

// Says whether an implementation is wanted.
using Accept = std::function<bool(const dnnl::primitive_desc&)>;

// The first implementation from `candidate` on that is accepted; empty when the list ends before.
template <typename Descriptor>
Descriptor advance(Descriptor candidate, const Accept& accept) {
  do
    if (accept(candidate)) return candidate;
  while (candidate.next_impl());
  return {};
}

// What backward needs of forward is computed from what ReLU left, so that a fused forward keeps nothing.
dnnl::prop_kind kind_of(Epilogue epilogue) {
  return epilogue == Epilogue::none ? dnnl::prop_kind::forward_training : dnnl::prop_kind::forward_inference;
}

// oneDNN 2 goes through operation descriptors, which have to live while its list of implementations is
// walked; oneDNN 3 builds primitive descriptors at once.
#if DNNL_VERSION_MAJOR >= 3
template <typename... Parts>
dnnl::convolution_forward::primitive_desc find_forward(const Accept& accept, const dnnl::engine& engine,
                                                       Epilogue epilogue, const Parts&... parts) {
  using Descriptor = dnnl::convolution_forward::primitive_desc;
  return advance(Descriptor(engine, kind_of(epilogue), parts..., attributes(epilogue)), accept);
}
template <typename Convolution, typename... Parts>
typename Convolution::primitive_desc find_backward(const Accept& accept, const dnnl::engine& engine,
                                                   const dnnl::convolution_forward::primitive_desc& hint,
                                                   const Parts&... parts) {
  using Descriptor = typename Convolution::primitive_desc;
  return advance(Descriptor(engine, parts..., hint, attributes()), accept);
}
#else
template <typename... Parts>
dnnl::convolution_forward::primitive_desc find_forward(const Accept& accept, const dnnl::engine& engine,
                                                       Epilogue epilogue, const Parts&... parts) {
  const dnnl::convolution_forward::desc operation(kind_of(epilogue), parts...);
  const dnnl::primitive_attr attr = attributes(epilogue);
  return advance(dnnl::convolution_forward::primitive_desc(operation, attr, engine), accept);
}
template <typename Convolution, typename... Parts>
typename Convolution::primitive_desc find_backward(const Accept& accept, const dnnl::engine& engine,
                                                   const dnnl::convolution_forward::primitive_desc& hint,
                                                   const Parts&... parts) {
  const typename Convolution::desc operation(parts...);
  const dnnl::primitive_attr attr = attributes();
  return advance(typename Convolution::primitive_desc(operation, attr, engine, hint), accept);
}
#endif

struct Tensors {
  memory::desc input, filter, output;
};

// (n, c, h, w), (k, c, r, s) or (g, k, c, r, s).
memory::dims sizes(const ConvProblem& p, Role role) {
  const TensorShape shape = p.shape(role);
  memory::dims dims(shape.size.begin(), shape.size.end());
  if (role == Role::filter && p.groups > 1) {
    dims.insert(dims.begin(), p.groups);
    dims[1] = p.out_channels_per_group();
  }
  return dims;
}

memory::desc any_layout(const ConvProblem& p, Role role) {
  return {sizes(p, role), memory::data_type::f32, memory::format_tag::any};
}

Choice find(dnnl::algorithm algorithm, const ConvProblem& p, const Tensors& t, const dnnl::engine& engine,
            const Accept& accept) {
  const memory::dims stride{p.stride.h, p.stride.w}, pad{p.pad.h, p.pad.w};
  const memory::dims dilation{p.dilation.h - 1, p.dilation.w - 1};  // oneDNN counts from zero
  const auto forward = [&](dnnl::algorithm of, const Accept& wanted) {
    if (has_bias(p.epilogue))
      return find_forward(wanted, engine, p.epilogue, of, t.input, t.filter, bias_descriptor(p), t.output,
                          stride, dilation, pad, pad);
    return find_forward(wanted, engine, p.epilogue, of, t.input, t.filter, t.output, stride, dilation, pad,
                        pad);
  };
  if (p.pass == Pass::forward) return {forward(algorithm, accept), {}};
  const auto hint = forward(dnnl::algorithm::convolution_direct, [](const auto&) { return true; });
  if (p.pass == Pass::backward_data)
    return {find_backward<dnnl::convolution_backward_data>(accept, engine, hint, algorithm, t.input, t.filter,
                                                           t.output, stride, dilation, pad, pad),
            hint};
  return {find_backward<dnnl::convolution_backward_weights>(accept, engine, hint, algorithm, t.input,
                                                            t.filter, t.output, stride, dilation, pad, pad),
          hint};
}

bool is_of(Method method, std::string_view implementation) {
  const auto has = [&](std::string_view word) { return implementation.find(word) != implementation.npos; };
  switch (method) {
    case Method::automatic:
      return true;
    case Method::direct:
      return !has("gemm:") && !has("ref");
    case Method::winograd:
      return has("wino");
    case Method::gemm:
      return has("gemm:");
  }
  return false;
}

dnnl::algorithm algorithm_of(Method method) {
  switch (method) {
    case Method::automatic:
      return dnnl::algorithm::convolution_auto;
    case Method::winograd:
      return dnnl::algorithm::convolution_winograd;
    case Method::direct:
    case Method::gemm:
      break;
  }
  return dnnl::algorithm::convolution_direct;
}

}  // namespace

memory::desc user_descriptor(const ConvProblem& p, Role role) {
  const TensorShape shape = p.shape(role);
  memory::dims strides(shape.stride.begin(), shape.stride.end());
  if (role == Role::filter && p.groups > 1)
    strides.insert(strides.begin(), p.out_channels_per_group() * shape.stride[0]);
  return {sizes(p, role), memory::data_type::f32, strides};
}

memory::desc bias_descriptor(const ConvProblem& p) {
  return {{p.out_channels}, memory::data_type::f32, memory::format_tag::x};
}

memory::desc own_descriptor(const dnnl::primitive_desc& chosen, Pass pass, Role role) {
  switch (role) {
    case Role::input:
      return pass == Pass::backward_data ? chosen.diff_src_desc() : chosen.src_desc();
    case Role::filter:
      return pass == Pass::backward_filter ? chosen.diff_weights_desc() : chosen.weights_desc();
    case Role::output:
      break;
  }
  return pass == Pass::forward ? chosen.dst_desc() : chosen.diff_dst_desc();
}

int argument(Pass pass, Role role) {
  switch (role) {
    case Role::input:
      return pass == Pass::backward_data ? DNNL_ARG_DIFF_SRC : DNNL_ARG_SRC;
    case Role::filter:
      return pass == Pass::backward_filter ? DNNL_ARG_DIFF_WEIGHTS : DNNL_ARG_WEIGHTS;
    case Role::output:
      break;
  }
  return pass == Pass::forward ? DNNL_ARG_DST : DNNL_ARG_DIFF_DST;
}

dnnl::post_ops relu_behind() {
  dnnl::post_ops operations;
#if DNNL_VERSION_MAJOR >= 3
  operations.append_eltwise(dnnl::algorithm::eltwise_relu, 0, 0);
#else
  operations.append_eltwise(1, dnnl::algorithm::eltwise_relu, 0, 0);
#endif
  return operations;
}

dnnl::primitive_attr attributes(Epilogue epilogue) {
  dnnl::primitive_attr attr;
  if (has_relu(epilogue)) attr.set_post_ops(relu_behind());
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attr;
}

Choice choose(Method method, const ConvProblem& problem, const dnnl::engine& engine) {
  const Tensors any{any_layout(problem, Role::input), any_layout(problem, Role::filter),
                    any_layout(problem, Role::output)};
  std::string offered;
  const auto accept = [&](const dnnl::primitive_desc& candidate) {
    const std::string implementation = candidate.impl_info_str();
    offered += (offered.empty() ? "" : ", ") + implementation;
    return is_of(method, implementation);
  };
  Choice choice = find(algorithm_of(method), problem, any, engine, accept);
  if (!choice.implementation) throw NoImplementation{offered};
  return choice;
}

}  // namespace convscope::onednn
