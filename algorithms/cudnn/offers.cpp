#include "algorithms/cudnn/offers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace convscope::cudnn {

std::string contradiction(MathMode math, std::span<const std::string> notes) {
  const auto has = [&](const char* note) {
    return std::find(notes.begin(), notes.end(), note) != notes.end();
  };
  const auto sentence = [&](const char* note, const char* what) {
    return fmt::format("cuDNN notes {}: {} {}", note, name(math), what);
  };
  if (has("REDUCED_PRECISION_REDUCTION")) return sentence("REDUCED_PRECISION_REDUCTION", "has sums in FP32");
  const bool wide = storage_type(math) == DataType::f32;
  if (wide)
    for (const char* note : {"DOWN_CONVERT_INPUTS", "TENSOR_OP_MATH_ALLOW_CONVERSION"})
      if (has(note)) return sentence(note, "keeps its operands");
  if (math == MathMode::fp32)
    for (const char* note : {"TENSOR_CORE", "TENSOR_OP_MATH"})
      if (has(note)) return sentence(note, "is strict FP32");
  return "";
}

std::optional<size_t> first_that_fits(std::vector<Offer>& offers, MathMode math, int64_t workspace_cap,
                                      const TryOffer& try_offer) {
  for (size_t i = 0; i < offers.size(); ++i) {
    if (offers[i].refusal.empty()) offers[i].refusal = contradiction(math, offers[i].notes);
    if (offers[i].refusal.empty()) try_offer(i);
    if (offers[i].refusal.empty() && offers[i].workspace_bytes <= workspace_cap) return i;
  }
  return std::nullopt;
}

std::optional<size_t> fastest_that_fits(std::span<const Offer> offers, int64_t workspace_cap) {
  std::optional<size_t> fastest;
  for (size_t i = 0; i < offers.size(); ++i) {
    const Offer& offer = offers[i];
    if (!offer.refusal.empty() || !offer.seconds || offer.workspace_bytes > workspace_cap) continue;
    if (!fastest || *offer.seconds < *offers[*fastest].seconds) fastest = i;
  }
  return fastest;
}

Nothing why_nothing_fits(std::span<const Offer> offers, int64_t workspace_cap) {
  if (offers.empty()) return {Reason::library_refused, "cuDNN names nothing that runs this problem"};
  int64_t least = std::numeric_limits<int64_t>::max();
  for (const Offer& offer : offers)
    if (offer.refusal.empty()) least = std::min(least, offer.workspace_bytes);
  if (least != std::numeric_limits<int64_t>::max())
    return {Reason::workspace_over_cap,
            fmt::format("workspace of {} bytes, the least of cuDNN's {} offers: the cap is {}", least,
                        offers.size(), workspace_cap)};
  if (offers.size() == 1) return {Reason::library_refused, offers.front().refusal};
  return {Reason::library_refused, fmt::format("none of cuDNN's {} offers can be run; the first: {}",
                                               offers.size(), offers.front().refusal)};
}

std::string name_in(MathMode math, const Offer& offer) {
  if (math == MathMode::fp32) return offer.name;
  std::string name = offer.name;
  for (const std::string& note : offer.notes)
    if (note.ends_with("_MATH") || note == "TENSOR_OP_MATH_ALLOW_CONVERSION") name += " " + note;
  return name;
}

std::string most_frequent(std::span<const std::string> names) {
  const auto times = [&](const std::string& name) { return std::count(names.begin(), names.end(), name); };
  return *std::max_element(names.begin(), names.end(),
                           [&](const std::string& a, const std::string& b) { return times(a) < times(b); });
}

std::vector<std::vector<int64_t>> combinations(std::span<const std::vector<int64_t>> values, size_t limit) {
  std::vector<std::vector<int64_t>> all;
  std::vector<size_t> place(values.size(), 0);
  const bool none = std::any_of(values.begin(), values.end(), [](const auto& list) { return list.empty(); });
  while (!none && all.size() < limit) {
    std::vector<int64_t>& one = all.emplace_back();
    for (size_t knob = 0; knob < values.size(); ++knob) one.push_back(values[knob][place[knob]]);
    size_t knob = values.size();
    while (knob > 0 && ++place[knob - 1] == values[knob - 1].size()) place[--knob] = 0;
    if (knob == 0) break;
  }
  return all;
}

}  // namespace convscope::cudnn
