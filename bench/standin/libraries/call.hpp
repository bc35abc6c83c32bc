// What happens at the entry of every function of a stand-in library: the script's faults.
#pragma once

#include <string>
#include <string_view>

namespace convscope::standin {

// The fault that the script has for this call of `function`, counted from 1 in this process: the status that
// the function must return, with the library's words on it, or 0. A call that the script lets hang does not
// return; one that loses the device puts the runtime into its sticky error first.
struct Fault {
  int status = 0;
  std::string words;
  explicit operator bool() const { return status != 0; }
};

// `number_of` translates a status that the script names ("CUDNN_STATUS_BAD_PARAM"); 0 where there is none.
Fault enter(const char* function, int (*number_of)(std::string_view) = nullptr);

}  // namespace convscope::standin
