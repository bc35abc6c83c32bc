// The variants im2col_gemm.cpu and im2col_gemm.packed.cpu: what they are and what they refuse. Their plan is
// in cpu/gemm_plan.cpp.
#include "algorithms/im2col_gemm/im2col_gemm.hpp"

#include <limits>
#include <memory>

#include "algorithms/im2col_gemm/cpu/gemm.hpp"
#include "algorithms/im2col_gemm/cpu/gemm_plan.hpp"
#include "bench/algorithm/limits.hpp"

namespace convscope {
namespace {

// im2col in chunks; the variants differ in the product.
class Variant : public Algorithm {
 public:
  using MakeGemm = const im2col_gemm::Gemm& (*)();
  Variant(const char* id, const char* summary, MakeGemm gemm) : gemm_(gemm) {
    info_.id = id;
    info_.family = "gemm";
    info_.provider = "convscope";
    info_.summary = summary;
    info_.exact_on_integers = true;
    info_.takes_epilogues = true;
  }

  const AlgorithmInfo& info() const override { return info_; }

  Support takes(const ConvProblem& p, const DeviceInfo&) const override {
    return first_refusal({fp32_only(p), nchw_or_nhwc(p)});
  }

  std::unique_ptr<Plan> plan(const ConvProblem& problem, Device&, const PlanOptions& options) const override {
    return std::make_unique<im2col_gemm::GemmPlan>(problem, gemm_(), options);
  }

 protected:
  AlgorithmInfo info_;

 private:
  MakeGemm gemm_;  // throws where its library is missing, which supports() says before
};

class OpenBlasVariant final : public Variant {
 public:
  OpenBlasVariant()
      : Variant("im2col_gemm.cpu", "im2col in chunks and OpenBLAS SGEMM", im2col_gemm::openblas) {
    info_.provider = "openblas";
    info_.version = im2col_gemm::blas_version();
  }

  Support takes(const ConvProblem& p, const DeviceInfo& device) const override {
    if (const std::string why = im2col_gemm::blas_defect(); !why.empty())
      return Support::no(Reason::library_missing, why);
    if (const Support support = Variant::takes(p, device); !support) return support;
    constexpr int64_t limit = std::numeric_limits<int32_t>::max();
    const int64_t extent = im2col_gemm::largest_extent(p);
    return require(extent <= limit, Reason::unsupported_size,
                   "a matrix with " + std::to_string(extent) +
                       " rows, columns or elements between rows: OpenBLAS counts them in 32 bits, up to " +
                       std::to_string(limit));
  }
};

}  // namespace

void add_im2col_gemm(Registry& registry) {
  registry.add(std::make_unique<OpenBlasVariant>());
  registry.add(std::make_unique<Variant>("im2col_gemm.packed.cpu", "im2col in chunks and our packed SGEMM",
                                         im2col_gemm::packed));
  add_im2col_gemm_cuda(registry);
}

}  // namespace convscope
