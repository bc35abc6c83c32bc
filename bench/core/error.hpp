// The one exception type for input that a user can mend: a bad flag, config, problem line or file.
// Everything else that goes wrong is a std::runtime_error (a failed candidate) or a bug.
#pragma once

#include <stdexcept>
#include <string>

namespace convscope {

// The message names where the fault is, what was found and what is allowed. The program exits with code 2.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace convscope
