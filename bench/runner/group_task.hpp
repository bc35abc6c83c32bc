// GroupTask: one group and its protocol, complete, so that another process or, with --resume, a later run can
// carry it out. Plain data and its JSON; run_group carries it out.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/record/result.hpp"
#include "bench/runner/cases.hpp"
#include "bench/runner/config.hpp"

namespace convscope {

// How the candidates of a group are measured; cache state, seed and workspace cap are in the group's key.
struct Protocol : SamplingRule {
  bool measure = true;  // false: correctness only, records end as verified_only
  bool blocker = true;  // of a GPU's queue: see bench/device/cuda/cuda.hpp
};

struct GroupTask {
  Group group;
  Protocol protocol;
  // Of candidates that passed verification in a process that another candidate ended since: not verified
  // again before timing.
  std::vector<ResultRecord> verified{};
};

// The protocol that a suite's settings ask for.
Protocol protocol_of(const MeasuringSettings& settings);

// The group's key with `algorithm` in it: the key of that candidate's record.
CaseKey candidate_of(const Group& group, const std::string& algorithm);

nlohmann::ordered_json to_json(const GroupTask& task);
GroupTask task_from_json(const nlohmann::ordered_json& json);  // throws UsageError on a foreign shape

}  // namespace convscope
