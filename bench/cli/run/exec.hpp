// `convscope exec`: one algorithm on the user's own tensors, NumPy .npy in and out. Not timed, not verified.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>

#include "bench/algorithm/registry.hpp"
#include "bench/cli/verbs.hpp"
#include "bench/device/device.hpp"
#include "bench/runner/config.hpp"

namespace convscope {

// The flags. Of the three files two are read and the one that the pass computes is written: forward writes
// output, backward_data input, backward_filter filter. Axes are those of the problem's layout: (n, c, h, w)
// and (k, c, r, s) for nchw, (n, h, w, c) and (k, r, s, c) for nhwc, (c, h, w, n) and (c, r, s, k) for chwn.
struct ExecOptions {
  std::string problem;                // --case: a problem line or benchdnn descriptor
  std::string algorithm;              // --algorithm: an id
  std::string input, filter, output;  // --input, --filter, --output
  std::string bias;                   // --bias, of an epilogue that has one: (k)
  std::optional<DeviceId> device;     // --device; null is the algorithm's own
  int threads = 0;                    // --threads; 0 is every core
  std::optional<int64_t> workspace_cap = kDefaultWorkspaceCap;  // --workspace-cap: bytes, null for inf
};

void add_flags(CLI::App& verb, ExecOptions& options);

// What the verb does on a device that is set to `threads` threads. Returns the exit code: 0, or 1 when the
// algorithm refuses the problem or fails, which `errors` gets as one line. Throws UsageError for a bad
// problem line, an unknown algorithm and files that do not fit.
int exec_algorithm(const ExecOptions& options, const Registry& registry, Device& device, int threads,
                   std::ostream& errors);

}  // namespace convscope
