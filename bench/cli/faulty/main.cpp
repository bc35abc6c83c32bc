// convscope with the sample algorithm of docs/adding_an_algorithm.md and algorithms that crash, hang and lie.
#include "algorithms/plain/plain.hpp"
#include "bench/cli/convscope_main.hpp"
#include "bench/cli/faulty/faulty_algorithms.hpp"

int main(int argc, char** argv) {
  convscope::Registry registry;
  convscope::add_plain(registry);
  convscope::add_faulty(registry);
  return convscope::convscope_main(argc, argv, registry);
}
