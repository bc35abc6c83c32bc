// `convscope calibrate`: measures what this machine can resolve (bench/runner/resolution) by kRuns short runs
// with --aa of every algorithm on two layers of AlexNet, and keeps them for the runs that follow.
#pragma once

#include <string>

#include "bench/cli/verbs.hpp"
#include "bench/runner/config.hpp"

namespace convscope {

struct CalibrateOptions {
  Overrides overrides;      // --device, --threads and --batch of `run`
  double seconds = 60;      // for all samples of all runs of one device and number of threads
  bool if_unknown = false;  // nothing to do where runs are kept that are recent
};

// Every two of them are a pair of runs.
inline constexpr int kRuns = 3;

void add_flags(CLI::App& verb, CalibrateOptions& options);

// What is measured in each run: forward, no series ends before its time or its 60 samples. On the devices and
// with the threads of a run without flags.
Suite calibration_suite();

// Renames a folder to the place of another. Throws UsageError where that cannot be done; what is in its place
// is removed only after it.
void replace_folder(const std::string& by, const std::string& folder);

}  // namespace convscope
