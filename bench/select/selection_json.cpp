// The selection as JSON. Times are seconds, sizes bytes; what is not known is null.
#include "bench/ranking/ranking.hpp"
#include "bench/select/selection.hpp"

namespace convscope {
namespace {

using Json = nlohmann::ordered_json;

Json record_json(const ResultRecord* record) {
  if (record == nullptr) return nullptr;
  const auto& error = record->accuracy.relative_l2;
  return {{"algorithm", record->key.algorithm},
          {"implementation", record->implementation},
          {"outcome", name(record->outcome)},
          {"median_seconds", median_seconds(*record)},
          {"workspace_bytes", record->workspace_bytes},
          {"relative_l2", error ? Json(*error) : Json(nullptr)},
          {"suspect", is_suspect(*record)}};
}

Json cap_json(Cap cap) {
  return cap ? Json(*cap) : Json(nullptr);
}

Json judgement_json(const Judgement& judgement) {
  Json json = layer_json(*judgement.contest);
  if (judgement.choice == nullptr) {
    json["choice"] = nullptr;
    json["missing"] = judgement.missing;
    return json;
  }
  const Stability s = stability(*judgement.choice);
  json["choice"] = record_json(judgement.choice->record);
  json["missing"] = nullptr;
  json["regret"] = judgement.regret;
  json["regret_in_library"] = judgement.regret_in_library;
  json["rank"] = judgement.rank;
  json["tie"] = judgement.is_tie;
  json["repeats"] = s.repeats;
  json["implementations"] = s.implementations;
  json["agreement"] = s.agreement;
  json["spread"] = s.spread;
  return json;
}

Json score_json(const Score& score) {
  Json json{{"judged", score.judged}, {"missing", score.missing.size()}};
  if (score.judged == 0) return json;
  json["seconds"] = score.choice_seconds;
  json["oracle_seconds"] = score.oracle_seconds;
  json["library_seconds"] = score.library_seconds;
  json["regret"] = score.regret();
  json["regret_in_library"] = score.regret_in_library();
  json["top1_rate"] = score.top1_rate();
  json["top3_rate"] = score.top3_rate();
  json["suspect"] = score.suspect;
  return json;
}

Json chooser_json(const Network& network, const std::string& chooser) {
  Json json{{"algorithm", chooser}, {"judgements", Json::array()}, {"scores", Json::object()}};
  for (const Judgement& judgement : judgements(network, chooser))
    json["judgements"].push_back(judgement_json(judgement));
  for (Pass pass : kPasses) {
    const auto of_pass = judgements(network, chooser, pass);
    if (!of_pass.empty()) json["scores"][std::string(name(pass))] = score_json(score(of_pass));
  }
  json["scores"]["all"] = score_json(score(judgements(network, chooser)));
  return json;
}

Json oracle_json(const Contest& contest) {
  Json json = layer_json(contest);
  json["oracle"] = record_json(contest.ranked.empty() ? nullptr : contest.ranked.front().record);
  json["best_at_any_error"] = record_json(best_at_any_error(contest));
  json["ranked"] = contest.ranked.size();
  json["wrong"] = contest.wrong.size();
  return json;
}

Json curve_json(const WorkspaceCurve& curve) {
  Json json = circumstances_json(*curve.contest, false);
  json.update(layer_json(*curve.contest));
  json["points"] = Json::array();
  for (const CurvePoint& point : curve.points)
    json["points"].push_back(
        {{"workspace_cap_bytes", cap_json(point.cap)},
         {"winner", record_json(point.winner.record)},
         {"measured", point.winner.record == nullptr ? Json(nullptr) : Json(name(point.winner.evidence))}});
  json["pareto_front"] = Json::array();
  for (const ResultRecord* record : curve.front) json["pareto_front"].push_back(record_json(record));
  json["knee_bytes"] = curve.knee ? cap_json(curve.points[*curve.knee].cap) : Json(nullptr);
  json["has_knee"] = curve.knee.has_value();
  return json;
}

}  // namespace

nlohmann::ordered_json circumstances_json(const Contest& contest, bool with_cap) {
  const Circumstances of = circumstances_of(contest.first());
  Json json{{"network", of.network},
            {"batch", of.batch},
            {"math", name(of.math)},
            {"layout", name(of.layout)},
            {"epilogue", name(of.epilogue)},
            {"device", name(of.device.kind)},
            {"device_index", of.device.index},
            {"device_name", of.device_name},
            {"machine_class", of.machine_class.empty() ? Json(nullptr) : Json(of.machine_class)},
            {"threads", of.threads},
            {"cache", name(of.cache)}};
  if (with_cap) json["workspace_cap_bytes"] = cap_json(of.workspace_cap);
  return json;
}

nlohmann::ordered_json layer_json(const Contest& contest) {
  const CaseKey& key = contest.key();
  return {{"layer", key.layer},
          {"pass", name(key.problem.pass)},
          {"count", key.count},
          {"problem", to_line(key.problem)}};
}

nlohmann::ordered_json to_json(const Selection& selection) {
  Json json{{"networks", Json::array()}, {"workspace_curves", Json::array()}};
  for (const Network& network : selection.networks) {
    Json entry = circumstances_json(network.front(), true);
    entry["oracles"] = Json::array();
    for (const Contest* contest : network.contests) entry["oracles"].push_back(oracle_json(*contest));
    entry["choosers"] = Json::array();
    for (const std::string& chooser : selection.choosers)
      entry["choosers"].push_back(chooser_json(network, chooser));
    json["networks"].push_back(std::move(entry));
  }
  for (const WorkspaceCurve& curve : selection.curves) json["workspace_curves"].push_back(curve_json(curve));
  return json;
}

}  // namespace convscope
