// Which algorithms a list of patterns means, as in --algorithm 'winograd,!*.polyphase.*'. A pattern is a glob
// over ids, or a name: an id, a family, the first parts of ids ("winograd.mixed"), or the beginning of one id
// that differs from others in the device only ("winograd.mi"). With `!` before it, it takes out what it
// means; a list of nothing but such patterns begins with every algorithm.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/algorithm/registry.hpp"
#include "bench/core/device_info.hpp"
#include "bench/core/problem.hpp"
#include "bench/record/result.hpp"

namespace convscope {

// What is wrong with one pattern, with what would be right; empty where it means at least one candidate.
std::string defect_of_pattern(const std::string& pattern, const Registry& registry);

// The ids of the candidates for one kind of device that the patterns mean, in the registry's order. The
// pattern * does not mean algorithms that are there on request only. Every pattern is without defect. For a
// problem with an epilogue, an algorithm's separate form comes with it, unless a pattern is the id of just
// one of the two.
std::vector<std::string> meant_by(const std::vector<std::string>& patterns, const Registry& registry,
                                  DeviceKind kind, Epilogue epilogue = Epilogue::none);

// Throws UsageError where no record is of the algorithm that a flag names by its id, with or without device.
void check_recorded(std::string_view flag, const std::string& name, std::span<const ResultRecord> records);

}  // namespace convscope
