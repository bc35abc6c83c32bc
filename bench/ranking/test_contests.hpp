// Hand-made records of contests, for the tests of bench/ranking and bench/select.
#pragma once

#include <string>
#include <vector>

#include "bench/record/test_records.hpp"

namespace convscope {

using Records = std::vector<ResultRecord>;
inline constexpr int64_t kMiB = int64_t{1} << 20;

// A right record of a layer's pass; `seconds` is the median, its interval 10% to either side.
inline ResultRecord right(const std::string& algorithm, double seconds, const std::string& layer = "conv2",
                          Pass pass = Pass::forward) {
  ResultRecord r = measured(algorithm, seconds);
  r.algorithm.provider = "convscope";
  r.key.layer = layer;
  r.key.problem.pass = pass;
  return r;
}

inline ResultRecord wrong_record(const std::string& algorithm, double seconds) {
  ResultRecord r = right(algorithm, seconds);
  r.outcome = Outcome::wrong;
  r.reason = Reason::accuracy;
  return r;
}

inline ResultRecord library_record(const std::string& algorithm, double seconds,
                                   const std::string& implementation) {
  ResultRecord r = right(algorithm, seconds);
  r.algorithm.provider = algorithm.substr(0, algorithm.find('.'));
  r.algorithm.family = "library";
  r.algorithm.version = "2.6.3";
  r.implementation = implementation;
  return r;
}

inline ResultRecord with_cap(ResultRecord r, std::optional<int64_t> cap, int64_t workspace) {
  r.key.workspace_cap = cap;
  r.workspace_bytes = workspace;
  return r;
}

}  // namespace convscope
