// The answers where the script has none: enough engines and algorithms, with every kind of note, knob and
// refusal, that each path of a caller is reached. They are no statement about cuDNN; of its algorithms the
// constraints are those that NVIDIA documents (cuDNN's API reference, cudnnConvolutionForward and the
// backward functions).
#include <algorithm>

#include "bench/standin/libraries/cudnn/answers.hpp"

namespace convscope::standin {
namespace {

constexpr const char* kNotSupported = "CUDNN_STATUS_NOT_SUPPORTED";
constexpr int64_t kLargestFftImage = 256, kLargestTiledFilter = 32;
// Odd on purpose: cuDNN's workspaces are not multiples of a power of two.
constexpr int64_t kSmallWorkspace = 9601;

bool is_dense_step(const ConvProblem& p) {
  return p.stride == Extent2{1, 1} && p.dilation == Extent2{1, 1};
}
bool is_square(const ConvProblem& p, int64_t size) {
  return p.filter == Extent2{size, size};
}
bool is_f32(const ConvProblem& p) {
  return storage_type(p.math) == DataType::f32;
}

bool transforms_by_fft(const ConvProblem& p) {
  return p.layout == Layout::nchw && is_dense_step(p) && p.groups == 1 && p.math != MathMode::bf16 &&
         p.filter.h > p.pad.h && p.filter.w > p.pad.w;
}

bool is_supported(const ConvProblem& p, std::string_view algorithm, const std::string& math) {
  // The tensor cores' algorithms, of 16 bits, are two; they run without tensor cores as well.
  if (math == "TENSOR_OP_MATH" && algorithm != "IMPLICIT_PRECOMP_GEMM" && algorithm != "ALGO_1")
    return algorithm == "WINOGRAD_NONFUSED" && is_square(p, 3) && is_dense_step(p) && p.groups == 1;
  if (algorithm == "DIRECT") return false;
  if (algorithm == "GEMM")
    return p.layout == Layout::nchw && p.groups == 1 && p.dilation == Extent2{1, 1} &&
           p.math != MathMode::bf16;
  if (algorithm == "FFT")
    return transforms_by_fft(p) && p.input.h + 2 * p.pad.h <= kLargestFftImage &&
           p.input.w + 2 * p.pad.w <= kLargestFftImage;
  if (algorithm == "FFT_TILING")
    return transforms_by_fft(p) && std::max(p.filter.h, p.filter.w) <= kLargestTiledFilter;
  if (algorithm == "WINOGRAD")
    return p.pass != Pass::backward_filter && p.math != MathMode::bf16 && is_square(p, 3) &&
           is_dense_step(p) && p.groups == 1;
  if (algorithm == "WINOGRAD_NONFUSED")
    return p.math != MathMode::bf16 && (is_square(p, 3) || is_square(p, 5)) && is_dense_step(p) &&
           p.groups == 1;
  return true;
}

int64_t workspace(const ConvProblem& p, std::string_view algorithm) {
  if (algorithm == "GEMM") return 4 * p.in_channels * p.filter.h * p.filter.w * p.output().h * p.output().w;
  if (algorithm == "FFT" || algorithm == "FFT_TILING") return 3 * p.total_bytes() + 1;
  if (algorithm == "WINOGRAD_NONFUSED") return 2 * p.total_bytes() + 3;
  if (algorithm == "IMPLICIT_PRECOMP_GEMM" || algorithm == "ALGO_1") return kSmallWorkspace;
  return 0;
}

std::vector<std::string> math_types(MathMode math) {
  if (math == MathMode::fp32) return {"FMA_MATH"};
  if (math == MathMode::tf32) return {"DEFAULT_MATH"};
  return {"TENSOR_OP_MATH", "DEFAULT_MATH"};
}

// A configuration that can be run.
Offer config(int64_t number, const Engine& engine, const Knobs& knobs, int64_t bytes) {
  Offer offer;
  offer.name = config_name(number, knobs);
  offer.notes = engine.notes;
  offer.workspace_bytes = bytes;
  return offer;
}

// An engine, with all combinations of its first two knobs but those with the largest value of both.
void add_engine(GraphAnswers& graph, int64_t number, const Engine& engine, int64_t bytes,
                const std::string& refusal = "") {
  graph.engines[number] = engine;
  std::vector<Offer> all{config(number, engine, {}, bytes)};
  if (engine.knobs.size() == 2) {
    const KnobRange &a = engine.knobs[0], &b = engine.knobs[1];
    for (int64_t i = a.min; i <= a.max; i += a.step)
      for (int64_t j = b.min; j <= b.max; j += b.step)
        if (i != a.max || j != b.max)
          all.push_back(config(number, engine, {{a.type, i}, {b.type, j}}, bytes * (1 + i)));
  }
  for (Offer& offer : all) {
    offer.refusal = refusal;
    graph.configs[offer.name] = offer;
  }
}

}  // namespace

Offer made_up_forced(const ConvProblem& problem, std::string_view algorithm, const std::string& math) {
  Offer offer;
  offer.name = algorithm;
  offer.notes = {math};
  if (algorithm == "ALGO_0" || algorithm == "ALGO_3") offer.notes.emplace_back("NONDETERMINISTIC");
  if (is_supported(problem, algorithm, math))
    offer.workspace_bytes = workspace(problem, algorithm);
  else
    offer.refusal = kNotSupported;
  return offer;
}

std::vector<Offer> made_up_get(const ConvProblem& problem) {
  std::vector<Offer> offers;
  for (const std::string& math : math_types(problem.math))
    for (const std::string_view algorithm : algorithm_names(problem.pass))
      offers.push_back(made_up_forced(problem, algorithm, math));
  // Larger workspaces first, as if those were faster; what cannot be run last.
  std::stable_sort(offers.begin(), offers.end(), [](const Offer& a, const Offer& b) {
    if (a.refusal.empty() != b.refusal.empty()) return a.refusal.empty();
    return a.workspace_bytes > b.workspace_bytes;
  });
  return offers;
}

GraphAnswers made_up_graph(const ConvProblem& problem) {
  const KnobRange tile{2, 0, 4, 1}, split{3, 0, 1, 1};
  GraphAnswers graph;
  add_engine(graph, 0, {{"STRICT_NAN_PROP"}, {}, ""}, 0);
  add_engine(graph, 1, {{}, {tile, split}, ""}, kSmallWorkspace);
  add_engine(graph, 2, {{"TENSOR_CORE"}, {tile, split}, problem.groups == 1 ? "" : kNotSupported},
             problem.total_bytes() + 1);
  const bool fft = transforms_by_fft(problem) && is_f32(problem);
  add_engine(graph, 3, {{"FFT"}, {}, fft ? "" : kNotSupported}, 3 * problem.total_bytes() + 1);
  const bool winograd = is_square(problem, 3) && is_dense_step(problem) && problem.groups == 1;
  add_engine(graph, 4, {{"WINOGRAD", "WINOGRAD_TILE_6x6"}, {}, winograd ? "" : kNotSupported},
             2 * problem.total_bytes() + 3);
  add_engine(graph, 5, {{"TENSOR_CORE", "RUNTIME_COMPILATION"}, {}, is_f32(problem) ? kNotSupported : ""}, 1);
  add_engine(graph, 6, {{"TENSOR_CORE", "DOWN_CONVERT_INPUTS", "REDUCED_PRECISION_REDUCTION"}, {}, ""}, 0);
  add_engine(graph, 7, {{}, {}, ""}, 0, "CUDNN_STATUS_NOT_SUPPORTED_ARCH_MISMATCH");
  add_engine(graph, 8, {{}, {}, kNotSupported}, 0);
  const auto rank = [&](size_t mode, std::initializer_list<const char*> names) {
    for (const char* name : names)
      if (graph.engines.at(parse_config(name)->engine).refusal.empty()) graph.ranked[mode].emplace_back(name);
  };
  rank(0, {"engine 7", "engine 6", "engine 2 k2=3 k3=0", "engine 2 k2=1 k3=1", "engine 5", "engine 4",
           "engine 3", "engine 1 k2=4 k3=0", "engine 1 k2=0 k3=0"});
  rank(1, {"engine 5", "engine 2 k2=1 k3=1", "engine 4", "engine 1 k2=2 k3=1", "engine 0"});
  rank(2, {"engine 1", "engine 0", "engine 0"});
  return graph;
}

}  // namespace convscope::standin
