// Who may win, who is faster, and what rows are compared with: the rules that print_group and print_roll_up
// share.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/core/result.hpp"

namespace convscope {

// Has a median of full, right or wrong.
bool is_timed(const ResultRecord& record);
// Measured and timed: only these can be best.
bool can_win(const ResultRecord& record);
// Of a timed record.
double median_seconds(const ResultRecord& record);
// By median, then by name.
bool faster(const ResultRecord* a, const ResultRecord* b);

// Whether the row is a oneDNN one, the baseline's family.
bool is_baseline(const ResultRecord& record);
// The median of the fastest oneDNN row that can win, among records that can win.
std::optional<double> baseline_seconds(const std::vector<const ResultRecord*>& records);

// "fp32 nchw, 2 threads, cold cache, workspace up to 256.0 MiB, <processor>"
std::string circumstances(const CaseKey& key, const DeviceInfo& device);

}  // namespace convscope
