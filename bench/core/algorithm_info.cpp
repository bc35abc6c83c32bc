#include "bench/core/algorithm_info.hpp"

namespace convscope {

std::string_view name(Reason reason) {
  constexpr std::string_view names[] = {"none",
                                        "unsupported_pass",
                                        "unsupported_math",
                                        "unsupported_layout",
                                        "unsupported_filter",
                                        "unsupported_stride",
                                        "unsupported_dilation",
                                        "unsupported_groups",
                                        "unsupported_size",
                                        "library_missing",
                                        "library_refused",
                                        "device_missing",
                                        "workspace_over_cap",
                                        "out_of_memory",
                                        "accuracy",
                                        "timeout",
                                        "crashed",
                                        "throttled",
                                        "failed",
                                        "left_out_after_failures"};
  return names[static_cast<size_t>(reason)];
}

}  // namespace convscope
