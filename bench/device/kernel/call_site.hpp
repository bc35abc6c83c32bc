// Where a launch or a barrier stands in the source, taken by a default argument. Like std::source_location,
// but nvcc and device functions can use it too.
#pragma once

#include <cstring>
#include <string>

namespace convscope {

struct CallSite {
  const char* file = "";
  unsigned line = 0;

  static constexpr CallSite current(const char* file = __builtin_FILE(), unsigned line = __builtin_LINE()) {
    return {file, line};
  }
  // By text: one header included twice has two pointers to the same name.
  bool operator==(const CallSite& other) const {
    return line == other.line && (file == other.file || std::strcmp(file, other.file) == 0);
  }
  std::string text() const { return std::string(file) + ":" + std::to_string(line); }
};

// The grid argument of launch(): a number of blocks or a dim3, which remembers who launches.
template <typename Dim3>
struct LaunchGrid {
  Dim3 blocks;
  CallSite site;
  // Implicit: the call site of launch() is the place of the conversion.
  LaunchGrid(Dim3 dim, CallSite at = CallSite::current()) : blocks(dim), site(at) {}
  LaunchGrid(unsigned x, CallSite at = CallSite::current()) : blocks(x), site(at) {}
};

}  // namespace convscope
