#include "bench/cli/noise_floor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "bench/report/format.hpp"

namespace convscope {
namespace {

struct Floor {
  std::string scope;  // network, batch and what else the times depend on
  std::string layer;  // and pass
  double difference = 0;
  std::string algorithm;
};

std::vector<Floor> floors_of(std::span<const ResultRecord> records) {
  std::vector<Floor> floors;
  for (const ResultRecord& record : records) {
    const auto difference = difference_of_series(record);
    if (!difference) continue;
    const CaseKey& key = record.key;
    const std::string scope =
        fmt::format("{}, batch {}, {}", key.network, key.problem.batch, circumstances(key, record.device));
    const std::string layer = fmt::format("{} {}", key.layer, name(key.problem.pass));
    auto floor = std::find_if(floors.begin(), floors.end(),
                              [&](const Floor& f) { return f.scope == scope && f.layer == layer; });
    if (floor == floors.end()) floor = floors.insert(floors.end(), {scope, layer, -1, ""});
    if (*difference > floor->difference) {
      floor->difference = *difference;
      floor->algorithm = key.algorithm;
    }
  }
  return floors;
}

}  // namespace

std::optional<double> difference_of_series(const ResultRecord& record) {
  if (!record.time || !record.time->repeat) return std::nullopt;
  const double first = record.time->full.statistics.median;
  if (!(first > 0)) return std::nullopt;
  return std::abs(record.time->repeat->statistics.median / first - 1);
}

void print_noise_floor(std::ostream& out, std::span<const ResultRecord> records) {
  const std::vector<Floor> floors = floors_of(records);
  if (floors.empty()) return;
  out << "\nNoise floor: the medians of two series of the same candidate differ by at most\n";
  double largest = 0;
  std::string scope;
  for (const Floor& floor : floors) {
    if (floor.scope != scope) out << fmt::format("  {}\n", floor.scope);
    scope = floor.scope;
    out << fmt::format("  {:8.2f} %  {} ({})\n", 100 * floor.difference, floor.layer, floor.algorithm);
    largest = std::max(largest, floor.difference);
  }
  out << fmt::format("  {:8.2f} %  over all\n", 100 * largest);
}

}  // namespace convscope
