// Every operation between convolutions as problems, for the tests of those who compute them.
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "bench/core/operation_problem.hpp"

namespace convscope::testing {

// Of each sort and in each direction one problem of this shape, of max and mean pooling one for each of these
// windows that fits it, "3x3/2 pad 1" for one; of a mean with padding also the one that does not count it.
inline std::vector<OperationProblem> every_operation(const Activations& shape,
                                                     std::initializer_list<const char*> windows) {
  std::vector<OperationProblem> all;
  const auto add = [&](const OperationProblem& problem) {
    if (problem.out().h > 0 && problem.out().w > 0) all.push_back(problem);
  };
  for (OperationSort sort : kOperationSorts)
    for (bool backward : {false, true}) {
      OperationProblem problem{sort, backward, shape, {}};
      if (backward && !problem.has_directions()) continue;
      if (!problem.is_pool()) {
        add(problem);
        continue;
      }
      for (const char* window : windows)
        for (const char* behind : {"", " uncounted"}) {
          const auto pool = operation_from_text(std::string(name(sort)) + " " + window + behind);
          if (!pool) continue;
          problem.pool = *pool;
          add(problem);
        }
    }
  return all;
}

}  // namespace convscope::testing
