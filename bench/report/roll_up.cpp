// print_roll_up(): what the layers' times mean for the network. A unit is one layer in one pass: a contest.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <ostream>
#include <string>
#include <tuple>
#include <vector>

#include "bench/ranking/contest.hpp"
#include "bench/ranking/ranking.hpp"
#include "bench/report/console.hpp"
#include "bench/report/format.hpp"

namespace convscope {
namespace {

struct Unit {
  std::string label;  // the layer, and its pass where several passes are added up
  const Contest* contest = nullptr;

  const CaseKey& key() const { return contest->key(); }
  double count() const { return static_cast<double>(key().count); }
};

constexpr auto any_record = [](const ResultRecord&) { return true; };

struct Total {
  double seconds = 0;
  bool suspect = false;  // one of its records was throttled or disturbed, its time too long
};

// Sum over the units, each times its count, of their best accepted record; null when a unit has none.
template <typename Accepts>
std::optional<Total> total_of(const std::vector<Unit>& units, const Accepts& accepts) {
  Total total;
  for (const Unit& unit : units) {
    const auto& ranked = unit.contest->ranked;
    const auto best = std::ranges::find_if(ranked, [&](const Entry& one) { return accepts(*one.record); });
    if (best == ranked.end()) return std::nullopt;
    total.seconds += median_seconds(*best->record) * unit.count();
    total.suspect = total.suspect || is_suspect(*best->record);
  }
  return total;
}

// Whose records the baselines are.
std::string library_of(const std::vector<Unit>& units) {
  for (const Unit& unit : units)
    if (const ResultRecord* baseline = unit.contest->baseline()) return baseline_name(baseline);
  return baseline_name(nullptr);
}

double nominal_flops(const std::vector<Unit>& units) {
  double flops = 0;
  for (const Unit& unit : units) flops += unit.key().problem.nominal_flops() * unit.count();
  return flops;
}

// Returns whether a ratio in it is marked.
bool print_best_records(std::ostream& out, const std::vector<Unit>& units, double total, const Look& look) {
  TextTable table({"<layer", ">count", "<best algorithm", ">median ms|ms", ">share",
                   ">nominal GFLOP/s|GFLOP/s", ">vs " + library_of(units)},
                  {4, 1});
  bool suspect = false;
  for (const Unit& unit : units) {
    const ResultRecord& best = *unit.contest->winner();
    const double seconds = median_seconds(best);
    const double share = 100 * seconds * unit.count() / total;
    const ResultRecord* baseline = unit.contest->baseline();
    table.add({unit.label, fmt::format("{}", unit.key().count), marked_name(best), milliseconds_text(seconds),
               fmt::format("{:.0f}%", share),
               fmt::format("{:.1f}", unit.key().problem.nominal_flops() / seconds / 1e9),
               baseline != nullptr ? speed_up_text(best, *baseline) : kDash});
    suspect = suspect || (baseline != nullptr && is_suspect_ratio(best, *baseline));
  }
  out << left_out_text(table.print(out, look), look);
  return suspect;
}

// Likewise.
bool print_sums(std::ostream& out, const std::vector<Unit>& units, bool complete, const Look& look) {
  const double flops = nominal_flops(units);
  const auto baseline = total_of(units, is_library);
  TextTable table(
      {"<sum over layers by count", ">ms", ">nominal GFLOP/s|GFLOP/s", ">vs " + library_of(units)});
  bool suspect = false;
  const auto add = [&](const std::string& what, const Total& total, char mark, std::string_view paint) {
    const double seconds = total.seconds;
    const bool is_marked = baseline && (total.suspect || baseline->suspect);
    suspect = suspect || is_marked;
    table.add(
        {what + (total.suspect ? " (suspect records in it)" : ""), milliseconds_text(seconds),
         fmt::format("{:.1f}", flops / seconds / 1e9),
         baseline ? fmt::format("{:.2f}x{}", baseline->seconds / seconds, is_marked ? "?" : "") : kDash},
        mark, paint);
  };
  add("best of each layer", *total_of(units, any_record), '*', colour::good);
  if (baseline) add("best " + library_of(units) + " of each layer", *baseline, ' ', colour::none);
  std::vector<std::pair<std::string, Total>> single;
  // An algorithm does not cover a network of which a layer is missing.
  if (complete)
    for (const Entry& entry : units.front().contest->ranked) {
      const std::string& id = entry.record->key.algorithm;
      if (const auto total = total_of(units, [&](const ResultRecord& r) { return r.key.algorithm == id; }))
        single.emplace_back(id, *total);
    }
  std::sort(single.begin(), single.end(), [](const auto& a, const auto& b) {
    return std::tie(a.second.seconds, a.first) < std::tie(b.second.seconds, b.first);
  });
  for (const auto& [id, total] : single) add(id, total, ' ', colour::none);
  table.print(out, look);
  if (single.empty()) out << "  no single algorithm has a correct record for every layer\n";
  return suspect;
}

// One pass, or all of them together: without the table of best records then, each pass having shown its own.
void print_part(std::ostream& out, const Network& network, std::string_view passes, std::vector<Unit> units,
                bool with_best_records, const Look& look) {
  const CaseKey& key = network.front().key();
  const std::string title = fmt::format("{} {}, batch {}", key.network.empty() ? "all layers" : key.network,
                                        passes, key.problem.batch);
  print_heading(out, title, circumstances(key, network.front().first().device), look);
  std::vector<std::string> missing;
  for (const Unit& unit : units)
    if (unit.contest->ranked.empty()) missing.push_back(unit.label);
  std::erase_if(units, [](const Unit& unit) { return unit.contest->ranked.empty(); });
  if (!units.empty()) {
    const double total = total_of(units, any_record)->seconds;
    bool suspect = with_best_records && print_best_records(out, units, total, look);
    suspect = print_sums(out, units, missing.empty(), look) || suspect;
    if (suspect) print_note(out, kSuspectSpeedUp, look);
  }
  if (!missing.empty())
    print_note(out, "no correct measured record, so not in the sums: " + comma_list(missing), look);
  out << '\n';
}

// The library, or convscope for ours.
std::string side_of(const ResultRecord& record) {
  return is_library(record) ? record.algorithm.provider : "convscope";
}

// "convscope won 13 of 15 layers and passes (2 in doubt), onednn 2". In doubt are those in which another
// side is not shown to be slower.
std::string winners_text(const std::vector<Unit>& units) {
  std::map<std::string, size_t> won;
  size_t doubtful = 0;
  for (const Unit& unit : units) {
    const ResultRecord& winner = *unit.contest->winner();
    ++won[side_of(winner)];
    doubtful += std::ranges::any_of(unit.contest->ranked, [&](const Entry& entry) {
      return side_of(*entry.record) != side_of(winner) && is_in_doubt(*entry.record, winner);
    });
  }
  std::vector<std::pair<std::string, size_t>> sides(won.begin(), won.end());
  std::ranges::stable_sort(sides, std::greater(), [](const auto& side) { return side.second; });
  const std::string doubt = doubtful == 0 ? "" : fmt::format(" ({} in doubt)", doubtful);
  std::string text = fmt::format("{} won {} of {} {}{}", sides.front().first, sides.front().second,
                                 units.size(), units.size() == 1 ? "layer" : "layers and passes", doubt);
  for (size_t i = 1; i < sides.size(); ++i) text += fmt::format(", {} {}", sides[i].first, sides[i].second);
  return text;
}

std::string sum_text(const std::vector<Unit>& units) {
  const Total best = *total_of(units, any_record);
  bool suspect = best.suspect;
  std::string text = fmt::format("{} ms for the best of each", milliseconds_text(best.seconds));
  if (const auto library = total_of(units, is_library)) {
    const double factor = library->seconds / best.seconds;
    suspect = suspect || library->suspect;
    text +=
        fmt::format(", {:.2f}x {} than the best of {} ({} ms)", std::max(factor, 1 / factor),
                    factor < 1 ? "slower" : "faster", library_of(units), milliseconds_text(library->seconds));
  }
  return text + (suspect ? "; suspect: throttled or disturbed records are in it" : "");
}

std::string quiet_text(std::span<const ResultRecord> records) {
  size_t timed = 0, disturbed = 0, throttled = 0;
  double width = 0;
  std::map<std::string, size_t> reasons;  // of a GPU's driver
  for (const ResultRecord& record : records) {
    if (can_win(record)) {
      ++timed;
      width = std::max(width, record.sampling.confidence_width);
    }
    disturbed += standing_of(record) == Standing::disturbed;
    if (standing_of(record) != Standing::throttled) continue;
    ++throttled;
    if (!record.health.throttle_reasons.empty()) ++reasons[record.health.throttle_reasons];
  }
  const bool is_wide = width > kWideInterval;
  const std::string wide =
      is_wide ? fmt::format("; series could end at intervals of up to {}", percent_text(width)) : "";
  if (disturbed + throttled == 0)
    return fmt::format("{}none of {} records was disturbed or throttled{}",
                       is_wide ? "" : "the machine was quiet: ", timed, wide);
  const auto most = std::ranges::max_element(reasons, {}, [](const auto& reason) { return reason.second; });
  return fmt::format("the machine was not quiet: {} of {} records disturbed, {} throttled{}{}", disturbed,
                     timed, throttled, most == reasons.end() ? "" : ", most by the driver: " + most->first,
                     wide);
}

}  // namespace

void print_verdict(std::ostream& out, std::span<const ResultRecord> records, const Look& look) {
  const auto print = [&](const std::string& text) { out << wrapped(text, look.columns, "", "  ") << '\n'; };
  const std::vector<Contest> all = contests(records);
  bool any = false;
  for (const Network& network : networks(all)) {
    std::vector<Unit> units;
    for (const Contest* contest : network.contests)
      if (contest->winner() != nullptr) units.push_back({label(*contest), contest});
    if (units.empty()) continue;
    any = true;
    const CaseKey& key = network.front().key();
    out << '\n';
    print(fmt::format("{}, batch {}: {}", key.network, key.problem.batch,
                      circumstances(key, network.front().first().device)));
    print(winners_text(units));
    print(sum_text(units));
  }
  if (any) print(quiet_text(records));
}

void print_roll_up(std::ostream& out, std::span<const ResultRecord> records, const Look& look) {
  const std::vector<Contest> all = contests(records);
  for (const Network& network : networks(all)) {
    if (network.contests.size() < 2) continue;  // its table says it already
    std::vector<std::string> passes;
    for (Pass pass : kPasses) {
      std::vector<Unit> units;
      for (const Contest* contest : network.contests)
        if (contest->key().problem.pass == pass) units.push_back({contest->key().layer, contest});
      if (units.empty()) continue;
      passes.emplace_back(name(pass));
      print_part(out, network, name(pass), std::move(units), true, look);
    }
    if (passes.size() < 2) continue;
    std::vector<Unit> units;
    for (const Contest* contest : network.contests) units.push_back({label(*contest), contest});
    print_part(out, network, fmt::format("{}", fmt::join(passes, " + ")), std::move(units), false, look);
  }
}

}  // namespace convscope
