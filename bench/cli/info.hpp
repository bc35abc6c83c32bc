// `convscope info`: the machine, this build and its libraries, and the ceilings measured right now.
#pragma once

#include <iosfwd>
#include <nlohmann/json.hpp>
#include <vector>

#include "bench/algorithm/registry.hpp"
#include "bench/record/result.hpp"

namespace convscope {

struct InfoOptions {
  bool json = false;  // --json: one JSON document and nothing else: the environment with "ceilings" added
};

// The verb: measures for about a second a thread count.
void info(std::ostream& out, const InfoOptions& options, const Registry& registry);

// The thread counts that ceilings are shown for: 1, 2, 4 and so on, and all cores.
std::vector<int> ceiling_thread_counts(int cores);

// What the verb prints, from describe_environment() and the ceilings.
void print_info(std::ostream& out, const nlohmann::ordered_json& environment,
                const std::vector<Ceilings>& ceilings, const InfoOptions& options);

}  // namespace convscope
