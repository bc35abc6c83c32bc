// What a device reports when a launch, a copy or a library call fails. Not a refusal (Support) and not lack
// of memory (std::bad_alloc): the candidate that caused it has failed.
#pragma once

#include <stdexcept>

namespace convscope {

// The message names the call, its file and line, and the device's own words.
class DeviceError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// After this one every further use of the device fails too (an illegal address in a kernel, as one example):
// the process must end, and another one go on.
class DeviceLost : public DeviceError {
 public:
  using DeviceError::DeviceError;
};

}  // namespace convscope
