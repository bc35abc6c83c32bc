#include "bench/select/contest.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

#include "bench/report/ranking.hpp"

namespace convscope {
namespace {

auto circumstances_of(const ResultRecord& record) {
  const CaseKey& key = record.key;
  return std::tuple(key.network, key.device_id(), record.device.name, key.problem.batch, key.problem.math,
                    key.problem.layout, key.threads, key.cache, key.workspace_cap);
}

auto identity_of(const ResultRecord& record) {
  return std::tuple(circumstances_of(record), record.key.layer, record.key.problem);
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

bool is_faster(const ResultRecord* a, const ResultRecord* b) {
  return std::pair(median_seconds(*a), a->key.algorithm) < std::pair(median_seconds(*b), b->key.algorithm);
}

// Sorts the rows of one algorithm into the contest.
void add_algorithm(Contest& contest, const std::vector<const ResultRecord*>& rows) {
  Entry entry;
  bool is_wrong = false;
  for (const ResultRecord* row : rows) {
    if (can_win(*row)) entry.repeats.push_back(row);
    is_wrong = is_wrong || row->outcome == Outcome::wrong;
  }
  if (is_wrong) {
    for (const ResultRecord* row : rows)
      if (row->outcome == Outcome::wrong) contest.wrong.push_back(row);
    return;
  }
  if (entry.repeats.empty()) {
    contest.without_time.insert(contest.without_time.end(), rows.begin(), rows.end());
    return;
  }
  std::vector<const ResultRecord*> sorted = entry.repeats;
  std::sort(sorted.begin(), sorted.end(), ranks_before);
  entry.row = sorted[(sorted.size() - 1) / 2];
  contest.able.push_back(std::move(entry));
}

Contest contest_of(const std::vector<const ResultRecord*>& rows) {
  Contest contest;
  contest.first = rows.front();
  std::vector<std::string_view> order;
  std::map<std::string_view, std::vector<const ResultRecord*>> by_algorithm;
  for (const ResultRecord* row : rows) {
    auto& repeats = by_algorithm[row->key.algorithm];
    if (repeats.empty()) order.push_back(row->key.algorithm);
    repeats.push_back(row);
  }
  for (std::string_view algorithm : order) add_algorithm(contest, by_algorithm[algorithm]);
  std::sort(contest.able.begin(), contest.able.end(),
            [](const Entry& a, const Entry& b) { return ranks_before(a.row, b.row); });
  // A wrong row may be without a time; those go last.
  std::stable_sort(contest.wrong.begin(), contest.wrong.end(), [](const auto* a, const auto* b) {
    return is_timed(*a) && (!is_timed(*b) || is_faster(a, b));
  });
  return contest;
}

}  // namespace

const Entry* Contest::entry(std::string_view algorithm) const {
  for (const Entry& candidate : able)
    if (candidate.row->key.algorithm == algorithm) return &candidate;
  return nullptr;
}

std::vector<Contest> contests(std::span<const ResultRecord> records) {
  std::vector<Contest> result;
  for (const auto& rows : grouped(records, identity_of)) result.push_back(contest_of(rows));
  return result;
}

std::vector<Network> networks(std::span<const Contest> contests) {
  std::vector<Network> result;
  for (auto& group : grouped(contests, [](const Contest& c) { return circumstances_of(*c.first); }))
    result.push_back({std::move(group)});
  return result;
}

const ResultRecord* best_at_any_error(const Contest& contest) {
  const ResultRecord* right = contest.able.empty() ? nullptr : contest.able.front().row;
  if (contest.wrong.empty() || !is_timed(*contest.wrong.front())) return right;
  const ResultRecord* wrong = contest.wrong.front();
  return right == nullptr || is_faster(wrong, right) ? wrong : right;
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
