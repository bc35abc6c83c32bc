#include "bench/verify/reference.hpp"

#include "bench/verify/reference_loops.hpp"

namespace convscope {

double reference_element(const ConvProblem& problem, const float* input, const float* filter,
                         const float* output, const std::array<int64_t, 4>& index) {
  return ReferenceLoops(problem, input, filter, output).at(index).value;
}

}  // namespace convscope
