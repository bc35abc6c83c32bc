// A variant: what cuDNN is asked for. Plain data, in builds with cuDNN and without.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "bench/core/problem.hpp"

namespace convscope::cudnn {

enum class Choice {
  forced,  // one algorithm of the legacy API
  get,     // its heuristic: cudnnGetConvolution*Algorithm_v7
  find,    // its profiling: cudnnFindConvolution*Algorithm
  heur_a,  // the graph API's heuristics, the first plan that can be run
  heur_b,
  heur_fallback,
  autotune,  // all plans that the three name, timed
  engine     // one engine of the graph API
};

struct Variant {
  Choice choice = Choice::forced;
  std::string_view algorithm;  // of `forced`: "FFT_TILING"
  int engine = 0;              // of `engine`: its global index
  bool transposed = false;     // in the other layout, with transforms there and back
};

// Whether the graph API is asked, whose operation graphs may end in an epilogue.
inline bool asks_graph(const Variant& variant) {
  return variant.choice != Choice::forced && variant.choice != Choice::get && variant.choice != Choice::find;
}

// Engines beyond this have no variant; planning the last one's fails, with the number that there are.
inline constexpr int kEngineVariants = 128;

// Whether it multiplies as often as the definition does; of the others cuDNN does not say.
inline bool is_gemm(const Variant& variant) {
  return variant.choice == Choice::forced && variant.algorithm.ends_with("GEMM");
}

// Times that cudnn.find asks, for its agreement with itself.
inline constexpr int kFindRepeats = 5;

// The algorithms of the legacy API in a pass; the index is the value of cuDNN's enum.
std::span<const std::string_view> legacy_algorithms(Pass pass);
std::optional<int> legacy_index(Pass pass, std::string_view algorithm);

}  // namespace convscope::cudnn
