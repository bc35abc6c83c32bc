// The row im2col_gemm.cpu: what it is and what it refuses. The work is in gemm_plan.cpp.
#include "algorithms/im2col_gemm/im2col_gemm.hpp"

#include <algorithm>
#include <limits>
#include <memory>

#include "algorithms/im2col_gemm/blas.hpp"
#include "algorithms/im2col_gemm/gemm_plan.hpp"

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
    // OpenBLAS counts in 32 bits.
    constexpr int64_t limit = std::numeric_limits<int32_t>::max();
    const Extent2 out = p.output();
    for (int64_t size : {p.batch * out.h * out.w, p.input.h * p.input.w, im2col_gemm::column_elements(p)})
      if (size > limit)
        return Support::no(
            Reason::unsupported_size,
            "a matrix of " + std::to_string(size) + " rows: OpenBLAS takes up to " + std::to_string(limit));
    return Support::yes();
  }

  std::unique_ptr<Plan> plan(const ConvProblem& problem, Device&, const PlanOptions& options) const override {
    return std::make_unique<im2col_gemm::GemmPlan>(problem, options);
  }

  // The column matrix is written once and read once.
  std::optional<OperationCount> operations(const ConvProblem& p) const override {
    const Extent2 out = p.output();
    const bool columns = im2col_gemm::cut(p, std::numeric_limits<int64_t>::max()).builds_columns;
    const double elements = static_cast<double>(im2col_gemm::column_elements(p) * p.groups) *
                            static_cast<double>(p.batch * out.h * out.w);
    return OperationCount{
        p.nominal_flops(), 0,
        static_cast<double>(p.total_bytes()) + (columns ? 2 * sizeof(float) * elements : 0)};
  }

 private:
  AlgorithmInfo info_;
};

}  // namespace

void add_im2col_gemm(Registry& registry) {
  registry.add(std::make_unique<Im2colGemm>());
}

}  // namespace convscope
