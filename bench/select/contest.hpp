// A contest: one problem under one set of circumstances, with every row that the results have of it, sorted
// by what they may be: able to win, wrong, without a time. The ground of all other files here. Reads no file
// and judges nobody; start at contests().
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/record/result.hpp"

namespace convscope {

// One algorithm in a contest. Rows of the same candidate, as several result files have them, are repeats.
struct Entry {
  const ResultRecord* row = nullptr;  // stands for all repeats: the middle one by time, the faster of two
  std::vector<const ResultRecord*> repeats;  // those that are right and timed, in the order of the records
};

// Everything but algorithm and seed agrees: network, layer, problem, device, threads, cache and workspace
// cap.
struct Contest {
  const ResultRecord* first = nullptr;            // for the key, device and ceilings that all rows share
  std::vector<Entry> able;                        // the best first; front() is the oracle
  std::vector<const ResultRecord*> wrong;         // rows that failed verification, the fastest first
  std::vector<const ResultRecord*> without_time;  // refused, crashed, verified only

  const CaseKey& key() const { return first->key; }
  const Entry* entry(std::string_view algorithm) const;  // null unless it is able
};

// In the order of the records, which must outlive the result. An algorithm that is wrong in one repeat is
// wrong.
std::vector<Contest> contests(std::span<const ResultRecord> records);

// The contests of one network under the same circumstances, its layers and passes: what times are added up
// over.
struct Network {
  std::vector<const Contest*> contests;
  const Contest& front() const { return *contests.front(); }
};
std::vector<Network> networks(std::span<const Contest> contests);

// The fastest row whatever its error: the oracle or a wrong row that is faster. Null without a timed row.
const ResultRecord* best_at_any_error(const Contest& contest);

// The id without its device: "onednn.auto" of "onednn.auto.cpu". An id without one is its own stem.
std::string_view stem(std::string_view algorithm);
// Whether `name`, as a policy or a flag has it, is the id or its stem.
bool is_named(std::string_view algorithm, std::string_view name);

// "conv2 backward_data"
std::string label(const Contest& contest);

}  // namespace convscope
