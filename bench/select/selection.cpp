// select(), and its text: a table of oracles a network, one of each chooser, their sums, and the workspace
// curve.
#include "bench/select/selection.hpp"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <ostream>

#include "bench/ranking/ranking.hpp"

namespace convscope {
namespace {

// A winner that is wrong, "same" where the oracle is the fastest, or "-" where no record has a time.
std::string any_error_text(const Contest& contest) {
  const ResultRecord* best = best_at_any_error(contest);
  if (best == nullptr) return "-";
  if (best->outcome != Outcome::wrong) return "same";
  const auto error = best->accuracy.relative_l2;
  return fmt::format("{} {} ms, error {}", best->key.algorithm, milliseconds_text(median_seconds(*best)),
                     error ? fmt::format("{:.1e}", *error) : "not finite");
}

void print_oracles(std::ostream& out, const Network& network, const Look& look) {
  TextTable table({"<layer and pass", ">count", "<oracle", ">median ms|ms", ">workspace", ">records",
                   ">wrong", "=best at any error|any error"},
                  {5, 6, 7, 1, 4});
  for (const Contest* contest : network.contests) {
    const std::string count = fmt::format("{}", contest->key().count);
    const std::string ranked = fmt::format("{}", contest->ranked.size());
    const std::string wrong = fmt::format("{}", contest->wrong.size());
    if (contest->ranked.empty()) {
      table.add({label(*contest), count, "no right, timed record", "-", "-", ranked, wrong,
                 any_error_text(*contest)},
                ' ', colour::bad);
      continue;
    }
    const ResultRecord& oracle = *contest->ranked.front().record;
    table.add({label(*contest), count, marked_name(oracle), milliseconds_text(median_seconds(oracle)),
               bytes_text(oracle.workspace_bytes), ranked, wrong, any_error_text(*contest)});
  }
  out << left_out_text(table.print(out, look), look);
}

std::string stability_text(const Entry& entry) {
  const Stability s = stability(entry);
  if (s.repeats < 2) return "-";
  return fmt::format("{} of {} repeats, times within {}", percent_text(s.agreement), s.repeats,
                     percent_text(s.spread));
}

void print_choice(std::ostream& out, const std::vector<Judgement>& judgements, const std::string& chooser,
                  const Look& look) {
  TextTable table(
      {"<" + chooser, "<chose", ">median ms|ms", ">regret", ">in library|in lib", ">rank", "=agreement"},
      {6, 4, 2});
  for (const Judgement& judgement : judgements) {
    if (judgement.choice == nullptr) {
      table.add({label(*judgement.contest), judgement.missing, "-", "-", "-", "-", "-"}, ' ', colour::quiet);
      continue;
    }
    const ResultRecord& record = *judgement.choice->record;
    table.add(
        {label(*judgement.contest), record.implementation.empty() ? "(does not say)" : record.implementation,
         milliseconds_text(median_seconds(record)), percent_text(judgement.regret),
         percent_text(judgement.regret_in_library), fmt::format("{}", judgement.rank),
         stability_text(*judgement.choice)},
        judgement.rank == 1 ? '*'
        : judgement.is_tie  ? '~'
                            : ' ');
  }
  out << left_out_text(table.print(out, look), look);
}

std::vector<std::string> labels_of_missing(const Score& score) {
  std::vector<std::string> labels;
  for (const Judgement& judgement : score.missing)
    labels.push_back(fmt::format("{} ({})", label(*judgement.contest), judgement.missing));
  return labels;
}

void print_scores(std::ostream& out, const Selection& selection, const Network& network, const Look& look) {
  TextTable table = score_table("in library|in lib");
  std::vector<std::string> missing;
  for (const std::string& chooser : selection.choosers) {
    for (Pass pass : kPasses) {
      const auto of_pass = judgements(network, chooser, pass);
      if (!of_pass.empty()) add_score(table, fmt::format("{} {}", chooser, name(pass)), score(of_pass));
    }
    const Score all = score(judgements(network, chooser));
    add_score(table, chooser + " all passes", all);
    if (!all.missing.empty())
      missing.push_back(fmt::format("{}: {}", chooser, comma_list(labels_of_missing(all))));
  }
  out << left_out_text(table.print(out, look), look);
  for (const std::string& line : missing)
    fmt::print(out, "{}\n", wrapped("in no sum of " + line, look.columns, "  "));
}

void print_network(std::ostream& out, const Selection& selection, const Network& network, const Look& look) {
  const Contest& front = network.front();
  print_heading(out, heading(front), circumstances(front.key(), front.first().device), look);
  print_oracles(out, network, look);
  for (const std::string& chooser : selection.choosers)
    print_choice(out, judgements(network, chooser), chooser, look);
  if (!selection.choosers.empty()) print_scores(out, selection, network, look);
  out << '\n';
}

std::string cap_text(Cap cap) {
  return cap ? bytes_text(*cap) : "any workspace";
}

// Only the caps at which the winner changes, and the knee.
void add_curve(TextTable& table, const WorkspaceCurve& curve) {
  const ResultRecord* before = nullptr;
  bool is_first = true;
  for (size_t i = 0; i < curve.points.size(); ++i) {
    const CurvePoint& point = curve.points[i];
    const bool is_knee = curve.knee == i;
    const std::string layer = is_first ? label(*curve.contest) : "";
    if (!is_first && point.winner.record == before && !is_knee) continue;
    before = point.winner.record;
    is_first = false;
    if (before == nullptr) {
      table.add({layer, cap_text(point.cap), "no right record fits", "-", "-", "-"}, ' ', colour::quiet);
      continue;
    }
    table.add({layer, cap_text(point.cap), marked_name(*before), milliseconds_text(median_seconds(*before)),
               bytes_text(before->workspace_bytes), std::string(name(point.winner.evidence))},
              is_knee ? '*' : ' ');
  }
}

// Sums over the layers and passes of one network; a cap under which a layer has no record has no sum.
void print_curve_sums(std::ostream& out, const std::vector<const WorkspaceCurve*>& curves, const Look& look) {
  TextTable table(
      {"<sum over layers and passes, workspace up to|sum, workspace up to", ">ms", ">against the last"});
  std::vector<std::optional<double>> sums;
  for (size_t i = 0; i < curves.front()->points.size(); ++i) {
    std::optional<double> sum = 0;
    for (const WorkspaceCurve* curve : curves) {
      const ResultRecord* record = curve->points[i].winner.record;
      if (record == nullptr) sum.reset();
      if (sum) *sum += median_seconds(*record) * static_cast<double>(curve->contest->key().count);
    }
    sums.push_back(sum);
  }
  for (size_t i = 0; i < sums.size(); ++i)
    table.add({cap_text(curves.front()->points[i].cap), sums[i] ? milliseconds_text(*sums[i]) : "-",
               sums[i] && sums.back() ? fmt::format("{:.2f}x", *sums[i] / *sums.back()) : "-"});
  out << left_out_text(table.print(out, look), look);
}

// What nothing beats in both time and workspace.
std::string front_text(const WorkspaceCurve& curve) {
  std::vector<std::string> records;
  for (const ResultRecord* record : curve.front)
    records.push_back(fmt::format("{} {} ms {}", record->key.algorithm,
                                  milliseconds_text(median_seconds(*record)),
                                  bytes_text(record->workspace_bytes)));
  return records.empty() ? "none" : comma_list(records);
}

// Networks whose circumstances differ in the cap only are one here.
void print_curves(std::ostream& out, const Selection& selection, const Look& look) {
  const auto scope = [](const WorkspaceCurve& curve) {
    return heading(*curve.contest) + "\n  " +
           circumstances(curve.contest->key(), curve.contest->first().device, false);
  };
  std::vector<std::pair<std::string, std::vector<const WorkspaceCurve*>>> scopes;
  for (const WorkspaceCurve& curve : selection.curves) {
    const std::string text = scope(curve);
    auto place = std::find_if(scopes.begin(), scopes.end(), [&](const auto& s) { return s.first == text; });
    if (place == scopes.end()) place = scopes.insert(scopes.end(), {text, {}});
    place->second.push_back(&curve);
  }
  for (const auto& [text, curves] : scopes) {
    fmt::print(out, "workspace curve of {}\n", text);
    TextTable table({"<layer and pass", ">workspace up to|up to", "<winner", ">median ms|ms",
                     ">its workspace|needs", "<measured"},
                    {5, 4});
    for (const WorkspaceCurve* curve : curves) add_curve(table, *curve);
    out << left_out_text(table.print(out, look), look);
    for (const WorkspaceCurve* curve : curves)
      fmt::print(out, "{}\n",
                 wrapped(fmt::format("Pareto front of {}: {}", label(*curve->contest), front_text(*curve)),
                         look.columns, "  "));
    print_curve_sums(out, curves, look);
    const std::string legend = fmt::format(
        "* knee: the first cap within {:.0f}% of the best under any; caps with the winner of "
        "the one before are left out",
        100 * kKneeSlack);
    fmt::print(out, "{}\n\n", wrapped(legend, look.columns, "  "));
  }
}

}  // namespace

Selection select(std::span<const ResultRecord> records, std::span<const std::string> choosers) {
  Selection selection;
  selection.contests = contests(records);
  selection.networks = networks(selection.contests);
  selection.choosers = choosers_in(selection.contests, choosers);
  selection.curves = workspace_curves(selection.contests, kCurveCaps);
  return selection;
}

std::vector<Judgement> judgements(const Network& network, std::string_view algorithm,
                                  std::optional<Pass> pass) {
  std::vector<Judgement> result;
  for (const Contest* contest : network.contests)
    if (!pass || contest->key().problem.pass == *pass) result.push_back(judge(*contest, algorithm));
  return result;
}

std::string heading(const Contest& contest) {
  const CaseKey& key = contest.key();
  return fmt::format("{}, batch {}", key.network.empty() ? "all layers" : key.network, key.problem.batch);
}

TextTable score_table(const std::string& among) {
  return TextTable({"<sum over layers by count", ">layers", ">its ms", ">oracle ms|oracle", ">regret",
                    ">" + among, ">top-1", ">top-3"},
                   {7, 6, 1, 5});
}

void add_score(TextTable& table, const std::string& who, const Score& score) {
  if (score.judged == 0) {
    table.add({who, "0", "-", "-", "-", "-", "-", "-"}, ' ', colour::quiet);
    return;
  }
  table.add({who + (score.suspect ? " (suspect)" : ""), fmt::format("{}", score.judged),
             milliseconds_text(score.choice_seconds), milliseconds_text(score.oracle_seconds),
             percent_text(score.regret()), percent_text(score.regret_in_library()),
             percent_text(score.top1_rate()), percent_text(score.top3_rate())});
}

void print_selection(std::ostream& out, const Selection& selection, const Look& look) {
  if (selection.contests.empty()) {
    out << "no records\n";
    return;
  }
  for (const Network& network : selection.networks) print_network(out, selection, network, look);
  if (selection.choosers.empty()) out << "no record is a library's own choice, so there is no regret\n\n";
  print_curves(out, selection, look);
}

}  // namespace convscope
