#include "bench/runner/resolution.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <system_error>
#include <utility>
#include <vector>

#include "bench/core/error.hpp"
#include "bench/measure/statistics.hpp"
#include "bench/record/result_files.hpp"
#include "bench/runner/cases.hpp"

namespace convscope {
namespace {

constexpr double kShareOfDistances = 0.9;

std::string environment_variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string cache_folder() {
  if (const std::string own = environment_variable("CONVSCOPE_CACHE"); !own.empty()) return own;
  if (const std::string all = environment_variable("XDG_CACHE_HOME"); !all.empty()) return all + "/convscope";
  if (const std::string home = environment_variable("HOME"); !home.empty()) return home + "/.cache/convscope";
  throw UsageError(
      "there is no folder to keep this machine's resolution in: set HOME, XDG_CACHE_HOME or CONVSCOPE_CACHE");
}

bool is_measured_twice(const ResultRecord& record) {
  return record.outcome == Outcome::measured && record.time && record.time->repeat &&
         record.time->full.statistics.median > 0 && record.time->repeat->statistics.median > 0;
}

bool is_pair(const ResultRecord& record) {
  return is_measured_twice(record) && !record.health.throttled && !record.health.disturbed;
}

// What kShareOfDistances of the distances, logarithms of ratios, lie within.
double share_within(std::vector<double> distances) {
  if (distances.empty()) return 0;
  std::sort(distances.begin(), distances.end());
  const auto within = std::ceil(kShareOfDistances * static_cast<double>(distances.size()));
  return std::expm1(distances[static_cast<size_t>(within) - 1]);
}

// By candidate: the logarithm of its median over the middle one of its group.
std::map<std::string, double> relative_medians(const std::vector<ResultRecord>& run) {
  std::map<std::string, std::vector<double>> groups;  // by what identifies the group
  std::map<std::string, std::pair<std::string, double>> candidates;
  for (const ResultRecord& record : run) {
    if (!is_pair(record)) continue;
    CaseKey group = record.key;
    group.algorithm.clear();
    const double median = std::log(record.time->full.statistics.median);
    groups[candidate_key(group)].push_back(median);
    candidates[candidate_key(record.key)] = {candidate_key(group), median};
  }
  std::map<std::string, double> relative;
  for (const auto& [key, of_candidate] : candidates)
    relative[key] = of_candidate.second - summarise(groups[of_candidate.first]).median;
  return relative;
}

bool is_outdated(const ResultRecord& record) {
  return record.time && record.time->protocol != kProtocol;
}

}  // namespace

std::optional<Resolution> resolution_of(std::span<const std::vector<ResultRecord>> runs) {
  std::vector<double> within, between;
  double measured_twice = 0;
  std::vector<std::map<std::string, double>> relative;
  for (const std::vector<ResultRecord>& run : runs) {
    for (const ResultRecord& record : run) {
      measured_twice += is_measured_twice(record) ? 1 : 0;
      if (is_pair(record))
        within.push_back(
            std::abs(std::log(record.time->repeat->statistics.median / record.time->full.statistics.median)));
    }
    relative.push_back(relative_medians(run));
  }
  const auto pairs = static_cast<double>(within.size());
  if (pairs < kMinPairs || pairs < kMinQuiet * measured_twice) return std::nullopt;
  for (size_t b = 1; b < relative.size(); ++b)
    for (size_t a = 0; a < b; ++a)
      for (const auto& [key, median] : relative[b])
        if (const auto other = relative[a].find(key); other != relative[a].end())
          between.push_back(std::abs(median - other->second));
  Resolution found;
  found.pairs = static_cast<int64_t>(within.size());
  found.within_run = share_within(std::move(within));
  found.between_runs = std::max(found.within_run, share_within(std::move(between)));
  return found;
}

std::string resolution_folder(const DeviceInfo& device, int threads) {
  const std::string machine =
      device.machine_unit.empty() ? device.machine_class : device.machine_class + "-" + device.machine_unit;
  return fmt::format("{}/resolution/{}/{}-{}-threads", cache_folder(),
                     machine.empty() ? "unknown-machine" : machine, name(device.kind), threads);
}

std::vector<std::vector<ResultRecord>> calibration_runs(const DeviceInfo& device, int threads) {
  std::vector<std::vector<ResultRecord>> runs;
  try {
    const std::string folder = resolution_folder(device, threads);
    std::error_code unknown;
    for (int run = 1; std::filesystem::exists(fmt::format("{}/{}/results.json", folder, run), unknown); ++run)
      runs.push_back(read_results(fmt::format("{}/{}", folder, run)).records);
    if (std::ranges::any_of(runs, [](const auto& run) { return std::ranges::any_of(run, is_outdated); }))
      runs.clear();
  } catch (const UsageError&) {
    runs.clear();  // nothing depends on them: they are measured anew
  }
  return runs;
}

std::optional<Resolution> known_resolution(const DeviceInfo& device, int threads) {
  return resolution_of(calibration_runs(device, threads));
}

double confidence_width(const std::optional<Resolution>& resolution) {
  const double resolved =
      resolution ? std::ceil(1e4 * resolution->within_run) / 1e4 : 0;  // for short rerun lines
  return std::max(SamplingRule{}.confidence_width, resolved);
}

}  // namespace convscope
