// The variants im2col_gemm.cuda and im2col_gemm.cublas.cuda: what they are and what they refuse. Their plan
// is in plan.cu.
#include <limits>
#include <memory>
#include <string>
#include <utility>

#include "algorithms/im2col_gemm/cuda/columns.hpp"
#include "algorithms/im2col_gemm/cuda/plan.hpp"
#include "algorithms/im2col_gemm/im2col_gemm.hpp"
#include "bench/algorithm/limits.hpp"

namespace convscope {
namespace {

using namespace im2col_gemm;

// The variants differ in the SGEMM, of which `make_plan` has one whose matrices have rows of up to `max_row`
// elements.
class Im2colOnGpu : public Algorithm {
 public:
  using MakePlan = Builds<std::unique_ptr<Plan> (*)(const ConvProblem&, Device&, const PlanOptions&)>;
  Im2colOnGpu(std::string id, std::string provider, std::string summary, MakePlan make_plan, int64_t max_row)
      : make_plan_(make_plan), max_row_(max_row) {
    info_.id = std::move(id);
    info_.family = "gemm";
    info_.provider = std::move(provider);
    info_.device = DeviceKind::cuda;
    info_.summary = std::move(summary);
    info_.exact_on_integers = true;
  }

  const AlgorithmInfo& info() const override { return info_; }

  Support takes(const ConvProblem& p, const DeviceInfo&) const override {
    if (const Support common = first_refusal({fp32_only(p), nchw_or_nhwc(p)}); !common) return common;
    if (const auto defect = size_defect(p)) return Support::no(Reason::unsupported_size, *defect);
    const int64_t row = longest_row(p);
    return require(row <= max_row_, Reason::unsupported_size,
                   "a matrix with rows of " + std::to_string(row) + " elements: this SGEMM takes up to " +
                       std::to_string(max_row_));
  }

  std::unique_ptr<Plan> plan(const ConvProblem& p, Device& device,
                             const PlanOptions& options) const override {
    return make_plan_.of(device.info().kind)(p, device, options);
  }

 protected:
  AlgorithmInfo info_;

 private:
  MakePlan make_plan_;
  int64_t max_row_;
};

class OwnVariant final : public Im2colOnGpu {
 public:
  OwnVariant()
      : Im2colOnGpu("im2col_gemm.cuda", "convscope", "im2col in chunks that fit in L2, and our SGEMM",
                    CONVSCOPE_BUILDS(make_own_sgemm_plan), kMaxSgemmStride) {
    info_.takes_epilogues = true;
  }
};

class CublasVariant final : public Im2colOnGpu {
 public:
  // No epilogues: the library stores its sums as they are.
  CublasVariant()
      : Im2colOnGpu("im2col_gemm.cublas.cuda", "cublas",
                    "im2col in chunks that fit in L2, and the SGEMM of cuBLAS",
                    CONVSCOPE_BUILDS(make_library_sgemm_plan), std::numeric_limits<int32_t>::max()) {}

  Support takes(const ConvProblem& p, const DeviceInfo& device) const override {
    if (Support support = Im2colOnGpu::takes(p, device); !support) return support;
    if (device.kind != DeviceKind::cuda) return Support::yes();
    const std::string defect = cuda::blas_defect();
    return require(defect.empty(), Reason::library_missing, defect);
  }
};

}  // namespace

void add_im2col_gemm_cuda(Registry& registry) {
  registry.add(std::make_unique<OwnVariant>());
  registry.add(std::make_unique<CublasVariant>());
}

}  // namespace convscope
