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

class Im2colOnGpu : public Algorithm {
 public:
  Im2colOnGpu(std::string id, std::string provider, std::string summary, int64_t max_row)
      : max_row_(max_row) {
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

 protected:
  AlgorithmInfo info_;

 private:
  int64_t max_row_;
};

class OwnVariant final : public Im2colOnGpu {
 public:
  OwnVariant()
      : Im2colOnGpu("im2col_gemm.cuda", "convscope", "im2col in chunks that fit in L2, and our SGEMM",
                    kMaxSgemmStride) {
    info_.takes_epilogues = true;
  }

  std::unique_ptr<Plan> plan(const ConvProblem& p, Device& device,
                             const PlanOptions& options) const override {
    return CONVSCOPE_BUILDS(make_own_sgemm_plan).of(device.info().kind)(p, device, options);
  }
};

class CublasVariant final : public Im2colOnGpu {
 public:
  // No epilogues: the library stores its sums as they are.
  CublasVariant()
      : Im2colOnGpu("im2col_gemm.cublas.cuda", "cublas",
                    "im2col in chunks that fit in L2, and the SGEMM of cuBLAS",
                    std::numeric_limits<int32_t>::max()) {}

  Support takes(const ConvProblem& p, const DeviceInfo& device) const override {
    if (Support support = Im2colOnGpu::takes(p, device); !support) return support;
    if (device.kind != DeviceKind::cuda) return Support::yes();
    const std::string defect = cuda::blas_defect();
    return require(defect.empty(), Reason::library_missing, defect);
  }

  std::unique_ptr<Plan> plan(const ConvProblem& p, Device& device,
                             const PlanOptions& options) const override {
    return CONVSCOPE_BUILDS(make_library_sgemm_plan).of(device.info().kind)(p, device, options);
  }
};

}  // namespace

void add_im2col_gemm_cuda(Registry& registry) {
  registry.add(std::make_unique<OwnVariant>());
  registry.add(std::make_unique<CublasVariant>());
}

}  // namespace convscope
