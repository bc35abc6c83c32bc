// One row of `convscope step`: a data-parallel training step of a network on n GPUs. Plain data, its columns,
// and how a modelled row is filled.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "bench/parallel/network/basis.hpp"
#include "bench/parallel/network/network_model.hpp"
#include "bench/parallel/schedule/kept_records.hpp"
#include "bench/record/cells.hpp"

namespace convscope {

enum class Compression { none, one_bit };
inline constexpr auto kCompressions = enumerators<Compression::one_bit>();
std::string_view name(Compression);  // "none", "1bit"

// What a row is for. Of 1-bit gradients the reduction is always striped: the codec defines it.
struct StepCase {
  std::string network;
  int64_t batch = 1;     // of all GPUs together
  bool is_weak = false;  // the batch grows with the GPUs
  Fleet fleet;
  Reduction reduction = Reduction::ring;
  bool by_library = false;  // summed by the fabric's own all-reduce instead
  Overlap overlap;
  Compression compression = Compression::none;
  std::string choose{kBest};
  bool is_fused = false;  // of a measured step: bias and ReLU right after a convolution are its epilogue
  std::optional<double> codec_bytes_per_second;  // FP32 bytes coded a second; null: the codec takes no time

  int64_t batch_per_gpu() const { return batch / fleet.ranks.count; }
  // The name of what sums: of a reduction, or the fabric's.
  std::string reduce() const { return by_library ? fleet.fabric : std::string(name(reduction)); }
};

struct StepRow {
  StepCase of;
  CaseKey circumstances;  // of the records: device, threads, cache, cap, math, layout
  DeviceInfo device;
  std::string rows_hash;  // of all records that compute may be from
  RowOutcome outcome = RowOutcome::good;
  std::string reason, note, rerun;
  Schedule schedule;                             // empty unless good
  std::optional<double> lowest, highest;         // seconds of the step by the ends of the medians' intervals
  std::optional<double> closed_form_seconds;     // of a step that is simulated on links of the closed form
  double codec_seconds = 0;                      // of a sum of gradients
  std::optional<double> operation_seconds;       // of a modelled or replayed row, in compute_seconds
  double gradient_bytes = 0, busiest_bytes = 0;  // of one GPU; sent by the busiest
  std::optional<double> alone_seconds;  // a step of one GPU: of the same batch, or where weak of its share
  bool suspect = false;
  // Of a measured row: compute while communication runs behind it, its samples of a step, those of all kinds
  // that were disturbed twice, the summed gradients against f64, and whether all ranks have the same bits.
  // Without codes, whether integers in the gradients' place are summed exactly, and whether the same
  // gradients have the same sums twice; with codes, ||e|| / ||g|| of the rank whose codes lose most.
  std::optional<double> compute_beside_seconds;
  std::optional<int64_t> samples, disturbed;
  std::optional<double> reduce_relative_l2, codec_relative_l2;
  std::optional<bool> identical_bits, exact, repeatable;

  bool has_samples() const { return samples.value_or(0) > 0; }
  bool has_time() const { return outcome == RowOutcome::good; }
  // T(1) / T(n) of the same total batch; where weak, n T(1) / T(n). Null where T(1) is not known.
  std::optional<double> speed_up() const;
};

std::span<const ColumnOf<StepRow>> step_columns();

// Of one reduction: the bytes that are summed, those of its codes where there is a codec, and the seconds of
// coding: a gradient, and where it is owned the sum of all; then all sums are decoded.
double reduced_bytes(const StepCase& of, std::span<const LayerWork* const> layers);
double codec_seconds(const StepCase& of, std::span<const LayerWork* const> layers);

// The row of a fleet of this network. Refused: `batch_not_divisible`, what the reduction or the network
// refuses, `no_operations` where the scope has rows of operations and lacks one, and `no_rows`, with
// `measure_command`, which measures what is missing, in `rerun`.
StepRow modelled_step(const StepCase& of, std::span<const StepLayer> layers, const Scope& scope,
                      NetworkModel& network, const std::string& measure_command);

}  // namespace convscope
