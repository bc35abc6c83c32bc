// A contest: one problem under one set of circumstances, with every record that the results have of it,
// sorted by what they may be: ranked, wrong, without a time. Start at contests(); ranking.hpp writes what it
// says into the records.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "bench/record/result.hpp"

namespace convscope {

// One algorithm in a contest. Records of the same candidate, as several result files have them, are repeats.
struct Entry {
  // Stands for all repeats: of those that are not suspect, or of all where all are, the middle one by time;
  // of two the faster.
  const ResultRecord* record = nullptr;
  std::vector<const ResultRecord*> repeats;  // those that are right and timed, in the order of the records
};

// Everything but algorithm and seed agrees: network, layer, problem, device, class of machine, threads, cache
// and workspace cap. The first record is the one for the key, device and ceilings that all share.
struct Contest {
  std::vector<const ResultRecord*> records;       // all of them, in their order
  std::vector<Entry> ranked;                      // in the order of ranks_before(): the winner first
  std::vector<const ResultRecord*> wrong;         // records that failed verification, the fastest first
  std::vector<const ResultRecord*> without_time;  // of algorithms that were refused, crashed or verified only

  const ResultRecord& first() const { return *records.front(); }
  const CaseKey& key() const { return first().key; }
  const ResultRecord* winner() const { return ranked.empty() ? nullptr : ranked.front().record; }
  // What the others are compared with: the best of a library's own convolutions. Null without one.
  const ResultRecord* baseline() const;
  const Entry* entry(std::string_view algorithm) const;  // null unless it is ranked
};

// In the order of the records, which must outlive the result. An algorithm that is wrong in one repeat is
// wrong.
std::vector<Contest> contests(std::span<const ResultRecord> records);

// What must agree for times to be added up; layer and pass may differ. Who groups by less of it resets the
// members that may differ.
struct Circumstances {
  std::string network;
  DeviceId device;
  std::string device_name, machine_class;
  int64_t batch = 1;
  MathMode math = MathMode::fp32;
  Layout layout = Layout::nchw;
  Epilogue epilogue = Epilogue::none;
  int threads = 1;
  CacheState cache = CacheState::cold;
  std::optional<int64_t> workspace_cap;

  auto operator<=>(const Circumstances&) const = default;
};
Circumstances circumstances_of(const ResultRecord& record);

// Times of two versions of the measuring protocol (docs/measuring.md) are neither compared nor added up: all
// that several files have of one machine must be of one version. It is no part of the circumstances, as a
// record without a time has none.
class OneProtocol {
 public:
  // Throws UsageError that names the candidate, both versions and the files of them.
  void add(const std::string& file, const ResultRecord& record);

 private:
  // By kind of device, its name and class of machine: file and version of the first time.
  std::map<std::tuple<DeviceKind, std::string, std::string>, std::pair<std::string, int64_t>> first_;
};

// The contests of one network under the same circumstances, its layers and passes.
struct Network {
  std::vector<const Contest*> contests;
  const Contest& front() const { return *contests.front(); }
};
std::vector<Network> networks(std::span<const Contest> contests);

// Contests that differ in nothing but their workspace cap, together.
std::vector<std::vector<const Contest*>> grouped_over_caps(std::span<const Contest> contests);

// Of contests that differ in their cap only: the ranked records that no other beats in both time and
// workspace, from the smallest workspace to the shortest time.
std::vector<const ResultRecord*> pareto_front(std::span<const Contest* const> same_but_cap);

// The fastest record whatever its error: the winner, or a wrong record that is faster. Null without a timed
// record.
const ResultRecord* best_at_any_error(const Contest& contest);

// The id without its device: "onednn.auto" of "onednn.auto.cpu". An id without one is its own stem.
std::string_view stem(std::string_view algorithm);
// Whether `name`, as a policy or a flag has it, is the id or its stem.
bool is_named(std::string_view algorithm, std::string_view name);

// "conv2 backward_data"
std::string label(const Contest& contest);

}  // namespace convscope
