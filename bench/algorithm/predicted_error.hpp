// What the rounding of a sum in FP32 costs, told from its length alone: so that a plan can be judged at sizes
// at which nobody has time to run it.
#pragma once

#include <cmath>

namespace convscope {

// The root mean square of what one FP32 addition rounds off, relative to its result: a unit in the last place
// is 2^-23 to 2^-24 of the number, and errors are spread evenly over half of one in each direction.
inline constexpr double kRoundingOfOneSum = 2.5e-8;

// The relative L2 error of results whose longest sum has this many additions (Plan::longest_sum()) and whose
// sums' errors grow so much (Algorithm::sum_growth()), for independent terms around zero. Such a partial sum
// is the root of its share of the terms, so that over all additions the squares of their errors add up to
// half of what they would with the last one's size. Not in it: the rounding of transforms and of operands.
inline double predicted_error(double longest_sum, double sum_growth) {
  return kRoundingOfOneSum * sum_growth * std::sqrt(longest_sum / 2);
}
// The longest sum of which no more is predicted than this error.
inline double longest_sum_within(double error, double sum_growth) {
  const double root = error / (kRoundingOfOneSum * sum_growth);
  return 2 * root * root;
}

// What may be predicted, as part of the gate of verification: the rest is for what is not predicted.
inline constexpr double kPredictedPartOfGate = 0.7;

}  // namespace convscope
