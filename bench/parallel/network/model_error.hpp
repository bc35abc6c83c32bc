// How far the models of communication are from what could be measured: MPI ranks whose links were shaped to a
// stated rate. Printed below every modelled table and in every modelled row; a test holds the figures against
// the kept measurements.
#pragma once

#include <string>

#include "bench/report/format.hpp"

namespace convscope {

inline constexpr const char* kModelErrorPage = "docs/experiments/networks.md";

// |measured / modelled - 1| over the rows of that page, in whole percents.
struct ModelError {
  const char* what;
  double median, largest;
};
inline constexpr ModelError kSumError{"sums", 17, 119};
inline constexpr ModelError kStepError{"steps", 4, 18};

// "  model's error on sums: median 5%, largest 12% (docs/...)\n"
std::string model_error_text(const ModelError& error, const Look& look);

}  // namespace convscope
