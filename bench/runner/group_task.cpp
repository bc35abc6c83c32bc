#include "bench/runner/group_task.hpp"

#include "bench/core/error.hpp"
#include "bench/report/record_json.hpp"

namespace convscope {

Protocol protocol_of(const MeasuringSettings& settings) {
  Protocol protocol;
  protocol.time_limit_seconds = settings.time_limit_seconds;
  protocol.min_samples = settings.min_samples;
  protocol.max_samples = settings.max_samples;
  protocol.confidence_width = settings.confidence_width;
  return protocol;
}

CaseKey candidate_of(const Group& group, const std::string& algorithm) {
  CaseKey key = group.common;
  key.algorithm = algorithm;
  return key;
}

nlohmann::ordered_json to_json(const GroupTask& task) {
  const Protocol& protocol = task.protocol;
  return {{"key", to_json(task.group.common)},
          {"algorithms", task.group.algorithms},
          {"measure", protocol.measure},
          {"repeat", protocol.repeat},
          {"blocker", protocol.blocker},
          {"time_limit_seconds", protocol.time_limit_seconds},
          {"min_samples", protocol.min_samples},
          {"max_samples", protocol.max_samples},
          {"confidence_width", protocol.confidence_width}};
}

GroupTask task_from_json(const nlohmann::ordered_json& json) try {
  GroupTask task;
  task.group.common = key_from_json(json.at("key"));
  json.at("algorithms").get_to(task.group.algorithms);
  json.at("measure").get_to(task.protocol.measure);
  json.at("repeat").get_to(task.protocol.repeat);
  task.protocol.blocker = json.value("blocker", true);  // journals of the first version do not have it
  json.at("time_limit_seconds").get_to(task.protocol.time_limit_seconds);
  json.at("min_samples").get_to(task.protocol.min_samples);
  json.at("max_samples").get_to(task.protocol.max_samples);
  json.at("confidence_width").get_to(task.protocol.confidence_width);
  return task;
} catch (const nlohmann::json::exception& error) {
  throw UsageError(std::string("this is not a group of a convscope run: ") + error.what());
}

}  // namespace convscope
