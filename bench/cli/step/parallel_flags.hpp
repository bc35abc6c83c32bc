// The flags that `allreduce` and `step` have in common: ranks, links, reductions, as text and as values. Each
// reader throws UsageError "FLAG: found ...; allowed is ...".
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bench/cli/verbs.hpp"
#include "bench/parallel/network/network_model.hpp"
#include "bench/parallel/schedule/schedule.hpp"

namespace convscope {

struct ParallelOptions {
  std::vector<std::string> gpus{"2", "4"};
  std::vector<std::string> reduce = {};   // empty: all there are
  std::string link = {}, node_link = {};  // empty: none is given
  int64_t per_node = 0;                   // 0: all on one node
  std::string fabric = {};                // empty: the basis has a default
  std::string platform = {};              // empty: no file
  std::string out = {};                   // empty: no folder
};
void add_parallel_flags(CLI::App& verb, ParallelOptions& options);

// "4", "1,2,4", "1..1024": a range is of powers of two, from one number to the last that is not above the
// other.
std::vector<int> read_counts(std::string_view flag, const std::vector<std::string>& texts);

// "64KiB", "4KiB..1GiB": a range goes up by factors of 4. Whole FP32 values.
std::vector<int64_t> read_sizes(std::string_view flag, const std::vector<std::string>& texts);

// "5GB/s,5us": bandwidth each way in GB/s or MB/s, latency in us or ms.
Link read_link(std::string_view flag, std::string_view text);
// "2GB/s" in bytes a second.
double read_rate(std::string_view flag, std::string_view text);

// What modelled rows take the times of their reductions from: the closed form of --link, or SimGrid where
// --fabric simgrid or --platform asks for it. Throws UsageError where flags are missing or contradict each
// other, and where the platform file cannot be read.
std::unique_ptr<NetworkModel> read_network(const ParallelOptions& options);
// Whether one of the flags that say which network is modelled was given, --fabric apart.
bool names_network(const ParallelOptions& options);
// Those flags again: "--link 5GB/s,5us --fabric simgrid".
std::string network_flags(const ParallelOptions& options);

// n ranks on nodes of --per-node.
Ranks ranks_of(int n, const ParallelOptions& options);

// "none", "layer", "bucket:25MiB"
Overlap read_overlap(std::string_view flag, std::string_view text);

}  // namespace convscope
