// Ranks that are threads of this process. For tests, where the thread sanitizer sees every message, and for
// measuring a reduction on a machine without MPI; a message is copied once, from the sender's memory to the
// receiver's.
#pragma once

#include <functional>

#include "bench/parallel/fabric/fabric.hpp"

namespace convscope {

// Each rank is a thread, and each pair of them has a queue.
inline constexpr int kMaxThreadRanks = 256;

// Calls body() once on each of n threads, with its rank's end of a common fabric, and returns when all are
// done. Where a body throws, or a thread cannot be started, the exchanges of all others throw too, and what
// is rethrown is a std::runtime_error that names the first rank that failed, and why.
void run_ranks(int n, const std::function<void(Fabric&)>& body);

}  // namespace convscope
