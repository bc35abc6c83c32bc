#include "bench/parallel/network/simulated_network.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <utility>
#include <vector>

#include "bench/core/error.hpp"
#include "bench/core/random.hpp"
#include "bench/parallel/network/simulator_process.hpp"
#include "bench/record/result_files.hpp"

namespace convscope {
namespace {

std::vector<std::string> words_of(const Ranks& ranks, const Links& links) {
  std::vector<std::string> words{"links", std::to_string(ranks.count), std::to_string(ranks.per_node)};
  for (const Link& link : {links.within, links.between}) {
    words.push_back(fmt::format("{:.17g}", link.bytes_per_second));
    words.push_back(fmt::format("{:.17g}", link.latency));
  }
  return words;
}

}  // namespace

SimulatedNetwork::SimulatedNetwork(std::string program, const Links& links)
    : program_(std::move(program)), links_(links) {}

SimulatedNetwork::SimulatedNetwork(std::string program, std::string platform_file)
    : program_(std::move(program)),
      file_(std::move(platform_file)),
      file_hash_(fmt::format("{:016x}", hash_of_text(0, read_file(file_)))) {
  simulator({});
}

SimulatedNetwork::~SimulatedNetwork() = default;

SimulatorProcess* SimulatedNetwork::simulator(const Ranks& ranks) {
  if (program_.empty() || ranks.count > kMaxSimulated) return nullptr;
  const bool fits = !links_ || (built_for_.count == ranks.count && built_for_.per_node == ranks.per_node);
  if (simulator_ && fits) return simulator_.get();
  simulator_ = links_ ? std::make_unique<SimulatorProcess>(program_, words_of(ranks, *links_), "--link")
                      : std::make_unique<SimulatorProcess>(
                            program_, std::vector<std::string>{"file", std::filesystem::absolute(file_)},
                            "--platform: " + file_);
  built_for_ = ranks;
  return simulator_.get();
}

Fleet SimulatedNetwork::fleet(const Ranks& ranks) {
  const SimulatorProcess* running = simulator(ranks);
  Fleet fleet{ranks, Basis::modelled, std::string(kSimGrid), "", links_, file_, file_hash_};
  if (running != nullptr) fleet.fabric_version = "SimGrid " + running->version();
  return fleet;
}

std::optional<Refusal> SimulatedNetwork::refusal(Reduction reduction, const Ranks& ranks) {
  if (program_.empty())
    return Refusal{"library_missing",
                   "this program was built without SimGrid; on Debian and Ubuntu: apt install "
                   "libsimgrid-dev, and build again. The closed form needs none: --link alone"};
  const int most = reduction == Reduction::striped ? kMaxStriped : kMaxSimulated;
  if (ranks.count > most)
    return Refusal{
        "too_many_gpus",
        fmt::format("{} is simulated on {} GPUs at most, not {}; the closed form takes any number: "
                    "--link alone",
                    name(reduction), most, ranks.count)};
  const int hosts = simulator(ranks)->hosts();
  if (hosts < ranks.count)
    return Refusal{
        "too_few_hosts",
        fmt::format("{} has {} hosts, and each stands for a GPU; take a --platform with {} or more, "
                    "or fewer --gpus",
                    file_, hosts, ranks.count)};
  return std::nullopt;
}

Cost SimulatedNetwork::all_reduce(Reduction reduction, double bytes, const Ranks& ranks) {
  if (ranks.count == 1) return {};
  const auto key = std::tuple(reduction, bytes, ranks.count, ranks.per_node);
  if (const auto found = known_.find(key); found != known_.end()) return found->second;
  return known_[key] = simulator(ranks)->all_reduce(reduction, bytes, ranks);
}

}  // namespace convscope
