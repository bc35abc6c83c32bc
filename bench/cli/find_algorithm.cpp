#include "bench/cli/find_algorithm.hpp"

#include <fmt/format.h>

#include <vector>

#include "bench/core/error.hpp"
#include "bench/runner/config_text.hpp"

namespace convscope {

const Algorithm& find_algorithm(const Registry& registry, const std::string& id) {
  if (const Algorithm* found = registry.find(id)) return *found;
  std::vector<std::string> ids;
  for (const Algorithm* algorithm : registry.all()) ids.push_back(algorithm->info().id);
  throw UsageError(fmt::format("unknown algorithm \"{}\" (`convscope list algorithms` shows all){}", id,
                               did_you_mean(id, ids)));
}

}  // namespace convscope
