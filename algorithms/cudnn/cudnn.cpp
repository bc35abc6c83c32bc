// The variants of cuDNN: what they are and what they refuse before the library is asked, which is behind
// library.hpp. Start at add_cudnn.
#include "algorithms/cudnn/cudnn.hpp"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "algorithms/cudnn/library.hpp"
#include "algorithms/cudnn/operations.hpp"
#include "algorithms/cudnn/variants.hpp"
#include "bench/algorithm/limits.hpp"

namespace convscope {
namespace cudnn {

std::span<const std::string_view> legacy_algorithms(Pass pass) {
  static constexpr std::string_view forward[] = {
      "IMPLICIT_GEMM", "IMPLICIT_PRECOMP_GEMM", "GEMM", "DIRECT", "FFT", "FFT_TILING",
      "WINOGRAD",      "WINOGRAD_NONFUSED"};
  static constexpr std::string_view backward_data[] = {"ALGO_0",     "ALGO_1",   "FFT",
                                                       "FFT_TILING", "WINOGRAD", "WINOGRAD_NONFUSED"};
  static constexpr std::string_view backward_filter[] = {
      "ALGO_0", "ALGO_1", "FFT", "ALGO_3", "WINOGRAD", "WINOGRAD_NONFUSED", "FFT_TILING"};
  if (pass == Pass::forward) return forward;
  if (pass == Pass::backward_data) return backward_data;
  return backward_filter;
}

std::optional<int> legacy_index(Pass pass, std::string_view algorithm) {
  const auto all = legacy_algorithms(pass);
  const auto found = std::find(all.begin(), all.end(), algorithm);
  if (found == all.end()) return std::nullopt;
  return static_cast<int>(found - all.begin());
}

namespace {

class CudnnAlgorithm final : public Algorithm {
 public:
  CudnnAlgorithm(const Variant& variant, AlgorithmInfo info) : variant_(variant), info_(std::move(info)) {}

  const AlgorithmInfo& info() const override { return info_; }

  Support takes(const ConvProblem& problem, const DeviceInfo& device) const override {
    const char* const tf32 = std::getenv("NVIDIA_TF32_OVERRIDE");
    const bool tf32_is_off = tf32 != nullptr && std::string_view(tf32) == "0";
    const Support support = first_refusal(
        {require(device.kind == DeviceKind::cuda, Reason::device_missing,
                 "device " + std::string(name(device.kind)) + ": cuDNN needs a CUDA device"),
         nchw_or_nhwc(problem),
         require_math(problem.math != MathMode::tf32x3, problem, "cuDNN has no such mode"),
         require_math(problem.math != MathMode::tf32 || !tf32_is_off, problem,
                      "NVIDIA_TF32_OVERRIDE=0 in the environment makes cuDNN compute in FP32"),
         require_math(problem.epilogue == Epilogue::none || storage_type(problem.math) == DataType::f32,
                      problem, "cuDNN fuses a bias of the tensors' type, and that of an epilogue is FP32"),
         require(variant_.choice != Choice::forced || legacy_index(problem.pass, variant_.algorithm),
                 Reason::unsupported_pass,
                 "pass " + std::string(name(problem.pass)) + ": cuDNN has no algorithm " +
                     std::string(variant_.algorithm) + " in it")});
    if (!support) return support;
    const std::string why = cudnn::unusable_because();  // looks for the library
    return require(why.empty(), Reason::library_missing, why);
  }

  std::unique_ptr<Plan> plan(const ConvProblem& problem, Device& device,
                             const PlanOptions& options) const override {
    return make_plan(variant_, problem, device, options);
  }

  // Whatever is not a GEMM may be Winograd, of which the largest tile of cuDNN is 13x13.
  double error_growth(const ConvProblem&) const override { return is_gemm(variant_) ? 1.0 : 16.0; }

 private:
  Variant variant_;
  AlgorithmInfo info_;
};

void add(Registry& registry, const Variant& variant, const std::string& word, const std::string& summary,
         const std::string& version) {
  AlgorithmInfo info;
  info.id = "cudnn." + word + ".cuda";
  info.family = "library";
  info.provider = "cudnn";
  info.version = version;
  info.device = DeviceKind::cuda;
  info.summary = summary;
  info.exact_on_integers = is_gemm(variant);
  info.emulated = false;
  info.on_request = variant.choice == Choice::engine;
  info.takes_epilogues = asks_graph(variant);
  registry.add(std::make_unique<CudnnAlgorithm>(variant, std::move(info)));
}

struct NamedVariant {
  Variant variant;
  const char* word;
  const char* summary;
};

constexpr NamedVariant kVariants[] = {
    {{Choice::forced, "IMPLICIT_GEMM"}, "implicit_gemm", "its IMPLICIT_GEMM, forced"},
    {{Choice::forced, "IMPLICIT_PRECOMP_GEMM"}, "implicit_precomp_gemm", "its IMPLICIT_PRECOMP_GEMM, forced"},
    {{Choice::forced, "GEMM"}, "gemm", "its GEMM, forced"},
    {{Choice::forced, "DIRECT"}, "direct", "its DIRECT, forced"},
    {{Choice::forced, "FFT"}, "fft", "its FFT, forced"},
    {{Choice::forced, "FFT_TILING"}, "fft_tiling", "its FFT_TILING, forced"},
    {{Choice::forced, "WINOGRAD"}, "winograd", "its WINOGRAD, forced"},
    {{Choice::forced, "WINOGRAD_NONFUSED"}, "winograd_nonfused", "its WINOGRAD_NONFUSED, forced"},
    {{Choice::forced, "ALGO_0"}, "algo_0", "its backward ALGO_0, forced; not deterministic"},
    {{Choice::forced, "ALGO_1"}, "algo_1", "its backward ALGO_1, forced"},
    {{Choice::forced, "ALGO_3"}, "algo_3", "its backward-filter ALGO_3, forced; not deterministic"},
    {{Choice::get, ""}, "get", "what its legacy heuristic (Get_v7) ranks first under the cap"},
    {{Choice::find, ""}, "find", "what its legacy profiling (Find) finds fastest under the cap"},
    {{Choice::find, "", 0, true},
     "find_transposed",
     "Find's choice in the other layout, with transforms there and back"},
    {{Choice::heur_a, ""}, "heur_a", "the first plan of graph heuristic A that can be run"},
    {{Choice::heur_b, ""}, "heur_b", "the first plan of graph heuristic B that can be run"},
    {{Choice::heur_fallback, ""}, "heur_fallback", "the first plan of the graph API's fallback list"},
    {{Choice::autotune, ""}, "autotune", "the fastest plan of heuristics A, B and fallback, each timed"},
};

}  // namespace
}  // namespace cudnn

void add_cudnn(Registry& registry) {
  const std::string version = cudnn::version();
  for (const cudnn::NamedVariant& named : cudnn::kVariants)
    cudnn::add(registry, named.variant, named.word, named.summary, version);
  for (int engine = 0; engine < cudnn::kEngineVariants; ++engine)
    cudnn::add(registry, {cudnn::Choice::engine, "", engine}, "engine." + std::to_string(engine),
               "one engine of its operation graph", version);
  registry.add_operations(cudnn::operations());
}

}  // namespace convscope
