#include "bench/parallel/allreduce/gpu_ranks.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <exception>
#include <map>
#include <new>
#include <vector>

#include "bench/core/counted.hpp"
#include "bench/device/cuda/cuda.hpp"
#include "bench/report/format.hpp"

namespace convscope {
namespace {

// Libraries of hundreds of MB are loaded, networks are looked for.
constexpr std::chrono::seconds kInitLimit{60};
// How long a rank waits to say that its init failed, for others that still are in theirs.
constexpr std::chrono::seconds kFailureLimit{3};

// What one rank has to say to the others, as a text of lines.
struct Report {
  std::optional<Refusal> refusal;
  std::string library, unit, name, id;  // `id`: "cuda:1 of node3"
  std::string pace;                     // what GPUs that are alike have in common, the name among it
};

std::string text_of(const Report& report) {
  const auto& why = report.refusal;
  return fmt::format("{}\n{}\n{}\n{}\n{}\n{}\n{}", why ? why->reason : "", report.library, report.unit,
                     report.name, report.id, report.pace, why ? why->note : "");
}

Report report_from(const std::string& text) {
  std::vector<std::string> lines;
  size_t at = 0;
  for (int line = 0; line < 6; ++line) {
    const size_t end = text.find('\n', at);
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  Report report{{}, lines[1], lines[2], lines[3], lines[4], lines[5]};
  if (!lines[0].empty()) report.refusal = Refusal{lines[0], text.substr(at)};
  return report;
}

// This rank's GPU opened, as far as that needs no other rank.
Report open_own(const WantedGpu& wanted, GpuRank& to) {
  Report report;
  if (const std::string defect = cuda::device_defect(); !defect.empty()) {
    report.refusal = Refusal{"no_device", "no CUDA device: " + defect};
    return report;
  }
  const int count = cuda::device_count();
  const int index = wanted.index.value_or(wanted.local_rank % std::max(count, 1));
  report.id = fmt::format("cuda:{} of {}", index, this_place().host);
  if (index >= count) {
    report.refusal = Refusal{"no_device", fmt::format("there is no cuda:{}: {} shows {}", index,
                                                      this_place().host, counted(count, "CUDA device"))};
    return report;
  }
  if (const std::string defect = cuda::communication_defect(); !defect.empty()) {
    report.refusal = Refusal{"library_missing", defect};
    return report;
  }
  try {
    report.library = cuda::communication_library();
    // With its blocker: rank 0 chooses algorithms by their time on a queue, which gaps of the host are not to
    // be in. What is timed over all ranks is timed by the host.
    to.device = cuda::make_device({.device = index});
    to.queue = to.device->make_queue();
    const DeviceInfo info = to.device->info();
    report.name = info.name;
    report.unit = info.machine_unit;
    const std::string limits = cuda::limits_of(*to.device);
    // Not its memory, of which a driver keeps some: GPUs of two sizes have two names.
    report.pace = fmt::format("{} ({}, {} multiprocessors{}{})", info.name, info.instructions, info.cores,
                              limits.empty() ? "" : "; ", limits);
  } catch (const std::exception& error) {
    report.refusal = Refusal{"device_error", error.what()};
  }
  return report;
}

bool is_same_gpu(const Report& one, const Report& other) {
  return one.unit.empty() ? one.id == other.id : one.unit == other.unit;
}

// Where the ranks' GPUs are not alike: each sort with its ranks. Not by the class of machine, which is of one
// VBIOS and driver, too.
std::optional<Refusal> mixed_gpus(std::span<const Report> reports) {
  std::map<std::string, std::vector<size_t>> ranks_of;
  for (size_t rank = 0; rank < reports.size(); ++rank) ranks_of[reports[rank].pace].push_back(rank);
  if (ranks_of.size() == 1) return std::nullopt;
  std::vector<std::string> found;
  for (const auto& [pace, ranks] : ranks_of)
    found.push_back(fmt::format("rank{} {}: {}", ranks.size() == 1 ? "" : "s", fmt::join(ranks, ", "), pace));
  return Refusal{
      "mixed_gpus",
      fmt::format("GPUs of {} sorts, of which the slowest would set the pace of all: {}; start ranks on "
                  "GPUs that are alike, with CUDA_VISIBLE_DEVICES or other hosts, or give all the same "
                  "power limit (VBIOS and driver may differ)",
                  ranks_of.size(), fmt::join(found, "; "))};
}

// Why the ranks that gave these reports cannot work together.
std::optional<Refusal> judge(std::span<const Report> reports) {
  for (size_t rank = 0; rank < reports.size(); ++rank)
    if (const auto& why = reports[rank].refusal)
      return Refusal{why->reason, fmt::format("rank {}: {}", rank, why->note)};
  for (size_t rank = 1; rank < reports.size(); ++rank) {
    if (reports[rank].library != reports[0].library)
      return Refusal{"library_differs", fmt::format("rank 0 has {}, rank {} has {}", reports[0].library, rank,
                                                    reports[rank].library)};
    for (size_t other = 0; other < rank; ++other)
      if (is_same_gpu(reports[rank], reports[other]))
        return Refusal{"gpu_shared",
                       fmt::format("ranks {} and {} have the same GPU, {} ({}); NCCL takes one rank a GPU: "
                                   "start no more ranks than there are GPUs, and take --device cuda",
                                   other, rank, reports[rank].id, reports[rank].name)};
  }
  return mixed_gpus(reports);
}

// Made by rank 0, which may fail: then the note.
std::string made_id(const Fabric& fabric, CommunicatorId& id) {
  if (fabric.rank() != 0) return "";
  try {
    id = cuda::make_communicator_id();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

void carry(Fabric& fabric, CommunicatorId& id) {
  const auto bytes = std::as_writable_bytes(std::span(id));
  std::vector<Outgoing> out;
  for (int rank = 1; rank < fabric.size() && fabric.rank() == 0; ++rank) out.push_back({rank, bytes});
  const Incoming in{0, bytes};
  fabric.exchange(out, fabric.rank() == 0 ? std::span<const Incoming>{} : std::span(&in, 1));
}

// "library_failed" with the first rank's words, where some rank has some.
std::optional<Refusal> failure(Fabric& fabric, const std::string& words) {
  const std::vector<std::string> all = gathered_texts(fabric, words);
  for (size_t rank = 0; rank < all.size(); ++rank)
    if (!all[rank].empty()) return Refusal{"library_failed", fmt::format("rank {}: {}", rank, all[rank])};
  return std::nullopt;
}

}  // namespace

std::string each_once(std::span<const std::string> texts) {
  std::vector<std::string> all;
  for (const std::string& text : texts)
    if (std::ranges::find(all, text) == all.end()) all.push_back(text);
  return fmt::format("{}", fmt::join(all, ", "));
}

std::optional<Refusal> open_gpus(Fabric& fabric, const WantedGpu& wanted, JobWatch& watch, GpuRank& to) {
  watch.beat("opening its GPU and NCCL", kInitLimit);
  std::vector<Report> reports;
  for (const std::string& text : gathered_texts(fabric, text_of(open_own(wanted, to))))
    reports.push_back(report_from(text));
  if (auto why = judge(reports)) return why;
  to.library = reports[0].library;
  std::vector<std::string> names;
  for (const Report& report : reports) names.push_back(report.name);
  to.device_names = each_once(names);

  CommunicatorId id{};
  if (auto why = failure(fabric, made_id(fabric, id))) return why;
  carry(fabric, id);
  watch.beat("ncclCommInitRank", kInitLimit);
  std::string words;
  try {
    to.communicator = cuda::make_communicator(id, fabric.rank(), fabric.size(), *to.device);
  } catch (const std::exception& error) {
    words = error.what();
    watch.beat("waiting for the others after a failure, " + words, kFailureLimit);
  }
  auto why = failure(fabric, words);
  watch.beat("ending NCCL", kInitLimit);
  if (!why) watch.rest();
  return why;
}

}  // namespace convscope
