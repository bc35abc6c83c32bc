// `convscope info`: the machine, this build and its libraries, and the ceilings, which it measures for about
// a second per thread count.
#pragma once

#include <iosfwd>
#include <nlohmann/json.hpp>
#include <vector>

#include "bench/cli/verbs.hpp"

namespace convscope {

struct InfoOptions {
  bool json = false;  // --json: one JSON document and nothing else: the environment with "ceilings" added
};

void add_flags(CLI::App& verb, InfoOptions& options);

// The thread counts that ceilings are measured with: the powers of two below `cores`, and `cores`.
std::vector<int> ceiling_thread_counts(int cores);

// What the verb prints, from describe_environment() and the ceilings.
void print_info(std::ostream& out, const nlohmann::ordered_json& environment,
                const std::vector<Ceilings>& ceilings, const InfoOptions& options, const Look& look);

}  // namespace convscope
