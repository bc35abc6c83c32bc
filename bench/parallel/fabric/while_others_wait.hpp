// What rank 0 does for all ranks while the others wait, such as choosing algorithms: with signs that it goes
// on, so that a watch (job_watch.hpp) ends the job where a part of it takes too long, however long the whole
// is.
#pragma once

#include "bench/parallel/fabric/fabric.hpp"

namespace convscope {

// Every rank calls it. On rank 0 `work` runs, and calls the function that it is given before each of its
// parts: over a WatchedFabric each such call is a sign on every rank. Returns when the work is done. Where it
// throws, the others wait until the job ends.
template <typename Work>
void while_others_wait(Fabric& fabric, const Work& work) {
  if (fabric.rank() != 0) {
    while (!as_rank_0(fabric, false)) {
    }
    return;
  }
  work([&] { as_rank_0(fabric, false); });
  as_rank_0(fabric, true);
}

}  // namespace convscope
