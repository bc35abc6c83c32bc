// What the terminal can show. The only place that reads the environment: NO_COLOR and TERM say what the
// reader wants to see and change no result.
#pragma once

#include <cstddef>

namespace convscope {

struct Terminal {
  bool colour = false;    // on standard output
  bool progress = false;  // a line that is written over, on standard error
  size_t columns = 80;
};

Terminal describe_terminal();

}  // namespace convscope
