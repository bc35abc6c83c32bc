#include "bench/runner/benchmark_report.hpp"

#include <map>
#include <utility>

namespace convscope {

using Json = nlohmann::ordered_json;

Json join_benchmarks(const std::vector<BenchmarkReport>& reports) {
  std::map<std::pair<std::string, std::string>, const Json*> last;  // (group, name) -> its last report
  const auto name_in = [](const BenchmarkReport& report, const Json& entry) {
    return std::pair{report.group, entry.value("name", "")};
  };
  for (const BenchmarkReport& report : reports)
    for (const Json& entry : report.report.at("benchmarks")) last[name_in(report, entry)] = &report.report;

  Json joined = {{"context", Json::object()}, {"benchmarks", Json::array()}};
  if (!reports.empty()) joined["context"] = reports.front().report.at("context");
  for (const BenchmarkReport& report : reports)
    for (const Json& entry : report.report.at("benchmarks"))
      if (last[name_in(report, entry)] == &report.report) joined["benchmarks"].push_back(entry);
  return joined;
}

}  // namespace convscope
