#include "bench/verify/fast_reference.hpp"

#include "bench/verify/tensor_index.hpp"

namespace convscope {

template class FastReference<float, float, float>;
template class FastReference<float, float, double>;
template class FastReference<float, double, float>;
template class FastReference<double, float, float>;

double reference_element(const ConvProblem& problem, const float* input, const float* filter,
                         const float* output, const std::array<int64_t, 4>& index) {
  return FastReference(problem, input, filter, output).at(index).value;
}

std::vector<double> reference_elements(const ConvProblem& problem, const float* input, const float* filter,
                                       const float* output) {
  const TensorShape shape = problem.shape(written_role(problem.pass));
  const FastReference fast(problem, input, filter, output);
  std::vector<double> values(static_cast<size_t>(problem.elements(written_role(problem.pass))));
  const auto count = static_cast<int64_t>(values.size());
#pragma omp parallel for schedule(dynamic, 16) if (problem.nominal_flops() > 1e6)
  for (int64_t offset = 0; offset < count; ++offset)
    values[static_cast<size_t>(offset)] = fast.at(index_of_offset(shape, offset)).value;
  return values;
}

}  // namespace convscope
