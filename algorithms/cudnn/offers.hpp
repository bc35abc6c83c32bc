// Which of cuDNN's offers runs. Pure functions over what it said, tested on recorded answers;
// nothing here calls cuDNN.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bench/core/algorithm_info.hpp"
#include "bench/core/problem.hpp"

namespace convscope::cudnn {

// Why an engine or algorithm with these notes may not run in this math mode, or an empty string. fp32 is
// strict: no tensor core, nothing narrower than f32 in operands or sums. tf32 allows tensor cores. All modes
// promise sums in f32.
std::string contradiction(MathMode math, std::span<const std::string> notes);

// Tries the offer: sets its workspace_bytes, or its refusal. Called for offers that have no refusal yet.
using TryOffer = std::function<void(size_t index)>;

// The first offer, in the library's order, that may be run in this math mode, can be, and keeps under the
// cap. Offers behind it are left as they were; those before it that may not be run get their refusal.
std::optional<size_t> first_that_fits(std::vector<Offer>& offers, MathMode math, int64_t workspace_cap,
                                      const TryOffer& try_offer);

// The fastest of those that have a time and keep under the cap.
std::optional<size_t> fastest_that_fits(std::span<const Offer> offers, int64_t workspace_cap);

// What is to be said where nothing fits: the code, and the sentence with the library's own first words.
struct Nothing {
  Reason reason;
  std::string why;
};
Nothing why_nothing_fits(std::span<const Offer> offers, int64_t workspace_cap);

// What an offer of the legacy API is called: its algorithm and, but for fp32, which has one, its math type.
std::string name_in(MathMode math, const Offer& offer);

// The name that comes most often, of several the one that came first. `names` is not empty.
std::string most_frequent(std::span<const std::string> names);

// Values of each knob, the last one counting fastest: all combinations, but `limit` at most.
std::vector<std::vector<int64_t>> combinations(std::span<const std::vector<int64_t>> values, size_t limit);

}  // namespace convscope::cudnn
