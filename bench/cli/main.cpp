// convscope with every algorithm of algorithms/.
#include "algorithms/catalog.hpp"
#include "bench/cli/convscope_main.hpp"

int main(int argc, char** argv) {
  convscope::Registry registry;
  convscope::register_all(registry);
  return convscope::convscope_main(argc, argv, registry);
}
