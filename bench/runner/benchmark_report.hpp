// Google Benchmark writes one JSON report a group; this joins them into the one benchmark.json of a run, in
// the same form, so that its compare.py reads it. The times in it are Google Benchmark's, not our statistics.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace convscope {

// The report of one group. `group` tells groups apart; a group that was measured twice (again after a crash,
// or by a resumed run) has two.
struct BenchmarkReport {
  std::string group;
  nlohmann::ordered_json report;
};

// The context of the first and the benchmarks of all; where a group has a benchmark of the same name in
// several reports, only the last report's entries stay.
nlohmann::ordered_json join_benchmarks(const std::vector<BenchmarkReport>& reports);

}  // namespace convscope
