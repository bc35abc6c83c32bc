// What every plan of this folder is: a Plan that can say what it does. See correlation_plan.hpp (forward and
// backward-data) and filter_plan.hpp (backward-filter) for the two frames.
#pragma once

#include "bench/algorithm/algorithm.hpp"

namespace convscope::direct {

class DirectPlan : public Plan {
 public:
  // What prepare() and run() execute, lanes and columns that are computed and dropped included.
  virtual OperationCount operations() const = 0;
};

}  // namespace convscope::direct
