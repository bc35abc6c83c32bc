// Which device the calling thread uses.
#pragma once

namespace convscope::standin {

int current_device();

}  // namespace convscope::standin
