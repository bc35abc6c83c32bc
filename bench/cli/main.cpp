// convscope with every algorithm of algorithms/ and the reference.
#include "algorithms/catalog.hpp"
#include "bench/cli/verbs.hpp"
#include "bench/verify/reference_algorithm.hpp"

int main(int argc, char** argv) {
  convscope::Registry registry;
  convscope::add_reference(registry);
  convscope::add_device_reference(registry);
  convscope::register_all(registry);
  return convscope::convscope_main(argc, argv, registry);
}
