// library.hpp when the build found no oneDNN: every variant is listed and refuses.
#include "algorithms/onednn/library.hpp"

#include <stdexcept>

namespace convscope::onednn {
namespace {

constexpr const char* kMissing =
    "oneDNN built with OpenMP was not found when this program was built (Debian: apt install libdnnl-dev, "
    "then "
    "configure again)";

}  // namespace

std::string version() {
  return "";
}

Support supports(Method, const ConvProblem&) {
  return Support::no(Reason::library_missing, kMissing);
}

std::unique_ptr<Plan> make_plan(Method, const ConvProblem&) {
  throw std::runtime_error(kMissing);
}

}  // namespace convscope::onednn
