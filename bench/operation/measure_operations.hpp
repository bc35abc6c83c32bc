// The operations of a network, each computed by ours and by libraries on the same tensors: checked, then
// timed in turn with the tensors out of the caches; on the emulator, whose time means nothing, checked alone.
// Rows of operations.csv.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bench/algorithm/operation_algorithm.hpp"
#include "bench/core/device_info.hpp"
#include "bench/device/device.hpp"
#include "bench/measure/health.hpp"
#include "bench/record/cells.hpp"
#include "bench/record/result.hpp"

namespace convscope {

struct LayerOperations {
  std::string layer;
  std::vector<OperationProblem> problems;
};

// What all rows of a run have in common.
struct OperationRun {
  std::string network;
  int64_t batch = 1;
  int threads = 1;  // of a CPU
  DeviceInfo device;
  Ceilings ceilings;
  std::string rerun;
};

// verified_only: right, on a device that is not timed; wrong: failed the check; refused: its provider does
// not compute it.
enum class OperationOutcome { measured, verified_only, wrong, refused };
std::string_view name(OperationOutcome);  // as spelled above

struct OperationRow {
  OperationRun of;
  std::string layer;
  OperationProblem problem;
  std::string provider, version, implementation;
  OperationOutcome outcome = OperationOutcome::refused;
  std::string note;
  std::optional<double> relative_l2;
  Statistics time;        // n is 0 without a time
  int64_t disturbed = 0;  // samples that were disturbed twice and kept

  double bytes_per_second() const { return static_cast<double>(problem.bytes()) / time.median; }
};

std::span<const ColumnOf<OperationRow>> operation_columns();
// docs/operation_format.md
std::string operation_format_markdown();

struct OperationOptions {
  double seconds = 0.3;  // of timing one problem, all providers together; each has its fewest samples anyway
  uint64_t seed = 1;
  CoreReading known_cores;           // the best that is known of the threads' cores; 0 where nothing is
  double core_patience_seconds = 5;  // of all waiting for cores of their own
  std::function<void(const std::string&)> progress = [](const std::string&) {};
  // Asked between problems: whether the user wants no more of them.
  std::function<bool()> stopped = [] { return false; };
};
inline constexpr int64_t kMinOperationSamples = 6, kMaxOperationSamples = 100;

// A row for each problem and each provider that is for such devices, in their order; handed to `done` as each
// problem is finished. Throws UsageError where the device's memory does not hold a problem, DeviceError
// where it fails.
void measure_operations(const OperationRun& of, std::span<const LayerOperations> layers,
                        std::span<const OperationAlgorithm* const> providers, Device& device,
                        const OperationOptions& options,
                        const std::function<void(std::span<const OperationRow>)>& done);

}  // namespace convscope
