// What every refusal of the oneDNN variants says in builds without the library: what is missing and how to
// get it.
#pragma once

namespace convscope::onednn {

inline constexpr const char* kMissing =
    "oneDNN built with OpenMP was not found when this program was built (Debian: apt install libdnnl-dev, "
    "then configure again)";

}  // namespace convscope::onednn
