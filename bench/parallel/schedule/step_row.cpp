#include "bench/parallel/schedule/step_row.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "bench/core/counted.hpp"
#include "bench/parallel/network/fleet_columns.hpp"
#include "bench/parallel/network/simulated_network.hpp"
#include "bench/report/format.hpp"

namespace convscope {
namespace {

using R = StepRow;

Cell milliseconds(const R& r, double seconds) {
  return r.has_time() ? cell(1e3 * seconds) : Cell{};
}
Cell milliseconds(const R& r, const std::optional<double>& seconds) {
  return seconds ? milliseconds(r, *seconds) : Cell{};
}
bool communicates(const R& r) {
  return r.has_time() && r.schedule.communication_seconds > 0;
}

constexpr auto kColumnsOfCase = std::to_array<ColumnOf<R>>({
    {"network", "", "The config's name.", [](const R& r) { return cell(r.of.network); }},
    {"batch", "", "Images of all GPUs together.", [](const R& r) { return cell(r.of.batch); }},
    {"batch_per_gpu", "", "Images of one GPU; the batch of the records that compute is from.",
     [](const R& r) { return cell(r.of.batch_per_gpu()); }},
    {"scaling", "", "strong: the batch is shared out; weak: it grows with the GPUs.",
     [](const R& r) { return cell(std::string(r.of.is_weak ? "weak" : "strong")); }},
});

constexpr auto kColumnsOfTime = std::to_array<ColumnOf<R>>({
    {"device", "", "Of the records: cpu, cuda or cuda:1.",
     [](const R& r) { return cell(name(r.circumstances.device_id())); }},
    {"device_name", "", "Of the records: the processor's own name.",
     [](const R& r) { return cell(r.device.name); }},
    {"machine_class", "", "Of the records: the class of machine.",
     [](const R& r) { return cell(r.device.machine_class); }},
    {"math", "", "Of the records: the arithmetic class.",
     [](const R& r) { return cell(r.circumstances.problem.math); }},
    {"layout", "", "Of the records: memory order of the tensors.",
     [](const R& r) { return cell(r.circumstances.problem.layout); }},
    {"threads", "", "Of the records: OpenMP threads.", [](const R& r) { return cell(r.circumstances.threads); }},
    {"cache", "", "Of the records: where the tensors are when a run starts; null of a measured row.",
     [](const R& r) { return r.of.fleet.basis == Basis::measured ? Cell{} : cell(r.circumstances.cache); }},
    {"workspace_cap_bytes", "bytes", "Of the records: the workspace cap; null is none.",
     [](const R& r) { return cell(r.circumstances.workspace_cap); }},
    {"rows_hash", "", "Of all records of --rows and rows of --operations.",
     [](const R& r) { return cell(r.rows_hash); }},
    {"choose", "", "best: the winner of each layer and pass; else the algorithm that all take.",
     [](const R& r) { return cell(r.of.choose); }},
    {"fused", "",
     "Of a measured row: whether bias and ReLU right after a convolution are its epilogue (--fuse).",
     [](const R& r) { return r.of.fleet.basis == Basis::measured ? cell(r.of.is_fused) : Cell{}; }},
    {"reduce", "", "The reduction: tree, ring, halving, hierarchical or striped; mpi is MPI's own, nccl NCCL's.",
     [](const R& r) { return cell(r.of.reduce()); }},
    {"overlap", "", "none, layer, or bucket with its size.",
     [](const R& r) { return cell(text(r.of.overlap)); }},
    {"bucket_bytes", "bytes", "The size at which a bucket is closed; the first at 1 MiB.",
     [](const R& r) {
       return r.of.overlap.kind == OverlapKind::bucket ? cell(r.of.overlap.bucket_bytes) : Cell{};
     }},
    {"buckets", "", "Reductions of one step.",
     [](const R& r) { return r.has_time() ? cell(r.schedule.reductions) : Cell{}; }},
    {"compress", "", "none, or 1bit with error feedback.", [](const R& r) { return cell(r.of.compression); }},
    {"step_ms", "ms", "Forward, backward, the last gradient reduced, and the update where it counts.",
     [](const R& r) { return milliseconds(r, r.schedule.step_seconds); }},
    {"step_low_ms", "ms",
     "The same if every layer took the lower end of its median's 95% interval; null where one has none. Of a "
     "measured or replayed row that interval of the step itself.",
     [](const R& r) { return milliseconds(r, r.lowest); }},
    {"step_high_ms", "ms", "Likewise the upper end.", [](const R& r) { return milliseconds(r, r.highest); }},
    {"closed_form_ms", "ms",
     "Of a simulated row whose network was built from the links: step_ms by the closed form of these.",
     [](const R& r) { return milliseconds(r, r.closed_form_seconds); }},
    {"compute_ms", "ms",
     "Compute of one GPU, alone: forward and backward, and of a measured row the update; of a modelled or "
     "replayed row its convolutions and, where rows of them are given, its operations, never the loss.",
     [](const R& r) { return milliseconds(r, r.schedule.compute_seconds); }},
    {"operations_ms", "ms",
     "Of that, of a modelled or replayed row, what stands between the convolutions, and the update; null "
     "where --operations gives no rows: they count as nothing.",
     [](const R& r) { return milliseconds(r, r.operation_seconds); }},
    {"compute_with_comm_ms", "ms",
     "The same while communication runs behind it; null but of a measured row that overlaps.",
     [](const R& r) { return milliseconds(r, r.compute_beside_seconds); }},
    {"comm_alone_ms", "ms", "All reductions of a step, one after the other.",
     [](const R& r) { return milliseconds(r, r.schedule.communication_seconds); }},
    {"codec_ms", "ms",
     "Of such reductions, coding, of a measured row in sums of their own and as its slowest rank took; null "
     "where the codec is taken to be free or there is none.",
     [](const R& r) { return r.codec_seconds > 0 ? milliseconds(r, r.codec_seconds) : Cell{}; }},
    {"exposed_ms", "ms", "step_ms less compute_ms: what compute does not hide.",
     [](const R& r) { return milliseconds(r, r.schedule.exposed_seconds()); }},
    {"overlap_efficiency", "", "1 - exposed_ms / comm_alone_ms; null where nothing is sent.",
     [](const R& r) { return communicates(r) ? cell(r.schedule.overlap_efficiency()) : Cell{}; }},
    {"gradient_bytes", "bytes",
     "Of one GPU, in FP32: filters, and a bias an output channel; of a measured row all that is summed, with "
     "scales, shifts and what aligns them.",
     [](const R& r) { return r.has_time() ? cell(r.gradient_bytes) : Cell{}; }},
    {"wire_bytes_per_gpu", "bytes", "Sent by the busiest GPU in a step; null where a library sums.",
     [](const R& r) { return r.has_time() && !r.of.by_library ? cell(r.busiest_bytes) : Cell{}; }},
    {"algbw", "GB/s", "gradient_bytes over comm_alone_ms.",
     [](const R& r) {
       return communicates(r) ? cell(1e-9 * (r.gradient_bytes / r.schedule.communication_seconds)) : Cell{};
     }},
    {"busbw", "GB/s", "algbw 2(n-1)/n, as nccl-tests defines it.",
     [](const R& r) {
       return communicates(r) ? cell(1e-9 * bus_bandwidth(r.gradient_bytes, r.schedule.communication_seconds,
                                                          r.of.fleet.ranks.count))
                              : Cell{};
     }},
    {"speedup", "",
     "Time of one GPU with the same total batch over step_ms; where weak, n times that with a GPU's share. "
     "Null where no record has that batch.",
     [](const R& r) { return cell(r.speed_up()); }},
    {"efficiency", "", "speedup over gpus.",
     [](const R& r) {
       const auto speed_up = r.speed_up();
       return speed_up ? cell(*speed_up / r.of.fleet.ranks.count) : Cell{};
     }},
    {"images_per_second", "1/s", "batch over step_ms.",
     [](const R& r) {
       return r.has_time() ? cell(static_cast<double>(r.of.batch) / r.schedule.step_seconds) : Cell{};
     }},
    {"reduce_relative_l2", "",
     "Of a measured row: the error of a sample of the summed gradients against f64.",
     [](const R& r) { return cell(r.reduce_relative_l2); }},
    {"codec_relative_l2", "",
     "Of a measured row with codes: ||e|| / ||g||, where e is what a rank's codes do not pass on of its "
     "first gradients g; the largest over ranks. Of a Gaussian 0.603.",
     [](const R& r) { return cell(r.codec_relative_l2); }},
    {"exact", "",
     "Of a measured row without codes: whether integers in the gradients' place were summed exactly on every "
     "rank.",
     [](const R& r) { return cell(r.exact); }},
    {"repeatable", "",
     "Of a measured row without codes: whether the same gradients had the same sums, bit by bit, a second "
     "time.",
     [](const R& r) { return cell(r.repeatable); }},
    {"identical_bits", "", "Of a measured row: whether the summed gradients are the same on all ranks.",
     [](const R& r) { return cell(r.identical_bits); }},
    {"suspect", "", "Whether a record that compute is from was throttled or disturbed.",
     [](const R& r) { return r.has_time() ? cell(r.suspect) : Cell{}; }},
    {"samples", "", "Of a measured row: the steps that step_ms is the median of.",
     [](const R& r) { return r.has_time() ? cell(r.samples) : Cell{}; }},
    {"disturbed", "",
     "Of a measured row: samples of the step, of its parts and of one GPU's step that lost time to other "
     "programs on some rank, or before which a rank's GPU was used by others or had a low or held-down "
     "clock, and again when they were taken once more.",
     [](const R& r) { return r.has_time() ? cell(r.disturbed) : Cell{}; }},
    {"outcome", "",
     "good, refused, wrong, or failed: it was begun, and then a rank was lost or a library failed.",
     [](const R& r) { return cell(r.outcome); }},
    {"reason", "", "Why there is no time, as a code.", [](const R& r) { return cell(r.reason); }},
    {"note", "", "The sentence behind the reason, or what a good row leaves out.",
     [](const R& r) { return cell(r.note); }},
    {"rerun", "",
     "The command that makes this row again; of a row without records the one that measures them.",
     [](const R& r) { return cell(r.rerun); }},
});

constexpr auto kColumns = joined(
    kColumnsOfCase, kFleetColumns<R, [](const R& r) -> const Fleet& { return r.of.fleet; }, kStepError>,
    kColumnsOfTime);

StepRow refused(StepRow row, const Refusal& why) {
  refuse(row, why);
  return row;
}

double sum_of(std::span<const LayerWork* const> layers, double LayerWork::*member) {
  double sum = 0;
  for (const LayerWork* layer : layers) sum += layer->*member;
  return sum;
}

// What one reduction takes, with its codec.
Cost reduction_cost(const StepCase& of, NetworkModel& network, std::span<const LayerWork* const> layers) {
  Cost cost = network.all_reduce(of.reduction, reduced_bytes(of, layers), of.fleet.ranks);
  cost.seconds += codec_seconds(of, layers);
  return cost;
}

std::optional<double> seconds_of_step(const StepCase& of, NetworkModel& network,
                                      std::span<const LayerWork> layers) {
  const double seconds = schedule(layers, of.overlap, [&](auto bucket) {
                           return reduction_cost(of, network, bucket).seconds;
                         }).step_seconds;
  return std::isfinite(seconds) ? std::optional(seconds) : std::nullopt;
}

std::string missing_text(const std::vector<std::string>& missing) {
  constexpr size_t kNamed = 3;
  const std::vector<std::string> named(missing.begin(), missing.begin() + std::min(kNamed, missing.size()));
  return comma_list(named) +
         (missing.size() > kNamed ? fmt::format(" and {} more", missing.size() - kNamed) : "");
}

}  // namespace

std::string_view name(Compression compression) {
  constexpr std::array<std::string_view, kCompressions.size()> names{"none", "1bit"};
  return names[static_cast<size_t>(compression)];
}

std::optional<double> StepRow::speed_up() const {
  if (outcome != RowOutcome::good || !alone_seconds) return std::nullopt;
  return (of.is_weak ? of.fleet.ranks.count : 1) * *alone_seconds / schedule.step_seconds;
}

std::span<const ColumnOf<StepRow>> step_columns() {
  return kColumns;
}

double reduced_bytes(const StepCase& of, std::span<const LayerWork* const> layers) {
  const bool is_coded = of.compression != Compression::none;
  return sum_of(layers, is_coded ? &LayerWork::coded_bytes : &LayerWork::gradient_bytes);
}

double codec_seconds(const StepCase& of, std::span<const LayerWork* const> layers) {
  if (of.compression == Compression::none || !of.codec_bytes_per_second || of.fleet.ranks.count == 1)
    return 0;
  return sum_of(layers, &LayerWork::gradient_bytes) / *of.codec_bytes_per_second;
}

StepRow modelled_step(const StepCase& of, std::span<const StepLayer> layers, const Scope& scope,
                      NetworkModel& network, const std::string& measure_command) {
  StepRow row;
  row.of = of;
  row.circumstances = scope.any().key();
  row.device = scope.any().first().device;
  const int n = of.fleet.ranks.count;
  if (of.batch % n != 0)
    return refused(row, {"batch_not_divisible",
                         fmt::format("{} images cannot be shared out evenly over {} GPUs", of.batch, n)});
  if (const auto why = refusal(of.reduction, of.fleet.ranks)) return refused(row, *why);
  if (const auto why = network.refusal(of.reduction, of.fleet.ranks)) return refused(row, *why);
  const StepWork work = step_work(layers, scope, of.batch_per_gpu(), of.choose);
  if (!work.missing.empty()) {
    row.rerun = measure_command;
    return refused(
        row,
        {"no_rows", fmt::format("at batch {} there is no right record{} of {}", of.batch_per_gpu(),
                                of.choose == kBest ? "" : " of " + of.choose, missing_text(work.missing))});
  }
  if (!work.missing_operations.empty())
    return refused(row,
                   {"no_operations",
                    fmt::format("--operations has no right rows of {} ({}), whose records --rows has, of {}",
                                row.device.name, counted(row.circumstances.threads, "thread"),
                                missing_text(work.missing_operations))});
  if (scope.operations) row.operation_seconds = work.operation_seconds;
  row.schedule = schedule(work.layers, of.overlap, [&](auto bucket) {
    const Cost cost = reduction_cost(of, network, bucket);
    row.busiest_bytes += cost.busiest_bytes;
    row.codec_seconds += codec_seconds(of, bucket);
    row.gradient_bytes += sum_of(bucket, &LayerWork::gradient_bytes);
    return cost.seconds;
  });
  row.lowest = seconds_of_step(of, network, work.lowest);
  row.highest = seconds_of_step(of, network, work.highest);
  if (of.fleet.fabric == kSimGrid && of.fleet.links) {
    ClosedForm formula(*of.fleet.links);
    row.closed_form_seconds = seconds_of_step(of, formula, work.layers);
  }
  row.suspect = work.suspect;
  StepCase alone = of;
  alone.fleet.ranks = {1, 1};
  const StepWork work_alone = step_work(layers, scope, of.is_weak ? of.batch_per_gpu() : of.batch, of.choose);
  if (work_alone.missing.empty() && work_alone.missing_operations.empty())
    row.alone_seconds = seconds_of_step(alone, network, work_alone.layers);
  else
    row.note = fmt::format(
        "no speed-up: at batch {} there is no right record of {}", of.batch,
        missing_text(work_alone.missing.empty() ? work_alone.missing_operations : work_alone.missing));
  return row;
}

}  // namespace convscope
