#include "bench/step/rank_memory.hpp"

#include <fmt/format.h>

#include <string>
#include <vector>

#include "bench/core/counted.hpp"
#include "bench/parallel/fabric/job_watch.hpp"

namespace convscope {

std::optional<Refusal> lacks_memory(const TrainingStep& step, const TrainingStep* whole, Device& device,
                                    Fabric& fabric) {
  if (device.info().kind != DeviceKind::cpu) return std::nullopt;
  const int64_t own = step.bytes() + (whole == nullptr ? 0 : whole->bytes());
  const std::vector<RankPlace> places = gathered_places(fabric);
  const std::vector<std::string> bytes = gathered_texts(fabric, std::to_string(own));
  const RankPlace& here = places[static_cast<size_t>(fabric.rank())];
  int64_t needed = 0, ranks = 0;
  for (size_t rank = 0; rank < places.size(); ++rank)
    if (is_beside(places[rank], here)) {
      needed += std::stoll(bytes[rank]);
      ++ranks;
    }
  const int64_t there = device.usable_bytes();
  const std::string why =
      needed <= there / 4 * 3
          ? ""
          : fmt::format(
                "the steps of {} on {} need {} for tensors, more than three quarters of its {}; take "
                "fewer ranks of a machine, or a smaller --batch",
                counted(ranks, "rank"), here.host, bytes_text(needed), bytes_text(there));
  for (const std::string& of_rank : gathered_texts(fabric, why))
    if (!of_rank.empty()) return Refusal{"out_of_memory", of_rank};
  return std::nullopt;
}

}  // namespace convscope
