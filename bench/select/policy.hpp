// A policy: how a framework, or a user, picks a convolution algorithm, as data: which records to take, under
// which workspace cap, layout and math mode. apply() finds its record for every layer and pass in a result
// file. An emulation on the libraries of those records, never the framework itself. Reading the JSON is
// bench/cli/read/policies.
#pragma once

#include <iosfwd>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bench/report/format.hpp"
#include "bench/select/workspace_curve.hpp"

namespace convscope {

// first: the first name of the list that has a right record under the cap, as a fixed or preferred algorithm;
// fastest: the fastest of all records that the list names, as profiling would find.
enum class Take { first, fastest };
inline constexpr std::array kTakes{Take::first, Take::fastest};
std::string_view name(Take);  // "first", "fastest"

struct Policy {
  std::string name;         // "torch_benchmark"
  std::string title;        // "Torch 7, cudnn.benchmark = true"
  std::string framework;    // policies of one framework differ in its options only
  bool is_default = false;  // what the framework does unless told otherwise
  std::string source;
  std::string unverified;  // what of it no source says; may be empty
  std::string library;     // whose records it takes, for messages
  Cap workspace_cap;
  bool cap_is_one_filter = false;  // then workspace_cap is null and the cap is that of cap_of()
  Layout layout = Layout::nchw;
  MathMode math = MathMode::fp32;
  Take take = Take::first;
  // Ids or stems, or parts of them with a * at the end. A pass that is not there the policy does not do.
  std::map<Pass, std::vector<std::string>> algorithms;
};

// The cap for this problem: C/groups * R * S * 4 bytes, the size of one filter, where the policy says so.
Cap cap_of(const Policy& policy, const ConvProblem& problem);

// One layer's pass under a policy.
struct PolicyUnit {
  std::string layer;
  Pass pass = Pass::forward;
  int64_t count = 1;
  bool first_backward_data = false;  // backward-data of a layer that reads the image
  CapRecord chosen;                  // its record is null where there is none, and `missing` says why
  std::string missing;
};

struct PolicyResult {
  const Policy* policy = nullptr;
  std::vector<PolicyUnit> units;  // those of the policy's passes
};

// One network under the same circumstances but for math, layout and cap, of which each policy has its own.
struct PolicyScope {
  std::vector<const Contest*> contests;
  std::vector<PolicyResult> results;  // in the order of the policies
};

// The network and name of each layer that is marked `first` in its config.
using FirstLayers = std::set<std::pair<std::string, std::string>>;

bool does_backward(const Policy& policy);

// Every layer is asked for in each of the policy's passes, whether the results have it or not.
std::vector<PolicyScope> apply(std::span<const Policy> policies, std::span<const Contest> contests,
                               const FirstLayers& first_layers);

// A sum of medians over units by count, or what is missing from it.
struct PolicyTotal {
  double seconds = 0;
  bool suspect = false;
  size_t units = 0;                  // of which there are records
  size_t other_caps = 0;             // of those, records not measured at the policy's own cap
  std::vector<std::string> missing;  // "conv1 backward_data: no record"
  bool is_done = true;               // by the policy: false where the part has a pass that it does not do
  bool is_complete() const { return is_done && units > 0 && missing.empty(); }
};
enum class Part { forward, backward, backward_without_first, step, step_without_first };
PolicyTotal total(const PolicyResult& result, Part part);

// "onednn 2.6.3 OpenMP", or several, of the records taken; empty without a record.
std::string emulated_on(const PolicyResult& result);

// What a network's convolutions cost a step under each policy, as tables and as JSON (policy_report.cpp).
// Always called a policy emulation on the library of the records, never by the framework's name alone.
void print_policies(std::ostream& out, std::span<const PolicyScope> scopes, const Look& look);
nlohmann::ordered_json to_json(std::span<const PolicyScope> scopes);

}  // namespace convscope
