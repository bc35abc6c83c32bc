#include "bench/ranking/contest.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "bench/core/error.hpp"
#include "bench/ranking/ranking.hpp"

namespace convscope {
namespace {

auto identity_of(const ResultRecord& record) {
  return std::tuple(circumstances_of(record), record.key.layer, record.key.problem);
}

auto identity_but_cap(const Contest& contest) {
  Circumstances shared = circumstances_of(contest.first());
  shared.workspace_cap.reset();
  return std::tuple(shared, contest.key().layer, contest.key().problem);
}

// Groups by `identify`, in the order in which each group first appears.
template <typename Item, typename Identify>
std::vector<std::vector<const Item*>> grouped(std::span<const Item> items, const Identify& identify) {
  std::vector<std::vector<const Item*>> groups;
  std::map<decltype(identify(items.front())), size_t> index_of;
  for (const Item& item : items) {
    const auto [place, is_new] = index_of.try_emplace(identify(item), groups.size());
    if (is_new) groups.emplace_back();
    groups[place->second].push_back(&item);
  }
  return groups;
}

// The record that stands for all repeats.
const ResultRecord* standing_for(std::vector<const ResultRecord*> repeats) {
  if (!std::ranges::all_of(repeats, [](const auto* record) { return is_suspect(*record); }))
    std::erase_if(repeats, [](const auto* record) { return is_suspect(*record); });
  std::ranges::sort(repeats, ranks_before);
  return repeats[(repeats.size() - 1) / 2];
}

// Sorts the records of one algorithm into the contest.
void add_algorithm(Contest& contest, const std::vector<const ResultRecord*>& records) {
  Entry entry;
  bool is_wrong = false;
  for (const ResultRecord* record : records) {
    if (can_win(*record)) entry.repeats.push_back(record);
    is_wrong = is_wrong || record->outcome == Outcome::wrong;
  }
  if (is_wrong) {
    for (const ResultRecord* record : records)
      if (record->outcome == Outcome::wrong) contest.wrong.push_back(record);
  } else if (entry.repeats.empty()) {
    contest.without_time.insert(contest.without_time.end(), records.begin(), records.end());
  } else {
    entry.record = standing_for(entry.repeats);
    contest.ranked.push_back(std::move(entry));
  }
}

Contest contest_of(std::vector<const ResultRecord*> records) {
  Contest contest;
  std::vector<std::string_view> order;
  std::map<std::string_view, std::vector<const ResultRecord*>> by_algorithm;
  for (const ResultRecord* record : records) {
    auto& repeats = by_algorithm[record->key.algorithm];
    if (repeats.empty()) order.push_back(record->key.algorithm);
    repeats.push_back(record);
  }
  contest.records = std::move(records);
  for (std::string_view algorithm : order) add_algorithm(contest, by_algorithm[algorithm]);
  std::sort(contest.ranked.begin(), contest.ranked.end(),
            [](const Entry& a, const Entry& b) { return ranks_before(a.record, b.record); });
  // A wrong record may be without a time; those go last.
  std::stable_sort(contest.wrong.begin(), contest.wrong.end(), [](const auto* a, const auto* b) {
    return is_timed(*a) && (!is_timed(*b) || ranks_before(a, b));
  });
  return contest;
}

}  // namespace

const ResultRecord* Contest::baseline() const {
  for (const Entry& candidate : ranked)
    if (is_library(*candidate.record)) return candidate.record;
  return nullptr;
}

const Entry* Contest::entry(std::string_view algorithm) const {
  for (const Entry& candidate : ranked)
    if (candidate.record->key.algorithm == algorithm) return &candidate;
  return nullptr;
}

Circumstances circumstances_of(const ResultRecord& record) {
  const CaseKey& key = record.key;
  const ConvProblem& problem = key.problem;
  return {key.network,   key.device_id(), record.device.name, record.device.machine_class,
          problem.batch, problem.math,    problem.layout,     problem.epilogue,
          key.threads,   key.cache,       key.workspace_cap};
}

void OneProtocol::add(const std::string& file, const ResultRecord& record) {
  if (!record.time) return;
  const int64_t version = record.time->protocol;
  const std::tuple machine(record.key.device, record.device.name, record.device.machine_class);
  const auto& [first_file, first_version] = first_.try_emplace(machine, file, version).first->second;
  if (version != first_version)
    throw UsageError(fmt::format(
        "{}: {} {} {} was timed by version {} of the measuring protocol, and {} has times of "
        "this machine by version {}: such times are not compared; leave one out, or measure it again",
        file, record.key.layer, name(record.key.problem.pass), record.key.algorithm, version, first_file,
        first_version));
}

std::vector<Contest> contests(std::span<const ResultRecord> records) {
  std::vector<Contest> result;
  for (auto& group : grouped(records, identity_of)) result.push_back(contest_of(std::move(group)));
  return result;
}

std::vector<Network> networks(std::span<const Contest> contests) {
  std::vector<Network> result;
  for (auto& group : grouped(contests, [](const Contest& c) { return circumstances_of(c.first()); }))
    result.push_back({std::move(group)});
  return result;
}

std::vector<std::vector<const Contest*>> grouped_over_caps(std::span<const Contest> contests) {
  return grouped(contests, identity_but_cap);
}

std::vector<const ResultRecord*> pareto_front(std::span<const Contest* const> same_but_cap) {
  std::vector<const ResultRecord*> records, front;
  for (const Contest* contest : same_but_cap)
    for (const Entry& entry : contest->ranked) records.push_back(entry.record);
  std::sort(records.begin(), records.end(), [](const auto* a, const auto* b) {
    return std::tuple(a->workspace_bytes, median_seconds(*a), a->key.algorithm) <
           std::tuple(b->workspace_bytes, median_seconds(*b), b->key.algorithm);
  });
  for (const ResultRecord* record : records)
    if (front.empty() || median_seconds(*record) < median_seconds(*front.back())) front.push_back(record);
  return front;
}

const ResultRecord* best_at_any_error(const Contest& contest) {
  const ResultRecord* right = contest.winner();
  if (contest.wrong.empty() || !is_timed(*contest.wrong.front())) return right;
  const ResultRecord* wrong = contest.wrong.front();
  return right == nullptr || ranks_before(wrong, right) ? wrong : right;
}

std::string_view stem(std::string_view algorithm) {
  for (DeviceKind kind : kDeviceKinds) {
    const std::string_view suffix = name(kind);
    if (algorithm.size() > suffix.size() + 1 && algorithm.ends_with(suffix) &&
        algorithm[algorithm.size() - suffix.size() - 1] == '.')
      return algorithm.substr(0, algorithm.size() - suffix.size() - 1);
  }
  return algorithm;
}

bool is_named(std::string_view algorithm, std::string_view name) {
  return algorithm == name || stem(algorithm) == name;
}

std::string label(const Contest& contest) {
  return contest.key().layer + " " + std::string(name(contest.key().problem.pass));
}

}  // namespace convscope
