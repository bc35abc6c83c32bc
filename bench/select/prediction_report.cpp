// The tables and the JSON of predictions, which selection.hpp declares.

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <ostream>

#include "bench/ranking/ranking.hpp"
#include "bench/select/cost_model.hpp"
#include "bench/select/selection.hpp"

namespace convscope {
namespace {

using Json = nlohmann::ordered_json;

void print_choices(std::ostream& out, const std::vector<Judgement>& judgements, const Look& look) {
  TextTable table({"<layer and pass", "<chosen", ">predicted ms|predicted", ">its ms", "<oracle",
                   ">oracle ms", ">regret", ">rank"},
                  {2, 4, 5, 7, 3});
  std::vector<std::string> missing;
  for (const Judgement& judgement : judgements) {
    const auto predictions = predict(*judgement.contest);
    const bool has_oracle = !judgement.contest->ranked.empty();
    const ResultRecord* oracle = has_oracle ? judgement.contest->ranked.front().record : nullptr;
    const std::string chosen = predictions.empty() ? "-" : predictions.front().algorithm;
    const std::string predicted =
        predictions.empty() ? "-" : milliseconds_text(predictions.front().seconds());
    const std::string oracle_ms = has_oracle ? milliseconds_text(median_seconds(*oracle)) : "-";
    const std::string oracle_id = has_oracle ? marked_name(*oracle) : "-";
    if (judgement.choice == nullptr) {
      table.add({label(*judgement.contest), chosen, predicted, "-", oracle_id, oracle_ms, "-", "-"}, ' ',
                colour::bad);
      missing.push_back(fmt::format("{} ({})", label(*judgement.contest), judgement.missing));
      continue;
    }
    table.add({label(*judgement.contest), chosen, predicted,
               milliseconds_text(median_seconds(*judgement.choice->record)), oracle_id, oracle_ms,
               percent_text(judgement.regret), fmt::format("{}", judgement.rank)},
              judgement.rank == 1 ? '*'
              : judgement.is_tie  ? '~'
                                  : ' ');
  }
  out << left_out_text(table.print(out, look), look);
  if (!missing.empty())
    fmt::print(out, "{}\n", wrapped("no time of the choice: " + comma_list(missing), look.columns, "  "));
}

Json rates_json(const Score& score) {
  Json json{{"judged", score.judged}, {"missing", score.missing.size()}};
  json["regret"] = score.judged == 0 ? Json(nullptr) : Json(score.regret());
  json["regret_among_own"] = score.judged == 0 ? Json(nullptr) : Json(score.regret_in_library());
  json["top1_rate"] = score.judged == 0 ? Json(nullptr) : Json(score.top1_rate());
  json["top3_rate"] = score.judged == 0 ? Json(nullptr) : Json(score.top3_rate());
  return json;
}

Json choice_json(const Judgement& judgement) {
  const auto predictions = predict(*judgement.contest);
  Json json = layer_json(*judgement.contest);
  for (const char* unknown : {"chosen", "predicted_seconds", "median_seconds", "regret", "rank", "missing"})
    json[unknown] = nullptr;
  if (!predictions.empty()) {
    json["chosen"] = predictions.front().algorithm;
    json["predicted_seconds"] = predictions.front().seconds();
  }
  if (judgement.choice == nullptr) {
    json["missing"] = judgement.missing;
    return json;
  }
  json["median_seconds"] = median_seconds(*judgement.choice->record);
  json["regret"] = judgement.regret;
  json["rank"] = judgement.rank;
  return json;
}

constexpr std::string_view kOwn = "convscope's cost model";

}  // namespace

void print_predictions(std::ostream& out, const Selection& selection, const Look& look) {
  if (selection.networks.empty()) out << "no records\n";
  for (const Network& network : selection.networks) {
    const Contest& front = network.front();
    print_heading(out, heading(front), circumstances(front.key(), front.first().device), look);
    const std::vector<Judgement> own = judge_predictions(network);
    print_choices(out, own, look);
    TextTable table = score_table("among own");
    add_score(table, std::string(kOwn), score(own));
    for (const std::string& chooser : selection.choosers)
      add_score(table, chooser, score(judgements(network, chooser)));
    out << left_out_text(table.print(out, look), look);
    out << '\n';
  }
}

nlohmann::ordered_json predictions_json(const Selection& selection) {
  Json json = Json::array();
  for (const Network& network : selection.networks) {
    const Contest& front = network.front();
    Json entry{{"network", front.key().network},
               {"circumstances", circumstances(front.key(), front.first().device)},
               {"batch", front.key().problem.batch},
               {"choices", Json::array()},
               {"scores", Json::object()}};
    const std::vector<Judgement> own = judge_predictions(network);
    for (const Judgement& judgement : own) entry["choices"].push_back(choice_json(judgement));
    entry["scores"]["own"] = rates_json(score(own));
    for (const std::string& chooser : selection.choosers)
      entry["scores"][chooser] = rates_json(score(judgements(network, chooser)));
    json.push_back(std::move(entry));
  }
  return json;
}

}  // namespace convscope
