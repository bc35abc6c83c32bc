// convscope with every algorithm of algorithms/ and the reference.
#include "algorithms/catalog.hpp"
#include "bench/cli/hang_watch.hpp"
#include "bench/cli/verbs.hpp"
#include "bench/verify/reference_algorithm.hpp"

int main(int argc, char** argv) {
  convscope::Registry registry;
  {
    // Libraries are asked for their versions, for which a driver starts threads. They hold back for good what
    // is held back here, so that a verb's StopSignal gets what comes later.
    convscope::StopSignal stop;
    const convscope::EndAtStop registering(stop);
    convscope::add_reference(registry);
    convscope::add_device_reference(registry);
    convscope::register_all(registry);
    if (stop.requested()) return convscope::kInterrupted;
  }
  return convscope::convscope_main(argc, argv, registry);
}
