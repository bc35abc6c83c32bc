// ResultRecord as JSON and back, the same in the journal, results.json and between worker and parent. No
// value is ever NaN: what is not known is null.
#pragma once

#include <nlohmann/json.hpp>

#include "bench/core/result.hpp"

namespace convscope {

nlohmann::ordered_json to_json(const ResultRecord& record);
ResultRecord record_from_json(const nlohmann::ordered_json& json);  // throws UsageError on a foreign shape

nlohmann::ordered_json to_json(const CaseKey& key);
CaseKey key_from_json(const nlohmann::ordered_json& json);
nlohmann::ordered_json to_json(const Ceilings& ceilings);
Ceilings ceilings_from_json(const nlohmann::ordered_json& json);
nlohmann::ordered_json to_json(const DeviceInfo& device);
DeviceInfo device_from_json(const nlohmann::ordered_json& json);

}  // namespace convscope
