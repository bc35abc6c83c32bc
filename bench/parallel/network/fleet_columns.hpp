// The columns that say on what a row of `allreduce` or `step` ran: the same words in both tables.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

#include "bench/parallel/network/basis.hpp"
#include "bench/parallel/network/model_error.hpp"
#include "bench/record/cells.hpp"

namespace convscope {

// The cell of a fleet's link; null where it has none.
inline Cell link_cell(const Fleet& fleet, Link Links::*which, double Link::*member, double factor) {
  return fleet.links ? cell(factor * ((*fleet.links).*which).*member) : Cell{};
}

// One of the shares of the model's error; null of a row that is not modelled or has no time.
template <typename Row>
Cell error_cell(const Row& row, const Fleet& fleet, double percent) {
  return row.has_time() && fleet.basis == Basis::modelled ? cell(percent / 100) : Cell{};
}

// kFleet(row) is the row's Fleet; kError how far the model is from what was measured of such rows.
template <typename Row, auto kFleet, const ModelError& kError>
inline constexpr std::array kFleetColumns = std::to_array<ColumnOf<Row>>({
    {"gpus", "", "Ranks: GPUs, or processes on CPUs that stand for them, one device each.",
     [](const Row& r) { return cell(kFleet(r).ranks.count); }},
    {"gpus_per_node", "", "Ranks of one node.", [](const Row& r) { return cell(kFleet(r).ranks.per_node); }},
    {"basis", "",
     "measured: all was run; replayed: compute from records was slept, communication was run; modelled: "
     "compute from records, communication as `fabric` says.",
     [](const Row& r) { return cell(kFleet(r).basis); }},
    {"fabric", "",
     "What the bytes travel on: mpi, threads of one process, or between GPUs nccl; of a modelled row closed "
     "form, by formula from the links, or simgrid, simulated.",
     [](const Row& r) { return cell(kFleet(r).fabric); }},
    {"fabric_version", "", "The library behind it.",
     [](const Row& r) { return cell(kFleet(r).fabric_version); }},
    {"platform", "", "The platform file of a simulated network; null where it was built from the links.",
     [](const Row& r) { return cell(kFleet(r).platform); }},
    {"platform_hash", "", "Of that file's bytes.",
     [](const Row& r) { return cell(kFleet(r).platform_hash); }},
    {"link_gbs", "GB/s", "Of a modelled row: bandwidth each way of a rank's link to other nodes.",
     [](const Row& r) { return link_cell(kFleet(r), &Links::between, &Link::bytes_per_second, 1e-9); }},
    {"link_us", "us", "Likewise the latency of a message.",
     [](const Row& r) { return link_cell(kFleet(r), &Links::between, &Link::latency, 1e6); }},
    {"node_link_gbs", "GB/s", "Likewise bandwidth within a node.",
     [](const Row& r) { return link_cell(kFleet(r), &Links::within, &Link::bytes_per_second, 1e-9); }},
    {"node_link_us", "us", "Likewise latency within a node.",
     [](const Row& r) { return link_cell(kFleet(r), &Links::within, &Link::latency, 1e6); }},
    {"model_error_median", "",
     "Of a modelled row: the median of |measured / modelled - 1| over what could be measured "
     "(docs/experiments/networks.md).",
     [](const Row& r) { return error_cell(r, kFleet(r), kError.median); }},
    {"model_error_largest", "", "Likewise the largest.",
     [](const Row& r) { return error_cell(r, kFleet(r), kError.largest); }},
});

// One table of several parts.
template <typename Column, size_t... kSizes>
constexpr auto joined(const std::array<Column, kSizes>&... parts) {
  std::array<Column, (kSizes + ...)> all{};
  auto at = all.begin();
  ((at = std::copy(parts.begin(), parts.end(), at)), ...);
  return all;
}

}  // namespace convscope
