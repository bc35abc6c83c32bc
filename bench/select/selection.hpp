// The selection of a whole result file as a person reads it and as JSON: oracles, what the library chose and
// its regret, the workspace curve. What the figures are is in judgement.hpp and workspace_curve.hpp.
#pragma once

#include <iosfwd>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bench/report/format.hpp"
#include "bench/select/judgement.hpp"
#include "bench/select/workspace_curve.hpp"

namespace convscope {

// Everything computed; points into the records that it was made from.
struct Selection {
  std::vector<Contest> contests;
  std::vector<Network> networks;
  std::vector<std::string> choosers;  // the ids found
  std::vector<WorkspaceCurve> curves;
};
// `choosers` are ids or stems; see judgement.hpp.
Selection select(std::span<const ResultRecord> records, std::span<const std::string> choosers);

// What the contests of a network have in common, by the columns' names; without the cap where they differ in
// it.
nlohmann::ordered_json circumstances_json(const Contest& contest, bool with_cap);
// Which layer and pass a contest is of, with its problem line and how often the network has it.
nlohmann::ordered_json layer_json(const Contest& contest);

void print_selection(std::ostream& out, const Selection& selection, const Look& look);
nlohmann::ordered_json to_json(const Selection& selection);
// What our own chooser (cost_model.hpp) picked, its regret beside that of the libraries' choices.
void print_predictions(std::ostream& out, const Selection& selection, const Look& look);
nlohmann::ordered_json predictions_json(const Selection& selection);

// The judgements of one chooser over a network's contests, those with a given pass only where there is one.
std::vector<Judgement> judgements(const Network& network, std::string_view algorithm,
                                  std::optional<Pass> pass = std::nullopt);

// "alexnet, batch 16"
std::string heading(const Contest& contest);
// A table of sums: who chose, layers, its and the oracle's ms, both regrets, top-1 and top-3. `among` is what
// the second regret is called. A sum with a suspect record in it says so.
TextTable score_table(const std::string& among);
void add_score(TextTable& table, const std::string& who, const Score& score);

}  // namespace convscope
