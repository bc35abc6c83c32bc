// Modelled reductions by simulation: SimGrid runs the code of reductions.hpp on actors, whose messages share
// the links of a platform. So links that several GPUs share, and nodes that a reduction knows nothing of, are
// in the time, which the closed form leaves out; where nothing is shared both agree. All that calls SimGrid
// is the program convscope_simgrid (simgrid/main.cpp), started here and asked.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <tuple>

#include "bench/parallel/network/network_model.hpp"

namespace convscope {

// The name of its fabric.
inline constexpr std::string_view kSimGrid = "simgrid";

// More ranks are refused (`too_many_gpus`), as it would take hours: a ring has as many messages as the square
// of them, and of `striped` all of these are under way at once.
inline constexpr int kMaxSimulated = 4096, kMaxStriped = 256;

class SimulatorProcess;

class SimulatedNetwork final : public NetworkModel {
 public:
  // Of links as the closed form has them: every GPU's are its own. `program` is the path of
  // convscope_simgrid; where it is empty, all ranks are refused (`library_missing`).
  SimulatedNetwork(std::string program, const Links& links);
  // Of a platform file in SimGrid's own format, each host of which is a GPU (`too_few_hosts`). Throws
  // UsageError where it cannot be read, or SimGrid finds a fault in it.
  SimulatedNetwork(std::string program, std::string platform_file);
  ~SimulatedNetwork() override;

  Fleet fleet(const Ranks& ranks) override;
  std::optional<Refusal> refusal(Reduction reduction, const Ranks& ranks) override;
  // Each is simulated once. Throws UsageError with SimGrid's words where it gives up, as between hosts that
  // nothing connects.
  Cost all_reduce(Reduction reduction, double bytes, const Ranks& ranks) override;

 private:
  // Null where the program is missing or the ranks are too many.
  SimulatorProcess* simulator(const Ranks& ranks);

  std::string program_;
  std::optional<Links> links_;
  std::string file_, file_hash_;
  std::unique_ptr<SimulatorProcess> simulator_;  // of the file, or of links and these ranks
  Ranks built_for_;
  std::map<std::tuple<Reduction, double, int, int>, Cost> known_;
};

}  // namespace convscope
