#include "bench/parallel/allreduce/reduction_row.hpp"

#include <array>

#include "bench/parallel/network/fleet_columns.hpp"

namespace convscope {
namespace {

using R = ReductionRow;

Cell time_cell(const R& r, double Statistics::*statistic, bool sampled) {
  return r.has_time() && (!sampled || r.time.n > 0) ? cell(1e3 * (r.time.*statistic)) : Cell{};
}

constexpr auto kColumnsOfReduction = std::to_array<ColumnOf<R>>({
    {"device_name", "", "The GPUs or processors of the ranks, each name once; null of a modelled row.",
     [](const R& r) { return cell(r.device_name); }},
    {"reduce", "", "tree, ring, halving, hierarchical, striped, or the library's own: mpi, nccl.",
     [](const R& r) { return cell(r.reduce); }},
    {"bytes", "bytes", "The gradient of one rank, in FP32.", [](const R& r) { return cell(r.bytes); }},
    {"median_ms", "ms", "Median time of one all-reduce, of the slowest rank.",
     [](const R& r) { return time_cell(r, &Statistics::median, false); }},
    {"ci_low_ms", "ms", "Lower end of its 95% confidence interval (distribution-free); null below 6 samples.",
     [](const R& r) { return time_cell(r, &Statistics::ci_low, true); }},
    {"ci_high_ms", "ms", "Upper end of that interval.",
     [](const R& r) { return time_cell(r, &Statistics::ci_high, true); }},
    {"samples", "", "Samples behind it; 0 of a modelled row.", [](const R& r) { return cell(r.time.n); }},
    {"iterations_per_sample", "", "All-reduces that one sample is the mean of.",
     [](const R& r) { return r.time.n > 0 ? cell(r.iterations) : Cell{}; }},
    {"disturbed", "",
     "Samples that lost time to other programs on some rank, or before which its GPU had a low clock or "
     "other users, and did so again when they were taken once more; null of a modelled row.",
     [](const R& r) { return r.time.n > 0 ? cell(r.disturbed) : Cell{}; }},
    {"algbw", "GB/s", "bytes over median_ms.",
     [](const R& r) {
       return r.has_time() ? cell(1e-9 * (static_cast<double>(r.bytes) / r.time.median)) : Cell{};
     }},
    {"busbw", "GB/s",
     "algbw 2(n-1)/n, as nccl-tests defines it: a ring at full speed shows the link's bandwidth.",
     [](const R& r) {
       return r.has_time() ? cell(1e-9 * bus_bandwidth(static_cast<double>(r.bytes), r.time.median,
                                                       r.fleet.ranks.count))
                           : Cell{};
     }},
    {"wire_bytes_per_gpu", "bytes", "Sent by the busiest rank; null of a library's own algorithm.",
     [](const R& r) { return cell(r.busiest_bytes); }},
    {"exact", "",
     "Whether integer sums below 2^24 came out exactly on every rank, from 32 MiB on those of a sample; null "
     "where nothing was run.",
     [](const R& r) { return cell(r.exact); }},
    {"identical_bits", "", "Whether sums of random values had the same bits on every rank.",
     [](const R& r) { return cell(r.identical_bits); }},
    {"repeatable", "", "Whether the same values gave the same bits a second time.",
     [](const R& r) { return cell(r.repeatable); }},
    {"relative_l2", "", "Error of those sums, ||s - s64|| / ||s64||, against sums in f64.",
     [](const R& r) { return cell(r.relative_l2); }},
    {"outcome", "",
     "good, refused, wrong, or failed: it was begun, and then a rank was lost or a library failed.",
     [](const R& r) { return cell(r.outcome); }},
    {"reason", "", "Why there is no time, as a code.", [](const R& r) { return cell(r.reason); }},
    {"note", "", "The sentence behind the reason.", [](const R& r) { return cell(r.note); }},
    {"rerun", "", "The command that makes this row again.", [](const R& r) { return cell(r.rerun); }},
});

constexpr auto kColumns = joined(
    kFleetColumns<R, [](const R& r) -> const Fleet& { return r.fleet; }, kSumError>, kColumnsOfReduction);

}  // namespace

std::span<const ColumnOf<ReductionRow>> reduction_columns() {
  return kColumns;
}

}  // namespace convscope
