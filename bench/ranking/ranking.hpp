// Who wins: the order of the records of one problem under the same circumstances, and rank_records(), which
// writes it into the records. Console, tables, figures, report and selection read it from there or from the
// same contests (contest.hpp); none of them compares medians to find a winner.
#pragma once

#include <span>

#include "bench/record/result.hpp"

namespace convscope {

// Has a median of full, right or wrong.
bool is_timed(const ResultRecord& record);
// Of a timed record.
double median_seconds(const ResultRecord& record);

// What the record alone says; never `repeat` or `wrong_repeat`, which other records decide.
Standing standing_of(const ResultRecord& record);
// Measured, right and timed: only these have a rank.
bool can_win(const ResultRecord& record);
// Of a record that can win: its time is marked in all output. It is too long, never too short, as a low clock
// and other programs only delay.
bool is_suspect(const ResultRecord& record);

// Of two timed records, the first goes before the second: by median, then by the algorithm's name, so that
// the order does not depend on that of the records.
bool ranks_before(const ResultRecord* a, const ResultRecord* b);

// Whether a record is not shown to be slower than one that ranks before it: the 95% intervals of their
// medians overlap, or would if a suspect record had had the whole device, or one has too few samples for an
// interval.
bool is_in_doubt(const ResultRecord& record, const ResultRecord& faster);

// A convolution of a library's own (onednn.*, cudnn.*), not one of ours that calls a library's GEMM.
bool is_library(const ResultRecord& record);

// Fills `ranking` of every record from all of them together: repeats of a candidate, as several files have
// them, must be among them. Replaces what is there.
void rank_records(std::span<ResultRecord> records);

}  // namespace convscope
