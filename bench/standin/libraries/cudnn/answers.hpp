// What the stand-in of cuDNN says of a problem: from the script, in the form that `run --record` writes, and
// where that says nothing by rules that are simple and made up (made_up.cpp).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/core/algorithm_info.hpp"
#include "bench/core/problem.hpp"

namespace convscope::standin {

// The algorithms of a pass in the legacy API; the index is the value of cuDNN's enum.
std::span<const std::string_view> algorithm_names(Pass pass);

// What Get and Find say, best first: offers whose notes are a math type ("FMA_MATH") and perhaps
// "NONDETERMINISTIC", with a refusal that names a status where there is one. Find's n-th answer in this
// process is the n-th of the script's repeats.
std::vector<Offer> get_offers(const ConvProblem& problem);
std::vector<Offer> find_offers(const ConvProblem& problem);

// One algorithm in one math type: its workspace, its seconds, or its refusal.
Offer forced_offer(const ConvProblem& problem, std::string_view algorithm, const std::string& math);

struct KnobRange {
  int type = 0;
  int64_t min = 0, max = 0, step = 1;
};

// An engine as it is told by name: notes ("TENSOR_CORE"), knobs, and why it is none of this graph.
struct Engine {
  std::vector<std::string> notes;
  std::vector<KnobRange> knobs;
  std::string refusal;
};

using Knobs = std::vector<std::pair<int, int64_t>>;

// Everything about one operation graph. A configuration is its engine's number and the knobs that were
// chosen, in words as "engine 34 k2=5 k14=3"; the engine takes those that are in `configs` and no others.
struct GraphAnswers {
  int64_t engine_count = 0;
  std::map<int64_t, Engine> engines;
  std::array<std::vector<std::string>, 3> ranked;  // heuristics A, B and fallback
  std::map<std::string, Offer> configs;
};

// The graph API does not know of FP32 and TF32: both have the same answers.
GraphAnswers graph_answers(const ConvProblem& problem);

std::string config_name(int64_t engine, const Knobs& knobs);
struct ParsedConfig {
  int64_t engine = 0;
  Knobs knobs;
};
std::optional<ParsedConfig> parse_config(const std::string& name);

// Seconds that work takes which the script says took `seconds`.
double scripted_time(std::optional<double> seconds);

// The made-up answers.
std::vector<Offer> made_up_get(const ConvProblem& problem);
Offer made_up_forced(const ConvProblem& problem, std::string_view algorithm, const std::string& math);
GraphAnswers made_up_graph(const ConvProblem& problem);

}  // namespace convscope::standin
