// Our own chooser: the fastest algorithm predicted from the problem and the measured ceilings alone, before
// anything is run. seconds = executed operations / multiply-add rate + bytes of the tensors and intermediate
// buffers / copy bandwidth + bytes moved in caches / cache bandwidth (of what: OperationCount::cached_bytes).
// docs/selection.md has the measurements behind it and says what the model leaves out.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "bench/select/judgement.hpp"

namespace convscope {

// An algorithm that supports the problem within the workspace cap, and what it says that it does there.
struct PlannedAlgorithm {
  std::string id;
  OperationCount operations;
};

// Whether an algorithm's counts are of what it really does. Those of one whose arithmetic is a library's are
// the direct method's: what buffers the library writes and reads inside, nobody says.
bool counts_are_known(const AlgorithmInfo& algorithm);

struct Prediction {
  std::string algorithm;
  double compute_seconds = 0;
  double memory_seconds = 0;
  double seconds() const { return compute_seconds + memory_seconds; }
};

// The fastest first; equal ones by name. Algorithms that do not say what they do (a library's) are left out,
// and all of them where a ceiling is unknown.
std::vector<Prediction> predict(const ConvProblem& problem, std::span<const PlannedAlgorithm> algorithms,
                                const Ceilings& ceilings);

// predict() for the records of a contest: those that the algorithm or its plan refused are out, as the
// chooser would know, and those whose counts are not known; of the others no outcome and no time is looked
// at.
std::vector<Prediction> predict(const Contest& contest);

// The chooser's judgements over a network's contests. `missing` of one whose choice is wrong or failed says
// so.
std::vector<Judgement> judge_predictions(const Network& network);

}  // namespace convscope
