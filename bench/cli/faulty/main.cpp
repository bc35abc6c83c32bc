// convscope with the sample algorithm of docs/adding_an_algorithm.md and algorithms that crash, hang and lie.
#include "algorithms/catalog.hpp"
#include "bench/cli/convscope_main.hpp"
#include "bench/cli/faulty/faulty_algorithms.hpp"
#include "bench/verify/reference_algorithm.hpp"

int main(int argc, char** argv) {
  convscope::Registry registry;
  convscope::add_reference(registry);
  convscope::add_device_reference(registry);
  convscope::register_all(registry);
  convscope::add_faulty(registry);
  return convscope::convscope_main(argc, argv, registry);
}
