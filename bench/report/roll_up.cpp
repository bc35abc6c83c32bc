// print_roll_up(): what the layers' times mean for the network. A unit is one layer in one pass; a scope is
// all units that were run under the same circumstances and so may be added up.
#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <ostream>
#include <string>
#include <tuple>
#include <vector>

#include "bench/report/console.hpp"
#include "bench/report/format.hpp"
#include "bench/report/ranking.hpp"
#include "bench/report/text_table.hpp"

namespace convscope {
namespace {

struct Unit {
  std::string label;  // the layer, and its pass where several passes are added up
  const CaseKey* key = nullptr;
  std::vector<const ResultRecord*> rows;  // those that can win, the best first
};

struct Scope {
  const ResultRecord* first = nullptr;
  std::vector<Unit> units;
};

// What must agree for times to be added up, the pass aside.
auto circumstances_of(const ResultRecord& record) {
  const CaseKey& key = record.key;
  return std::tuple(key.network, key.device_id(), record.device.name, key.problem.batch, key.problem.math,
                    key.problem.layout, key.threads, key.cache, key.workspace_cap);
}

Unit& unit_of(Scope& scope, const CaseKey& key) {
  for (Unit& unit : scope.units)
    if (unit.key->layer == key.layer && unit.key->problem == key.problem) return unit;
  return scope.units.emplace_back(Unit{key.layer, &key, {}});
}

// In the order of the records.
std::vector<Scope> scopes_of(std::span<const ResultRecord> records) {
  std::vector<Scope> scopes;
  for (const ResultRecord& record : records) {
    auto scope = std::find_if(scopes.begin(), scopes.end(), [&](const Scope& s) {
      return circumstances_of(*s.first) == circumstances_of(record);
    });
    if (scope == scopes.end()) scope = scopes.insert(scopes.end(), Scope{&record, {}});
    Unit& unit = unit_of(*scope, record.key);
    if (can_win(record)) unit.rows.push_back(&record);
  }
  for (Scope& scope : scopes)
    for (Unit& unit : scope.units) std::stable_sort(unit.rows.begin(), unit.rows.end(), ranks_before);
  return scopes;
}

// The best row of the unit that `accepts`; null when there is none.
template <typename Accepts>
const ResultRecord* best_row(const Unit& unit, const Accepts& accepts) {
  for (const ResultRecord* row : unit.rows)
    if (accepts(*row)) return row;
  return nullptr;
}

struct Total {
  double seconds = 0;
  bool throttled = false;  // one of its rows was
};

// Sum over the units, each times its count, of their best accepted row; null when a unit has none.
template <typename Accepts>
std::optional<Total> total_of(const std::vector<Unit>& units, const Accepts& accepts) {
  Total total;
  for (const Unit& unit : units) {
    const ResultRecord* row = best_row(unit, accepts);
    if (row == nullptr) return std::nullopt;
    total.seconds += median_seconds(*row) * static_cast<double>(unit.key->count);
    total.throttled = total.throttled || row->health.throttled;
  }
  return total;
}

// The ids that have a row in every unit.
std::vector<std::string> covering_algorithms(const std::vector<Unit>& units) {
  std::vector<std::string> ids;
  for (const ResultRecord* row : units.front().rows) {
    const auto same_id = [&](const ResultRecord& other) { return other.key.algorithm == row->key.algorithm; };
    const bool listed = std::find(ids.begin(), ids.end(), row->key.algorithm) != ids.end();
    if (!listed && total_of(units, same_id)) ids.push_back(row->key.algorithm);
  }
  return ids;
}

double nominal_flops(const std::vector<Unit>& units) {
  double flops = 0;
  for (const Unit& unit : units)
    flops += unit.key->problem.nominal_flops() * static_cast<double>(unit.key->count);
  return flops;
}

void print_best_rows(std::ostream& out, const std::vector<Unit>& units, double total, bool coloured) {
  TextTable table(
      {"<layer", ">count", "<best algorithm", ">median ms", ">share", ">nominal GFLOP/s", ">vs onednn"});
  for (const Unit& unit : units) {
    const ResultRecord& best = *unit.rows.front();
    const double seconds = median_seconds(best);
    const double share = 100 * seconds * static_cast<double>(unit.key->count) / total;
    const auto baseline = baseline_seconds(unit.rows);
    table.add({unit.label, fmt::format("{}", unit.key->count), marked_name(best), milliseconds_text(seconds),
               fmt::format("{:.0f}%", share),
               fmt::format("{:.1f}", unit.key->problem.nominal_flops() / seconds / 1e9),
               baseline ? fmt::format("{:.2f}x", *baseline / seconds) : "-"});
  }
  table.print(out, coloured);
}

void print_sums(std::ostream& out, const std::vector<Unit>& units, bool complete, bool coloured) {
  const double flops = nominal_flops(units);
  const auto baseline = total_of(units, is_baseline);
  TextTable table({"<sum over layers by count", ">ms", ">nominal GFLOP/s", ">vs onednn"});
  const auto add = [&](const std::string& what, const Total& total, char mark, std::string_view paint) {
    const double seconds = total.seconds;
    table.add({what + (total.throttled ? " (throttled rows in it)" : ""), milliseconds_text(seconds),
               fmt::format("{:.1f}", flops / seconds / 1e9),
               baseline ? fmt::format("{:.2f}x", baseline->seconds / seconds) : "-"},
              mark, paint);
  };
  const auto any = [](const ResultRecord&) { return true; };
  add("best of each layer", *total_of(units, any), '*', colour::good);
  if (baseline) add("best onednn of each layer", *baseline, ' ', colour::none);
  std::vector<std::pair<std::string, Total>> single;
  // An algorithm does not cover a network of which a layer is missing.
  if (complete)
    for (const std::string& id : covering_algorithms(units))
      single.emplace_back(id, *total_of(units, [&](const ResultRecord& r) { return r.key.algorithm == id; }));
  std::sort(single.begin(), single.end(), [](const auto& a, const auto& b) {
    return std::pair(a.second.seconds, a.first) < std::pair(b.second.seconds, b.first);
  });
  for (const auto& [id, total] : single) add(id, total, ' ', colour::none);
  table.print(out, coloured);
  if (single.empty()) out << "  no single algorithm has a correct row for every layer\n";
}

// One pass, or all of them together: without the table of best rows then, each pass having shown its own.
void print_part(std::ostream& out, const Scope& scope, std::string_view passes, std::vector<Unit> units,
                bool with_best_rows, bool coloured) {
  const CaseKey& key = scope.first->key;
  fmt::print(out, "{}{} {}, batch {}{}\n  {}\n", coloured ? colour::heading : "",
             key.network.empty() ? "all layers" : key.network, passes, key.problem.batch,
             coloured ? colour::reset : "", circumstances(key, scope.first->device));
  std::vector<std::string> missing;
  for (const Unit& unit : units)
    if (unit.rows.empty()) missing.push_back(unit.label);
  std::erase_if(units, [](const Unit& unit) { return unit.rows.empty(); });
  if (!units.empty()) {
    const double total = total_of(units, [](const ResultRecord&) { return true; })->seconds;
    if (with_best_rows) print_best_rows(out, units, total, coloured);
    print_sums(out, units, missing.empty(), coloured);
  }
  if (!missing.empty())
    fmt::print(out, "  no correct measured row, so not in the sums: {}\n", comma_list(missing));
  out << '\n';
}

}  // namespace

void print_roll_up(std::ostream& out, std::span<const ResultRecord> records, const ConsoleStyle& style) {
  for (const Scope& scope : scopes_of(records)) {
    if (scope.units.size() < 2) continue;  // its table says it already
    std::vector<std::string> passes;
    for (Pass pass : kPasses) {
      std::vector<Unit> units;
      for (const Unit& unit : scope.units)
        if (unit.key->problem.pass == pass) units.push_back(unit);
      if (units.empty()) continue;
      passes.emplace_back(name(pass));
      print_part(out, scope, name(pass), std::move(units), true, style.colour);
    }
    if (passes.size() < 2) continue;
    std::vector<Unit> all = scope.units;
    for (Unit& unit : all) unit.label += " " + std::string(name(unit.key->problem.pass));
    print_part(out, scope, fmt::format("{}", fmt::join(passes, " + ")), std::move(all), false, style.colour);
  }
}

}  // namespace convscope
