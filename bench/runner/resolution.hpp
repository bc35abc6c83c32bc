// The resolution of a machine: how far apart it puts two measurements of the same code, within one run and
// between two. A difference below it is none that this machine can tell: no series goes on for an interval
// that is narrower than the first, and `convscope-report compare` takes no notice of less than the second.
// `convscope calibrate` measures it by a few short runs with --aa, which are kept in the user's cache, for
// each machine, device and number of threads.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bench/record/result.hpp"

namespace convscope {

// Shares of a time (0.01 is 1%), each of which nine of ten distances lie within.
struct Resolution {
  // Between the medians of two interleaved series of one candidate, of `pairs` such candidates.
  double within_run = 0;
  int64_t pairs = 0;
  // Between the medians of one candidate in two runs, each relative to the middle one of its group, since the
  // whole group gets slower or faster with the machine. As much as within a run at least.
  double between_runs = 0;
};

// Fewer pairs say nothing about nine of ten.
inline constexpr int64_t kMinPairs = 8;
// Where a smaller share of the candidates measured twice is neither throttled nor disturbed, the machine is
// too busy: the rest of them suffers too.
inline constexpr double kMinQuiet = 0.75;

// Of the records of each run that have a second series and are neither throttled nor disturbed; null with
// fewer than kMinPairs or kMinQuiet of them. One run has nothing to say between runs.
std::optional<Resolution> resolution_of(std::span<const std::vector<ResultRecord>> runs);

// The folder that holds the runs that measured it for this device of this machine, 1, 2, ...: below
// $CONVSCOPE_CACHE, or convscope/ in $XDG_CACHE_HOME or in ~/.cache. Throws UsageError where none is set.
std::string resolution_folder(const DeviceInfo& device, int threads);

// The records of each run in that folder; none where one cannot be read.
std::vector<std::vector<ResultRecord>> calibration_runs(const DeviceInfo& device, int threads);

// Of those runs; null where there are none that can be read.
std::optional<Resolution> known_resolution(const DeviceInfo& device, int threads);

// The width of the intervals that a series goes on for where the user asks for none: the default, or the
// resolution within a run, in whole hundredths of a percent, where that is more.
double confidence_width(const std::optional<Resolution>& resolution);

}  // namespace convscope
