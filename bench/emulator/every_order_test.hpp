// The orders of threads that tests of kernels run in, and their names as parameters of a suite.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "bench/emulator/options.hpp"

namespace convscope {

inline constexpr EmulatorOrder kEveryOrder[] = {EmulatorOrder::forward, EmulatorOrder::reverse,
                                                EmulatorOrder::random};

inline std::string order_name(const ::testing::TestParamInfo<EmulatorOrder>& suite) {
  constexpr const char* kNames[] = {"forward", "reverse", "random"};
  return kNames[static_cast<size_t>(suite.param)];
}

}  // namespace convscope
