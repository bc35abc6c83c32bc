// library.hpp when the build found no oneDNN: every variant is listed and refuses.
#include "algorithms/onednn/library.hpp"

#include <stdexcept>

#include "algorithms/onednn/unavailable/missing.hpp"

namespace convscope::onednn {
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
