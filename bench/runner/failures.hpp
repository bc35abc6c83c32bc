// Who is left out of the rest of a run: an algorithm that hung or crashed twice would most likely do so
// again, and each time costs a limit or a fresh worker. Derived from the records alone, so that a resumed run
// decides as the interrupted one would have.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "bench/record/result.hpp"

namespace convscope {

inline constexpr int kFailuresBeforeLeftOut = 2;

// A hang or a crash. Not one that the system killed, probably for want of memory: that is the problem's size.
// Rows that are wrong or failed with an error cost little and say something of their own each time.
bool counts_as_failure(const ResultRecord& record);

// The sentence for the row of `algorithm` on this kind of device that is left out: when and how it failed.
// Nothing while it may run.
std::optional<std::string> why_left_out(std::span<const ResultRecord> records, const std::string& algorithm,
                                        DeviceKind device);

}  // namespace convscope
