// oneDNN's descriptors of the operations between convolutions, in f32 and nchw. Throws dnnl::error.
#pragma once

#include <oneapi/dnnl/dnnl.hpp>

#include "bench/core/operation_problem.hpp"

namespace convscope::onednn {

// A value for each element, for each channel as an activation, and for each channel alone.
dnnl::memory::desc dense(const Activations& shape);
dnnl::memory::desc one_a_channel(const Activations& shape);
dnnl::memory::desc channels_of(const Activations& shape);

// `other`: dense, or one_a_channel.
dnnl::binary::primitive_desc addition(const dnnl::engine& engine, const Activations& shape,
                                      const dnnl::memory::desc& other, bool relu);
dnnl::eltwise_forward::primitive_desc relu_forward(const dnnl::engine& engine, const Activations& shape);
// By what forward wrote and not by what it read, as it is in place.
dnnl::eltwise_backward::primitive_desc relu_backward(const dnnl::engine& engine, const Activations& shape);
dnnl::reduction::primitive_desc sum_over_channels(const dnnl::engine& engine, const Activations& shape);

dnnl::pooling_forward::primitive_desc pool_forward(const dnnl::engine& engine, const OperationProblem& p);
dnnl::pooling_backward::primitive_desc pool_backward(const dnnl::engine& engine, const OperationProblem& p,
                                                     const dnnl::pooling_forward::primitive_desc& hint);

dnnl::lrn_forward::primitive_desc lrn_forward(const dnnl::engine& engine, const Activations& shape);
dnnl::lrn_backward::primitive_desc lrn_backward(const dnnl::engine& engine, const Activations& shape,
                                                const dnnl::lrn_forward::primitive_desc& hint);

dnnl::batch_normalization_forward::primitive_desc batch_norm_forward(const dnnl::engine& engine,
                                                                     const OperationProblem& p);
dnnl::batch_normalization_backward::primitive_desc batch_norm_backward(
    const dnnl::engine& engine, const OperationProblem& p,
    const dnnl::batch_normalization_forward::primitive_desc& hint);

}  // namespace convscope::onednn
