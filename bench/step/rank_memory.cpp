#include "bench/step/rank_memory.hpp"

#include <fmt/format.h>

#include <string_view>
#include <vector>

#include "bench/core/counted.hpp"
#include "bench/device/cpu/system_files.hpp"

namespace convscope {

std::string memory_defect(std::span<const RankPlace> places, std::span<const int64_t> bytes, size_t rank,
                          int64_t of_container, int64_t of_machine) {
  struct Sharers {
    bool (*share)(const RankPlace&, const RankPlace&);
    int64_t there;
    std::string_view where;
  };
  for (const Sharers& by :
       {Sharers{is_beside, of_container, ""}, Sharers{is_on_one_machine, of_machine, "the machine of "}}) {
    int64_t needed = 0, ranks = 0;
    for (size_t other = 0; other < places.size(); ++other)
      if (by.share(places[other], places[rank])) {
        needed += bytes[other];
        ++ranks;
      }
    if (TrainingStep::leaves_room(needed, by.there)) continue;
    return fmt::format(
        "the steps of {} on {}{} need {} for tensors, more than three quarters of its {}; take fewer ranks "
        "of a machine, or a smaller --batch",
        counted(ranks, "rank"), by.where, places[rank].host, bytes_text(needed), bytes_text(by.there));
  }
  return "";
}

std::optional<Refusal> lacks_memory(const TrainingStep& step, const TrainingStep* whole, Device& device,
                                    Fabric& fabric) {
  if (device.info().kind != DeviceKind::cpu) return std::nullopt;
  const std::vector<RankPlace> places = gathered_places(fabric);
  const int64_t own = step.bytes() + (whole == nullptr ? 0 : whole->bytes());
  std::vector<int64_t> bytes;
  for (const std::string& of_rank : gathered_texts(fabric, std::to_string(own)))
    bytes.push_back(std::stoll(of_rank));
  const std::string why = memory_defect(places, bytes, static_cast<size_t>(fabric.rank()),
                                        device.usable_bytes(), physical_memory());
  for (const std::string& of_rank : gathered_texts(fabric, why))
    if (!of_rank.empty()) return Refusal{"out_of_memory", of_rank};
  return std::nullopt;
}

}  // namespace convscope
