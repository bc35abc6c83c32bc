// The constants of local response normalisation in Krizhevsky et al. 2012, section 3.3, which every
// implementation here takes: y = x (bias + alpha sum of x^2)^-beta, the sum over the channel and `reach` on
// each side. Libraries that divide alpha by the number of channels are given it times that.
#pragma once

namespace convscope::local_response {

inline constexpr int kReach = 2, kChannels = 2 * kReach + 1;
inline constexpr double kBias = 2, kAlpha = 1e-4, kBeta = 0.75;

}  // namespace convscope::local_response
