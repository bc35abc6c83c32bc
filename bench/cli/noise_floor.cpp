#include "bench/cli/noise_floor.hpp"

#include <fmt/format.h>

#include <cmath>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

namespace convscope {
namespace {

struct Floor {
  std::string layer;  // and pass
  double difference = 0;
  std::string algorithm;
};

std::vector<Floor> floors_of(std::span<const ResultRecord> records) {
  std::vector<Floor> floors;
  for (const ResultRecord& record : records) {
    const auto difference = difference_of_series(record);
    if (!difference) continue;
    const std::string layer =
        fmt::format("{} {} {}", record.key.network, record.key.layer, name(record.key.problem.pass));
    if (floors.empty() || floors.back().layer != layer) floors.push_back({layer, -1, ""});
    if (*difference > floors.back().difference) {
      floors.back().difference = *difference;
      floors.back().algorithm = record.key.algorithm;
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
  for (const Floor& floor : floors) {
    out << fmt::format("  {:6.2f} %  {} ({})\n", 100 * floor.difference, floor.layer, floor.algorithm);
    largest = std::max(largest, floor.difference);
  }
  out << fmt::format("  {:6.2f} %  over all\n", 100 * largest);
}

}  // namespace convscope
