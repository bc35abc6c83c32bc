#include "bench/runner/group_task.hpp"

#include "bench/core/error.hpp"
#include "bench/record/record_json.hpp"

namespace convscope {

Protocol protocol_of(const MeasuringSettings& settings) {
  return {settings};
}

CaseKey candidate_of(const Group& group, const std::string& algorithm) {
  CaseKey key = group.common;
  key.algorithm = algorithm;
  return key;
}

nlohmann::ordered_json to_json(const GroupTask& task) {
  nlohmann::ordered_json json{{"key", to_json(task.group.common)},
                              {"algorithms", task.group.algorithms},
                              {"measure", task.protocol.measure},
                              {"blocker", task.protocol.blocker},
                              {"sampling", to_json(static_cast<const SamplingRule&>(task.protocol))}};
  for (const ResultRecord& record : task.verified) json["verified"].push_back(to_json(record));
  return json;
}

GroupTask task_from_json(const nlohmann::ordered_json& json) try {
  GroupTask task;
  task.group.common = key_from_json(json.at("key"));
  json.at("algorithms").get_to(task.group.algorithms);
  json.at("measure").get_to(task.protocol.measure);
  task.protocol.blocker = json.value("blocker", true);  // journals of the first version do not have it
  static_cast<SamplingRule&>(task.protocol) = sampling_from_json(json.at("sampling"));
  if (json.contains("verified"))
    for (const auto& record : json["verified"]) task.verified.push_back(record_from_json(record));
  return task;
} catch (const nlohmann::json::exception& error) {
  throw UsageError(std::string("this is not a group of a convscope run: ") + error.what());
}

}  // namespace convscope
