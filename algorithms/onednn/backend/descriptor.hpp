// From a ConvProblem to an implementation that oneDNN offers for it: memory descriptors and primitive
// descriptors, no memory and no code yet. Only descriptor.cpp and operation_descriptors.cpp know oneDNN 2
// from 3.
#pragma once

#include <oneapi/dnnl/dnnl.hpp>
#include <string>

#include "algorithms/onednn/library.hpp"
#include "bench/core/problem.hpp"

namespace convscope::onednn {

// The user's tensor: f32, strided as the problem's layout says; a grouped filter is 5-D (g, k, c, r, s).
dnnl::memory::desc user_descriptor(const ConvProblem& problem, Role role);
// The bias of the problem's epilogue.
dnnl::memory::desc bias_descriptor(const ConvProblem& problem);

// What the chosen implementation works on (its layout of the tensor), and the argument index it has there.
dnnl::memory::desc own_descriptor(const dnnl::primitive_desc& chosen, Pass pass, Role role);
int argument(Pass pass, Role role);

// ReLU behind a primitive.
dnnl::post_ops relu_behind();

// User-mode scratchpad: primitives allocate nothing of their own. With ReLU as a post-operation where the
// epilogue has it.
dnnl::primitive_attr attributes(Epilogue epilogue = Epilogue::none);

// The hint is the forward descriptor that oneDNN wants beside a backward one. It reads it whenever it looks
// at an implementation, so the two live together until the primitive has been made.
struct Choice {
  dnnl::primitive_desc implementation;
  dnnl::primitive_desc hint;
};

struct NoImplementation {
  std::string offered;  // the names of the implementations that oneDNN does have
};

// The first of oneDNN's implementations that is of the wanted method. Throws dnnl::error when oneDNN has
// none at all, NoImplementation when it has others only.
Choice choose(Method method, const ConvProblem& problem, const dnnl::engine& engine);

}  // namespace convscope::onednn
