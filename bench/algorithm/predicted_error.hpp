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

// A tensor core adds products to a sum toward zero (docs/emulator.md): in the mean it loses a quarter of a
// unit in the last place of an mma.sync's sum, and three eighths of one of a wgmma's. Losses have the sum's
// sign, so that those of a chain add up: relative to the last sum of a random walk, whose mean size is
// 1/sqrt(3) of it, with 2^-23 to 2^-24 for the unit, for each addition:
inline constexpr double kTruncationOfMma = 1.25e-8, kTruncationOfWgmma = 1.9e-8;

// What may be predicted, as part of the gate of verification: the rest is for what is not predicted.
inline constexpr double kPredictedPartOfGate = 0.7;

}  // namespace convscope
