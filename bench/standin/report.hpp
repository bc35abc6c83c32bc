// A report per process, where the configuration names a file: each kernel's launches, warp instructions and
// seconds, and the instructions that were not reached.
#pragma once

#include <string>

#include "bench/ptx/run.hpp"
#include "bench/standin/stream.hpp"

namespace convscope::standin {

void note_run(const std::string& name, const ptx::Launch& launch, const ptx::Statistics& done,
              Nanoseconds host_nanoseconds);

}  // namespace convscope::standin
