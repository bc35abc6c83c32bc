// For tests of bad input: the message that a user would read.
#pragma once

#include <string>

#include "bench/core/error.hpp"

namespace convscope::testing {

// What action() throws as a UsageError; empty when it throws nothing.
template <typename Action>
std::string error_of(Action action) {
  try {
    action();
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

}  // namespace convscope::testing
