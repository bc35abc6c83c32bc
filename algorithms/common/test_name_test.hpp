// What a test that runs once for every algorithm is called with each.
#pragma once

#include <gtest/gtest.h>

#include <cctype>
#include <string>

namespace convscope {

// The algorithm's id, with _ for what a test's name may not have.
inline std::string id_as_test_name(const ::testing::TestParamInfo<std::string>& tested) {
  std::string name = tested.param;
  for (char& c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  return name;
}

}  // namespace convscope
