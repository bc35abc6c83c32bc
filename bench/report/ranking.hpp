// Who may win, who is faster, and what rows are compared with: the rules that print_group and print_roll_up
// share.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/record/result.hpp"

namespace convscope {

// Has a median of full, right or wrong.
bool is_timed(const ResultRecord& record);
// Measured and timed: only these can be best.
bool can_win(const ResultRecord& record);
// Of a timed record.
double median_seconds(const ResultRecord& record);
// The best first: by median, then by name, but a throttled row after all that are not.
bool ranks_before(const ResultRecord* a, const ResultRecord* b);
// Of two rows that can win: whether the 95% intervals of their medians overlap, so that neither is shown to
// be the faster. False where either has too few samples for an interval.
bool is_tie(const ResultRecord& a, const ResultRecord& b);
// The algorithm's id, with a word behind it where the row was throttled.
std::string marked_name(const ResultRecord& record);

// Whether the row is a oneDNN one, the baseline's family.
bool is_baseline(const ResultRecord& record);
// The median of the best oneDNN row, among records that can win.
std::optional<double> baseline_seconds(const std::vector<const ResultRecord*>& records);

// The device's own name, and where it is not the first of its kind which one: "<processor> (cuda:1)".
std::string device_text(const CaseKey& key, const DeviceInfo& device);

// "fp32 nchw, 2 threads, cold cache, workspace up to 256.0 MiB, <processor>"
std::string circumstances(const CaseKey& key, const DeviceInfo& device);

}  // namespace convscope
