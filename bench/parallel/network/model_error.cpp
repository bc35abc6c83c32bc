#include "bench/parallel/network/model_error.hpp"

#include <fmt/format.h>

namespace convscope {

std::string model_error_text(const ModelError& error, const Look& look) {
  return wrapped(fmt::format("model's error on {}: median {:.0f}%, largest {:.0f}% ({})", error.what,
                             error.median, error.largest, kModelErrorPage),
                 look.columns, "  ") +
         "\n";
}

}  // namespace convscope
