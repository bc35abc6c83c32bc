// What a network's convolutions cost a step under each policy, as tables and as JSON. Always called a policy
// emulation on the library of the records, never by the framework's name alone.
#pragma once

#include <iosfwd>
#include <nlohmann/json.hpp>
#include <span>

#include "bench/report/console.hpp"
#include "bench/select/policy.hpp"

namespace convscope {

void print_policies(std::ostream& out, std::span<const PolicyScope> scopes, const ConsoleStyle& style);
nlohmann::ordered_json to_json(std::span<const PolicyScope> scopes);

// What a framework's options alone give: the time of its default's step (without the first layer's
// backward-data) over this policy's; its forward pass where it does no other. Nothing where either is
// incomplete or the framework has no default here.
std::optional<double> speed_up_over_default(const PolicyScope& scope, const PolicyResult& result);

}  // namespace convscope
