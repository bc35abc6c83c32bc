#include "bench/cli/terminal.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

namespace convscope {

Terminal describe_terminal() {
  const char* no_colour = std::getenv("NO_COLOR");
  const char* kind = std::getenv("TERM");
  const bool is_dumb = kind != nullptr && std::string_view(kind) == "dumb";
  const bool wants_colour = no_colour == nullptr || *no_colour == '\0';
  Terminal terminal;
  terminal.colour = isatty(STDOUT_FILENO) == 1 && wants_colour && !is_dumb;
  terminal.progress = isatty(STDERR_FILENO) == 1 && !is_dumb;
  winsize size{};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) terminal.columns = size.ws_col;
  return terminal;
}

}  // namespace convscope
