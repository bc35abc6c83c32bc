#include "bench/select/selection.hpp"

#include <fmt/format.h>

#include "bench/ranking/standing.hpp"
#include "bench/report/format.hpp"

namespace convscope {

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

std::string circumstances_but_cap(const Contest& contest) {
  const CaseKey& key = contest.key();
  const DeviceInfo& device = contest.first().device;
  return fmt::format("{} {}, {} thread{}, {} cache, {}", name(key.problem.math), name(key.problem.layout),
                     key.threads, key.threads == 1 ? "" : "s", name(key.cache), device_text(key, device));
}

std::string cap_text(Cap cap) {
  return cap ? bytes_text(static_cast<double>(*cap)) : "any workspace";
}

std::string percent_text(double share) {
  return fmt::format("{:.1f}%", 100 * share);
}

}  // namespace convscope
