// The program convscope_simgrid: reductions on a simulated network. A program of its own, which
// simulated_network.cpp starts, because SimGrid holds one platform a process, ends the process where it meets
// a fault, and need not be there.
//
//   convscope_simgrid file PLATFORM.xml
//   convscope_simgrid links GPUS PER_NODE WITHIN_BYTES_PER_SECOND WITHIN_LATENCY BETWEEN_... BETWEEN_...
//
// It answers a line for a line:
//                            ready VERSION HOSTS, or: refused WHY
//   REDUCTION N PER_NODE BYTES     cost SECONDS BYTES_OF_THE_BUSIEST
#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <simgrid/s4u.hpp>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/parallel/network/simgrid/fabric.hpp"
#include "bench/parallel/network/simgrid/platform.hpp"
#include "bench/parallel/reductions/reductions.hpp"

namespace convscope {
namespace {

namespace s4u = simgrid::s4u;

// Max-min fair shares of the stated bandwidths, as GPU links have them; SimGrid's default adds what TCP costs
// on Ethernet. Options keep their names of SimGrid 3.32, which newer ones still know.
void configure() {
  s4u::Engine::set_config("network/model:CM02");
  s4u::Engine::set_config("network/bandwidth-factor:1");
  s4u::Engine::set_config("network/latency-factor:1");
  s4u::Engine::set_config("network/TCP-gamma:0");
  s4u::Engine::set_config("network/crosstraffic:0");
  s4u::Engine::set_config("surf/precision:1e-12");     // seconds; 1e-9 would show beside a latency of 1 us
  s4u::Engine::set_config("contexts/stack-size:256");  // KiB an actor
#ifdef __SANITIZE_ADDRESS__
  s4u::Engine::set_config("contexts/factory:thread");  // stacks that the sanitizer knows
#endif
}

// Every rank's share of the sum, small whole numbers, so that sums are exact and a lost message shows.
float value_of(int rank) {
  return static_cast<float>(rank % 8 + 1);
}

// What one rank does.
void reduce(Reduction reduction, const Ranks& ranks, SimGridFabric& fabric) {
  // One value a chunk: the ranks' chunks and the messages are then all of their true size.
  const auto count = static_cast<size_t>(ranks.count);
  std::vector<float> values(count, value_of(fabric.rank()));
  std::vector<float> scratch(scratch_values(reduction, count, ranks));
  all_reduce(reduction, fabric, values, scratch, ranks);
  float sum = 0;
  for (int rank = 0; rank < ranks.count; ++rank) sum += value_of(rank);
  if (std::ranges::any_of(values, [&](float value) { return value != sum; }))
    throw std::logic_error(fmt::format("{}: a sum is wrong on rank {}", name(reduction), fabric.rank()));
}

// Called by an actor.
Cost simulate(Reduction reduction, const Ranks& ranks, double bytes, const std::vector<s4u::Host*>& hosts) {
  const double begin = s4u::Engine::get_clock();
  const double scale = bytes / (static_cast<double>(sizeof(float)) * ranks.count);
  Cost cost;
  std::vector<s4u::ActorPtr> actors;
  for (int rank = 0; rank < ranks.count; ++rank)
    actors.push_back(s4u::Actor::create("rank", hosts[static_cast<size_t>(rank)], [&, rank] {
      SimGridFabric fabric(rank, ranks.count, scale);
      reduce(reduction, ranks, fabric);
      cost.seconds = std::max(cost.seconds, s4u::Engine::get_clock() - begin);
      cost.busiest_bytes = std::max(cost.busiest_bytes, fabric.sent_bytes());
    }));
  for (const s4u::ActorPtr& actor : actors) actor->join();
  return cost;
}

void answer_requests(const std::vector<s4u::Host*>& hosts) {
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string reduction;
    Ranks ranks;
    double bytes = 0;
    words >> reduction >> ranks.count >> ranks.per_node >> bytes;
    const auto read = from_name(kReductions, reduction);
    if (!words || !read || static_cast<size_t>(ranks.count) > hosts.size())
      throw std::invalid_argument("not a request: " + line);
    const Cost cost = simulate(*read, ranks, bytes, hosts);
    std::cout << fmt::format("cost {:.17g} {:.17g}\n", cost.seconds, cost.busiest_bytes) << std::flush;
  }
}

std::vector<s4u::Host*> platform_of(s4u::Engine& engine, const std::vector<std::string>& words) {
  if (words.size() == 2 && words[0] == "file") return load_platform(engine, words[1]);
  if (words.size() != 7 || words[0] != "links")
    throw std::invalid_argument("convscope_simgrid: started by convscope only");
  return build_platform(
      {std::stoi(words[1]), std::stoi(words[2])},
      {{std::stod(words[3]), std::stod(words[4])}, {std::stod(words[5]), std::stod(words[6])}});
}

int serve(s4u::Engine& engine, const std::vector<std::string>& words) {
  std::vector<s4u::Host*> hosts;
  try {
    hosts = platform_of(engine, words);
  } catch (const std::exception& error) {
    const std::string why = error.what();
    std::cout << "refused " << why.substr(0, why.find('\n')) << '\n';
    return 2;
  }
  std::cout << fmt::format("ready {} {}\n", CONVSCOPE_SIMGRID_VERSION, hosts.size()) << std::flush;
  if (hosts.empty()) return 2;
  s4u::Actor::create("requests", hosts.front(), [&] { answer_requests(hosts); });
  engine.run();
  return 0;
}

}  // namespace
}  // namespace convscope

int main(int argc, char** argv) {
  simgrid::s4u::Engine engine(&argc, argv);
  convscope::configure();
  return convscope::serve(engine, {argv + 1, argv + argc});
}
