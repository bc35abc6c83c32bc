#include "bench/parallel/schedule/kept_operations.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>

#include "bench/core/error.hpp"
#include "bench/measure/sample_series.hpp"
#include "bench/record/record_json.hpp"
#include "bench/record/result_files.hpp"

namespace convscope {
namespace {

using Json = nlohmann::ordered_json;

std::string text_in(const Json& row, const char* name) {
  const Json& value = row.at(name);
  return value.is_null() ? "" : value.get<std::string>();
}

double seconds_in(const Json& row, const char* name) {
  const Json& value = row.at(name);
  return value.is_null() ? std::numeric_limits<double>::quiet_NaN() : value.get<double>() / 1e3;
}

int threads_in(const Json& row) {
  const Json& value = row.at("threads");
  const int most = std::numeric_limits<int>::max();
  if (!value.is_number_integer() || value < 1 || value > most)
    throw UsageError(fmt::format("threads: expected a whole number from 1 to {}", most));
  return value.get<int>();
}

KeptOperation operation_in(const Json& row) {
  KeptOperation kept;
  kept.problem = text_in(row, "problem");
  // Older rows do not say which of several GPUs it was, nor that it was a CPU.
  kept.device = row.contains("device") ? text_in(row, "device") : "cpu";
  kept.device_name = text_in(row, "device_name");
  kept.machine_class = text_in(row, "machine_class");
  kept.threads = threads_in(row);
  kept.time = {seconds_in(row, "median_ms"), seconds_in(row, "ci_low_ms"), seconds_in(row, "ci_high_ms")};
  if (!(kept.time.median > 0)) throw UsageError("median_ms: a measured row has one above 0");
  kept.suspect = row.at("disturbed").get<double>() > kSuspectSamples * row.at("samples").get<double>();
  return kept;
}

std::string file_of(const std::string& path) {
  std::error_code unknown;
  return std::filesystem::is_directory(path, unknown) ? path + "/operations.json" : path;
}

bool is_of(const KeptOperation& row, const DeviceInfo& device, int threads) {
  const bool is_same_class = row.machine_class.empty() || device.machine_class.empty()
                                 ? row.device_name == device.name
                                 : row.machine_class == device.machine_class;
  if (device.kind != DeviceKind::cpu) return is_same_class && row.device.starts_with(name(device.kind));
  return is_same_class && row.device == name(DeviceKind::cpu) && row.threads == threads;
}

}  // namespace

std::vector<KeptOperation> read_operations(std::span<const std::string> paths) {
  std::vector<KeptOperation> kept;
  for (const std::string& path : paths) {
    const std::string file = file_of(path);
    const std::string bytes = read_file(file);
    size_t number = 0;
    const auto refuse = [&](const std::string& what) {
      const std::string place = number == 0 ? "" : fmt::format("row {}: ", number);
      throw UsageError(fmt::format("{}: {}{}", file, place, what));
    };
    try {
      const Json document = json_from_bytes(bytes);
      for (const Json& row : document.at("rows")) {
        ++number;
        if (row.at("outcome").get<std::string>() == "measured") kept.push_back(operation_in(row));
      }
    } catch (const nlohmann::json::exception& fault) {
      refuse(fault_text(fault) + "; `convscope operations CONFIG --out DIR` writes such a file");
    } catch (const UsageError& fault) {
      refuse(fault.what());
    }
  }
  return kept;
}

OperationTimes times_on(const DeviceInfo& device, int threads, std::span<const KeptOperation> rows) {
  OperationTimes times;
  for (const KeptOperation& row : rows) {
    if (!is_of(row, device, threads)) continue;
    const KeptOperation*& best = times[row.problem];
    if (best == nullptr || row.time.median < best->time.median) best = &row;
  }
  return times;
}

}  // namespace convscope
