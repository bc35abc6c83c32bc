// cuDNN's status codes by name, and what the stand-in says of the last one.
#pragma once

#include <cudnn.h>

#include <string>
#include <string_view>

#include "bench/standin/libraries/script.hpp"

namespace convscope::standin {

// 0 where there is no such name.
int cudnn_status(std::string_view name);

// The status, whose words cudnnGetLastErrorString() tells this thread next.
cudnnStatus_t failed(cudnnStatus_t status, std::string words);
cudnnStatus_t failed(const Fault& fault);
inline cudnnStatus_t bad(const std::string& words) {
  return failed(CUDNN_STATUS_BAD_PARAM, words);
}
// The first status that the text names, CUDNN_STATUS_SUCCESS where it names none.
cudnnStatus_t status_in(std::string_view text);

// Begins a function: fails as the script says.
Fault enter_cudnn(const char* function);

}  // namespace convscope::standin
