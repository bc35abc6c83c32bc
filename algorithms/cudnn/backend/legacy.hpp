// One problem in cuDNN's legacy API, which names algorithms: descriptors, the heuristic (Get_v7), the
// profiling (Find), workspaces, the convolution. Deprecated since cuDNN 9 and still what frameworks of 2017
// did.
#pragma once

#include <memory>
#include <vector>

#include "algorithms/cudnn/backend/api.hpp"
#include "bench/algorithm/algorithm.hpp"

namespace convscope::cudnn {

// Owner of a descriptor.
template <typename T>
using Descriptor = std::unique_ptr<T, cudnnStatus_t (*)(T*)>;
using TensorDescriptor = Descriptor<cudnnTensorStruct>;
using FilterDescriptor = Descriptor<cudnnFilterStruct>;
using ConvolutionDescriptor = Descriptor<cudnnConvolutionStruct>;

template <typename T>
Descriptor<T> make_descriptor(cudnnStatus_t (*create)(T**), cudnnStatus_t (*destroy)(T*), const char* call) {
  T* made = nullptr;
  check(create(&made), call);
  return {made, destroy};
}

// cuDNN's sizes are int. Throws Refused.
int to_int(int64_t size);

cudnnDataType_t data_type(MathMode math);

// Of a tensor of the problem, dense, in its layout; the filter as a tensor too, for transforms.
TensorDescriptor tensor_descriptor(const ConvProblem& problem, Role role);

// A row of Get's or Find's answer: its name, math type and determinism, workspace, milliseconds (-1: none)
// and status, which if bad is the refusal in cuDNN's words.
Offer offer_of(const cudnnConvolutionFwdAlgoPerf_t& row);
Offer offer_of(const cudnnConvolutionBwdDataAlgoPerf_t& row);
Offer offer_of(const cudnnConvolutionBwdFilterAlgoPerf_t& row);

// An algorithm in the math types in which this mode may run it. cuDNN knows some algorithms of 16-bit tensors
// in one type only, and with tensor cores where it can.
std::vector<Offer> forced_offers(MathMode math, const std::string& algorithm);

class LegacyConvolution {
 public:
  explicit LegacyConvolution(const ConvProblem& problem);

  // In cuDNN's order, its best first. Get does not time; Find runs each on tensors of its own.
  std::vector<Offer> get(cudnnHandle_t handle) const { return ask(handle, false); }
  std::vector<Offer> find(cudnnHandle_t handle) const { return ask(handle, true); }

  // Makes the offer what run() runs. fp32 stays strict whatever math type the offer has.
  void choose(const Offer& offer);
  // Of what was chosen; throws Refused where cuDNN cannot run it.
  size_t workspace_bytes(cudnnHandle_t handle) const;
  void run(cudnnHandle_t handle, const ConvArgs& args, size_t workspace_bytes) const;

 private:
  std::vector<Offer> ask(cudnnHandle_t handle, bool find) const;
  void set_math(cudnnMathType_t math) const;

  ConvProblem problem_;
  TensorDescriptor input_, output_;
  FilterDescriptor filter_;
  ConvolutionDescriptor convolution_;
  int algorithm_ = 0;
};

}  // namespace convscope::cudnn
