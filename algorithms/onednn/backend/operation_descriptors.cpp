// See operation_descriptors.hpp.
#include "algorithms/onednn/backend/operation_descriptors.hpp"

#include "algorithms/onednn/backend/descriptor.hpp"
#include "bench/core/local_response.hpp"

namespace convscope::onednn {
namespace {

using dnnl::algorithm;
using dnnl::memory;
using dnnl::prop_kind;

// oneDNN divides alpha by the number of channels that it sums over.
constexpr int kLrnChannels = local_response::kChannels;
constexpr float kLrnAlpha = local_response::kAlpha * kLrnChannels, kLrnBeta = local_response::kBeta,
                kLrnBias = local_response::kBias;

#if DNNL_VERSION_MAJOR >= 3
template <typename Primitive, typename... Parts>
typename Primitive::primitive_desc describe(const dnnl::engine& engine, const Parts&... parts) {
  return {engine, parts...};
}
#else
// oneDNN 2 wants an operation descriptor first, and the attributes and the hint behind the engine.
template <typename Primitive, typename... Parts>
typename Primitive::primitive_desc describe(const dnnl::engine& engine, const Parts&... parts) {
  return {typename Primitive::desc(parts...), engine};
}
#endif

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

algorithm pooling_of(const OperationProblem& p) {
  if (p.sort == OperationSort::pool) return algorithm::pooling_max;
  return p.pool.counts_padding ? algorithm::pooling_avg_include_padding
                               : algorithm::pooling_avg_exclude_padding;
}

dnnl::normalization_flags batch_norm_flags(const OperationProblem& p) {
  const auto flags = dnnl::normalization_flags::use_scale | dnnl::normalization_flags::use_shift;
  return p.has_relu() ? flags | dnnl::normalization_flags::fuse_norm_relu : flags;
}

}  // namespace

memory::desc dense(const Activations& shape) {
  return {{shape.n, shape.c, shape.h, shape.w}, memory::data_type::f32, memory::format_tag::nchw};
}
memory::desc one_a_channel(const Activations& shape) {
  return dense({1, shape.c, 1, 1});
}

memory::desc channels_of(const Activations& shape) {
  return {{shape.c}, memory::data_type::f32, memory::format_tag::a};
}

dnnl::binary::primitive_desc addition(const dnnl::engine& engine, const Activations& shape,
                                      const memory::desc& other, bool relu) {
  dnnl::primitive_attr attr;
  if (relu) attr.set_post_ops(relu_behind());
  const memory::desc all = dense(shape);
#if DNNL_VERSION_MAJOR >= 3
  return {engine, algorithm::binary_add, all, other, all, attr};
#else
  return {dnnl::binary::desc(algorithm::binary_add, all, other, all), attr, engine};
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

dnnl::pooling_forward::primitive_desc pool_forward(const dnnl::engine& engine, const OperationProblem& p) {
  const Windows at = windows_of(p);
#if DNNL_VERSION_MAJOR >= 3
  return describe<dnnl::pooling_forward>(engine, prop_kind::forward_training, pooling_of(p), dense(p.in),
                                         dense(p.out()), at.stride, at.size, memory::dims{0, 0}, at.pad,
                                         at.behind);
#else
  return describe<dnnl::pooling_forward>(engine, prop_kind::forward_training, pooling_of(p), dense(p.in),
                                         dense(p.out()), at.stride, at.size, at.pad, at.behind);
#endif
}

dnnl::pooling_backward::primitive_desc pool_backward(const dnnl::engine& engine, const OperationProblem& p,
                                                     const dnnl::pooling_forward::primitive_desc& hint) {
  const Windows at = windows_of(p);
#if DNNL_VERSION_MAJOR >= 3
  return {engine,  pooling_of(p),      dense(p.in), dense(p.out()), at.stride,
          at.size, memory::dims{0, 0}, at.pad,      at.behind,      hint};
#else
  return {dnnl::pooling_backward::desc(pooling_of(p), dense(p.in), dense(p.out()), at.stride, at.size, at.pad,
                                       at.behind),
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

dnnl::batch_normalization_forward::primitive_desc batch_norm_forward(const dnnl::engine& engine,
                                                                     const OperationProblem& p) {
  constexpr auto epsilon = static_cast<float>(kBatchNormEpsilon);
#if DNNL_VERSION_MAJOR >= 3
  return {engine, prop_kind::forward_training, dense(p.in), dense(p.in), epsilon, batch_norm_flags(p)};
#else
  return {dnnl::batch_normalization_forward::desc(prop_kind::forward_training, dense(p.in), epsilon,
                                                  batch_norm_flags(p)),
          engine};
#endif
}

dnnl::batch_normalization_backward::primitive_desc batch_norm_backward(
    const dnnl::engine& engine, const OperationProblem& p,
    const dnnl::batch_normalization_forward::primitive_desc& hint) {
  constexpr auto epsilon = static_cast<float>(kBatchNormEpsilon);
  const memory::desc all = dense(p.in);
#if DNNL_VERSION_MAJOR >= 3
  return {engine, prop_kind::backward, all, all, all, epsilon, batch_norm_flags(p), hint};
#else
  return {
      dnnl::batch_normalization_backward::desc(prop_kind::backward, all, all, epsilon, batch_norm_flags(p)),
      engine, hint};
#endif
}

}  // namespace convscope::onednn
