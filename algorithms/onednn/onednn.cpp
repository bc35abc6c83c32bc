// The four variants of oneDNN: what they are and what they refuse before the library is asked. The library
// itself is behind library.hpp; start at add_onednn.
#include "algorithms/onednn/onednn.hpp"

#include <memory>
#include <utility>

#include "algorithms/onednn/library.hpp"
#include "algorithms/onednn/operations.hpp"
#include "bench/algorithm/limits.hpp"

namespace convscope {
namespace {

using onednn::Method;

class OneDnn final : public Algorithm {
 public:
  OneDnn(Method method, AlgorithmInfo info) : method_(method), info_(std::move(info)) {}

  const AlgorithmInfo& info() const override { return info_; }

  Support takes(const ConvProblem& problem, const DeviceInfo&) const override {
    if (const Support common = first_refusal({fp32_only(problem), nchw_or_nhwc(problem)}); !common)
      return common;
    return onednn::supports(method_, problem);
  }

  std::unique_ptr<Plan> plan(const ConvProblem& problem, Device&, const PlanOptions&) const override {
    return onednn::make_plan(method_, problem);
  }

  // oneDNN's Winograd is F(4x4,3x3) or F(2x2,3x3); `automatic` may choose it.
  double error_growth(const ConvProblem&) const override {
    return method_ == Method::winograd || method_ == Method::automatic ? 16.0 : 1.0;
  }

 private:
  Method method_;
  AlgorithmInfo info_;
};

void add(Registry& registry, Method method, const std::string& word, const std::string& summary) {
  AlgorithmInfo info;
  info.id = "onednn." + word + ".cpu";
  info.family = "library";
  info.provider = "onednn";
  info.version = onednn::version();
  info.summary = summary;
  info.takes_epilogues = true;
  info.exact_on_integers = method == Method::direct || method == Method::gemm;
  registry.add(std::make_unique<OneDnn>(method, std::move(info)));
}

}  // namespace

void add_onednn(Registry& registry) {
  add(registry, Method::automatic, "auto", "oneDNN's own choice of implementation");
  add(registry, Method::direct, "direct", "oneDNN's direct convolution, neither GEMM nor its reference");
  add(registry, Method::winograd, "winograd", "oneDNN's Winograd convolution");
  add(registry, Method::gemm, "gemm", "oneDNN's im2col and GEMM convolution");
  registry.add_operations(onednn::operations());
}

}  // namespace convscope
