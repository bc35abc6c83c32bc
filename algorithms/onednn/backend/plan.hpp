// One convolution of oneDNN ready to run on the user's tensors: the primitive, the reorders between the
// user's layout and its own, and all their memory carved out of the plan's workspace. Start at
// ConvolutionPlan.
#pragma once

#include <array>
#include <cstdint>
#include <oneapi/dnnl/dnnl.hpp>
#include <optional>
#include <string>
#include <vector>

#include "algorithms/onednn/library.hpp"
#include "bench/algorithm/algorithm.hpp"

namespace convscope::onednn {

// Memory objects whose data pointers are set later, when the tensors and the workspace are known.
class Memories {
 public:
  explicit Memories(const dnnl::engine& engine) : engine_(engine) {}
  // A tensor of the user's.
  dnnl_memory_t add_user(Role role, const dnnl::memory::desc& descriptor);
  dnnl_memory_t add_bias(const dnnl::memory::desc& descriptor);
  // A tensor with a part of the workspace to itself.
  dnnl_memory_t add_own(const dnnl::memory::desc& descriptor);
  // Scratch of one primitive; all scratch shares one part of the workspace, since primitives run in turn.
  dnnl_memory_t add_scratch(const dnnl::memory::desc& descriptor);

  int64_t workspace_bytes() const { return own_bytes_ + scratch_bytes_; }
  void bind(const ConvArgs& args);

 private:
  struct Slot {
    dnnl::memory memory;
    int64_t offset;
  };
  dnnl_memory_t add(std::vector<Slot>& to, const dnnl::memory::desc& descriptor, int64_t offset);

  dnnl::engine engine_;
  std::array<dnnl::memory, kRoles.size()> user_;
  dnnl::memory bias_;  // empty where there is none
  std::vector<Slot> own_, scratch_;
  int64_t own_bytes_ = 0, scratch_bytes_ = 0;
  void* bound_workspace_ = nullptr;
};

// A primitive with its arguments, executed without building any container.
class Step {
 public:
  Step(const dnnl::primitive& primitive, std::vector<dnnl_exec_arg_t> arguments)
      : primitive_(primitive), arguments_(std::move(arguments)) {}
  void execute(const dnnl::stream& stream) const;

 private:
  dnnl::primitive primitive_;
  std::vector<dnnl_exec_arg_t> arguments_;
};

class ConvolutionPlan final : public Plan {
 public:
  // Throws dnnl::error.
  ConvolutionPlan(const dnnl::engine& engine, const ConvProblem& problem, Method method,
                  const dnnl::primitive_desc& chosen);

  int64_t workspace_bytes() const override { return memories_.workspace_bytes(); }
  std::string implementation() const override { return implementation_; }
  // Of direct and GEMM the definition's multiply-adds, and the reordered tensors written once and read once;
  // GEMM's column buffers are not known. oneDNN does not say how often `auto` and Winograd multiply.
  std::optional<OperationCount> operations() const override;
  bool has_prepare() const override { return !filter_reorder_.empty(); }
  void prepare(const ConvArgs& args, Queue& queue) override;
  void run(const ConvArgs& args, Queue& queue) override;

 private:
  // A tensor, as its descriptor and its memory.
  struct Tensor {
    dnnl::memory::desc descriptor;
    dnnl_memory_t memory;
  };
  dnnl_memory_t add_operand(const ConvProblem& problem, const dnnl::primitive_desc& chosen, Role role);
  std::vector<Step>& reorders_of(Role role, Pass pass);
  // `plain` is the same tensor in dense NCHW or KCRS order, by way of which every reorder exists.
  void add_reorder(std::vector<Step>& steps, const Tensor& from, const Tensor& to,
                   const dnnl::memory::desc& plain);
  Step reorder(const Tensor& from, const Tensor& to);
  void execute(const std::vector<Step>& steps, Phase phase, Queue& queue) const;

  ConvProblem problem_;
  Method method_;
  int64_t reordered_bytes_ = 0;  // of all tensors in oneDNN's own layouts
  dnnl::engine engine_;
  dnnl::stream stream_;
  Memories memories_;
  std::string implementation_;
  std::vector<Step> filter_reorder_, reorders_in_, convolution_, reorders_out_;
};

}  // namespace convscope::onednn
