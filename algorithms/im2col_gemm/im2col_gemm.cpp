// The row im2col_gemm.cpu: what it is and what it refuses. The work is in gemm_plan.cpp.
#include "algorithms/im2col_gemm/im2col_gemm.hpp"

#include <limits>
#include <memory>
#include <optional>

#include "algorithms/im2col_gemm/blas.hpp"
#include "algorithms/im2col_gemm/gemm_plan.hpp"
#include "algorithms/im2col_gemm/im2col_gemm_cuda.hpp"

namespace convscope {
namespace {

class Im2colGemm final : public Algorithm {
 public:
  Im2colGemm() {
    info_.id = "im2col_gemm.cpu";
    info_.family = "gemm";
    info_.provider = "openblas";
    info_.version = im2col_gemm::blas_version();
    info_.summary = "im2col in chunks and OpenBLAS SGEMM";
    info_.exact_on_integers = true;
  }

  const AlgorithmInfo& info() const override { return info_; }

  Support supports(const ConvProblem& p, const DeviceInfo&) const override {
    if (const std::string why = im2col_gemm::blas_defect(); !why.empty())
      return Support::no(Reason::library_missing, why);
    if (p.math != MathMode::fp32)
      return Support::no(Reason::unsupported_math,
                         "math " + std::string(name(p.math)) + ": SGEMM computes in fp32 only");
    if (p.layout == Layout::chwn)
      return Support::no(Reason::unsupported_layout, "layout chwn: this row takes nchw and nhwc");
    constexpr int64_t limit = std::numeric_limits<int32_t>::max();
    if (const int64_t extent = im2col_gemm::largest_extent(p, im2col_gemm::kColumnBytes); extent > limit)
      return Support::no(
          Reason::unsupported_size,
          "a matrix with " + std::to_string(extent) +
              " rows, columns or elements between rows: OpenBLAS counts them in 32 bits, up to " +
              std::to_string(limit));
    return Support::yes();
  }

  std::unique_ptr<Plan> plan(const ConvProblem& problem, Device&, const PlanOptions& options) const override {
    return std::make_unique<im2col_gemm::GemmPlan>(problem, options);
  }

  std::optional<OperationCount> operations(const ConvProblem& p) const override {
    return im2col_gemm::GemmPlan(p, {}).operations();
  }

 private:
  AlgorithmInfo info_;
};

}  // namespace

void add_im2col_gemm(Registry& registry) {
  registry.add(std::make_unique<Im2colGemm>());
  add_im2col_gemm_cuda(registry);
}

}  // namespace convscope
