// What the CUDA rows are, what they refuse and what they cost: the same chunks of columns, multiplied by our
// SGEMM or by cuBLAS.
#include "algorithms/im2col_gemm/cuda/variants.hpp"

#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "algorithms/im2col_gemm/cuda/columns.hpp"
#include "algorithms/im2col_gemm/cuda/plan.hpp"

namespace convscope {
namespace {

using namespace im2col_gemm;

class Im2colOnGpu : public Algorithm {
 public:
  Im2colOnGpu(std::string id, std::string provider, std::string summary, int64_t longest)
      : longest_row_(longest) {
    info_.id = std::move(id);
    info_.family = "gemm";
    info_.provider = std::move(provider);
    info_.device = DeviceKind::cuda;
    info_.summary = std::move(summary);
    info_.exact_on_integers = true;
  }

  const AlgorithmInfo& info() const override { return info_; }

  Support supports(const ConvProblem& p, const DeviceInfo&) const override {
    if (p.math != MathMode::fp32)
      return Support::no(Reason::unsupported_math,
                         "math " + std::string(name(p.math)) + ": SGEMM computes in fp32 only");
    if (p.layout == Layout::chwn)
      return Support::no(Reason::unsupported_layout, "layout chwn: this row takes nchw and nhwc");
    if (const auto defect = size_defect(p)) return Support::no(Reason::unsupported_size, *defect);
    if (const int64_t row = longest_row(p); row > longest_row_)
      return Support::no(Reason::unsupported_size, "a matrix with rows of " + std::to_string(row) +
                                                       " elements: this SGEMM takes up to " +
                                                       std::to_string(longest_row_));
    return Support::yes();
  }

 protected:
  // Without a cap; the products are the derived class's.
  static OperationCount moved(const ConvProblem& p, const DeviceChunks& chunks) {
    return {0, 0, bytes_moved(p, chunks)};
  }

 private:
  AlgorithmInfo info_;
  int64_t longest_row_;
};

class OwnRow final : public Im2colOnGpu {
 public:
  OwnRow()
      : Im2colOnGpu("im2col_gemm.cuda", "convscope", "im2col in chunks that stay in L2, and our SGEMM",
                    kLongestSgemmStride) {}

  std::unique_ptr<Plan> plan(const ConvProblem& p, Device& device,
                             const PlanOptions& options) const override {
#if defined(CONVSCOPE_HAS_CUDA)
    if (device.info().kind == DeviceKind::cuda) return cuda::make_own_sgemm_plan(p, device, options);
#endif
    return emulated::make_own_sgemm_plan(p, device, options);
  }

  std::optional<OperationCount> operations(const ConvProblem& p) const override {
    const DeviceChunks chunks = cut_for_device(p, INT64_MAX);
    OperationCount count = moved(p, chunks);
    for (const Chunk& chunk : chunks.list) {
      const ChunkProduct all = product_of(p, chunks, chunk);
      const SgemmCut cut = choose_cut(all.product, kPartialBytes);
      count.product_flops += all.repeats * executed_flops(all.product, cut);
      count.bytes += 2.0 * all.repeats * static_cast<double>(partial_bytes(all.product, cut));
    }
    return count;
  }
};

class CublasRow final : public Im2colOnGpu {
 public:
  CublasRow()
      : Im2colOnGpu("im2col_gemm.cublas.cuda", "cublas",
                    "im2col in chunks that stay in L2, and the SGEMM of cuBLAS",
                    std::numeric_limits<int32_t>::max()) {}

  Support supports(const ConvProblem& p, const DeviceInfo& device) const override {
    if (Support support = Im2colOnGpu::supports(p, device); !support) return support;
#if defined(CONVSCOPE_HAS_CUDA)
    if (device.kind == DeviceKind::cuda)
      if (const std::string defect = cuda::blas_defect(); !defect.empty())
        return Support::no(Reason::library_missing, defect);
#endif
    return Support::yes();
  }

  std::unique_ptr<Plan> plan(const ConvProblem& p, Device& device,
                             const PlanOptions& options) const override {
#if defined(CONVSCOPE_HAS_CUDA)
    if (device.info().kind == DeviceKind::cuda) return cuda::make_library_sgemm_plan(p, device, options);
#endif
    return emulated::make_library_sgemm_plan(p, device, options);
  }

  // What cuBLAS executes beyond the products themselves is not known.
  std::optional<OperationCount> operations(const ConvProblem& p) const override {
    OperationCount count = moved(p, cut_for_device(p, INT64_MAX));
    count.product_flops = p.nominal_flops();
    return count;
  }
};

}  // namespace

void add_im2col_gemm_cuda(Registry& registry) {
  registry.add(std::make_unique<OwnRow>());
  registry.add(std::make_unique<CublasRow>());
}

}  // namespace convscope
