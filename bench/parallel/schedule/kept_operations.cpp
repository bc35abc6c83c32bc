#include "bench/parallel/schedule/kept_operations.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>

#include "bench/core/error.hpp"
#include "bench/record/record_json.hpp"
#include "bench/record/result_files.hpp"

namespace convscope {
namespace {

using Json = nlohmann::ordered_json;

// As Measurement's kSuspectSamples, of which rows have only the number.
constexpr double kSuspectSamples = 0.25;
constexpr std::string_view kWithRelu = "+relu";

TimeRange& operator+=(TimeRange& sum, const TimeRange& one) {
  sum.median += one.median;
  sum.lowest += one.lowest;
  sum.highest += one.highest;
  return sum;
}

std::string text_in(const Json& row, const char* name) {
  const Json& value = row.at(name);
  return value.is_null() ? "" : value.get<std::string>();
}

double seconds_in(const Json& row, const char* name) {
  const Json& value = row.at(name);
  return value.is_null() ? std::numeric_limits<double>::quiet_NaN() : value.get<double>() / 1e3;
}

KeptOperation operation_in(const Json& row) {
  KeptOperation kept;
  kept.network = text_in(row, "network");
  kept.layer = text_in(row, "layer");
  kept.operation = text_in(row, "operation");
  kept.direction = text_in(row, "direction");
  kept.batch = row.at("batch").get<int64_t>();
  // Older rows do not say which of several GPUs it was, nor that it was a CPU.
  kept.device = row.contains("device") ? text_in(row, "device") : "cpu";
  kept.device_name = text_in(row, "device_name");
  kept.machine_class = text_in(row, "machine_class");
  kept.threads = row.at("threads").get<int>();
  kept.time = {seconds_in(row, "median_ms"), seconds_in(row, "ci_low_ms"), seconds_in(row, "ci_high_ms")};
  if (!(kept.time.median > 0)) throw UsageError("median_ms: a measured row has one above 0");
  const Json &disturbed = row.at("disturbed"), &samples = row.at("samples");
  kept.suspect = !disturbed.is_null() && !samples.is_null() &&
                 disturbed.get<double>() > kSuspectSamples * samples.get<double>();
  return kept;
}

std::string file_of(const std::string& path) {
  return std::filesystem::is_directory(path) ? path + "/operations.json" : path;
}

bool is_of(const KeptOperation& row, const DeviceInfo& device, int threads) {
  const bool is_same_class = row.machine_class.empty() || device.machine_class.empty()
                                 ? row.device_name == device.name
                                 : row.machine_class == device.machine_class;
  if (device.kind != DeviceKind::cpu) return is_same_class && row.device.starts_with(name(device.kind));
  return is_same_class && row.device == name(DeviceKind::cpu) && row.threads == threads;
}

// Of one layer and direction: the fastest row of each operation.
using Fastest = std::map<std::string, const KeptOperation*>;

bool is_within_another(const std::string& operation, const Fastest& all) {
  if (all.contains(operation + std::string(kWithRelu))) return true;
  if (operation != "relu") return false;
  for (const auto& [other, row] : all)
    if (other.ends_with(kWithRelu)) return true;
  return false;
}

}  // namespace

std::vector<KeptOperation> read_operations(std::span<const std::string> paths) {
  std::vector<KeptOperation> kept;
  for (const std::string& path : paths) {
    const std::string file = file_of(path);
    size_t number = 0;
    try {
      const std::string bytes = read_file(file);
      const Json document = parse_json_text(is_xz(bytes) ? unpack_xz(bytes) : bytes);
      for (const Json& row : document.at("rows")) {
        ++number;
        if (row.at("outcome").get<std::string>() == "measured") kept.push_back(operation_in(row));
      }
    } catch (const nlohmann::json::exception& fault) {
      throw UsageError(fmt::format("{}: {}{}; `convscope operations CONFIG --out DIR` writes such a file",
                                   file, number == 0 ? "" : fmt::format("row {}: ", number),
                                   fault_text(fault)));
    } catch (const UsageError& fault) {
      const std::string what = fault.what();
      const bool has_name = what.find(file) != std::string::npos;
      throw UsageError(
          has_name ? what
                   : fmt::format("{}: {}{}", file, number == 0 ? "" : fmt::format("row {}: ", number), what));
    }
  }
  return kept;
}

OperationTimesOfLayers operations_of(std::span<const KeptOperation> rows, const std::string& network,
                                     const DeviceInfo& device, int threads) {
  std::map<std::pair<int64_t, std::string>, std::map<std::string, Fastest>> fastest;
  for (const KeptOperation& row : rows) {
    if (row.network != network || row.operation == "1bit" || !is_of(row, device, threads)) continue;
    const KeptOperation*& best = fastest[{row.batch, row.layer}][row.direction][row.operation];
    if (best == nullptr || row.time.median < best->time.median) best = &row;
  }
  OperationTimesOfLayers result;
  for (const auto& [place, by_direction] : fastest) {
    OperationTimes& layer = result[place];
    for (const auto& [direction, all] : by_direction)
      for (const auto& [operation, row] : all) {
        if (is_within_another(operation, all)) continue;
        (direction == "backward" ? layer.backward
         : operation == "update" ? layer.update
                                 : layer.forward) += row->time;
        layer.suspect = layer.suspect || row->suspect;
      }
  }
  return result;
}

}  // namespace convscope
