#include "bench/step/ranked_step.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include "bench/core/random.hpp"
#include "bench/core/stopwatch.hpp"
#include "bench/measure/statistics.hpp"
#include "bench/parallel/allreduce/device_values.hpp"
#include "bench/parallel/allreduce/summands.hpp"
#include "bench/parallel/fabric/while_others_wait.hpp"
#include "bench/parallel/reductions/one_bit_reduction.hpp"
#include "bench/step/rank_choice.hpp"
#include "bench/step/rank_memory.hpp"
#include "bench/step/step_runner.hpp"

namespace convscope {
namespace {

constexpr size_t kSampled = 256;    // gradients that are compared with sums in f64
constexpr uint64_t kSeed = 1;       // of the integers that are summed in the gradients' place
constexpr double kSameSums = 1e-4;  // relative L2 distance of two sums of the same gradients
constexpr double kKeepSeconds = 2;  // between two times that rows are kept

class RankedStep {
 public:
  RankedStep(TrainingStep& step, const Registry& registry, Device& device, Fabric& fabric, RankSums& sums,
             const MeasureStepOptions& options, bool records_spans)
      : step_(step),
        device_(device),
        fabric_(fabric),
        sums_(sums),
        runner_(step, registry, device, choose_as_rank_0(step, registry, device, fabric, options)),
        records_spans_(records_spans) {}

  // `sum` is a new one, which keeps nothing of an earlier step.
  void verify(StepRow& row, GradientSum& sum) {
    const std::vector<LayerRange> together = summed_together(step_, row.of.overlap);
    const bool is_coded = row.of.compression != Compression::none;
    compute();
    const std::vector<float> own = step_.read_gradients();
    if (!is_coded) {
      row.exact = sums_integers_exactly(sum, together);
      step_.write_gradients(own);
    }
    const std::vector<size_t> places = sampled_places();
    const std::vector<float> gradients = gathered(fabric_, at(places, own));
    communicate(sum, together);
    const std::vector<float> all_sums = step_.read_gradients(), sums = at(places, all_sums);
    const std::vector<float> kept = gathered(fabric_, sum.kept(places));
    row.identical_bits = same_on_all_ranks(fabric_, hash_of_bits(all_sums));
    if (is_coded) {
      row.codec_relative_l2 =
          largest_over_ranks(fabric_, std::sqrt(sum.own_kept_squares() / squares_of(own)));
    } else {
      step_.write_gradients(own);
      communicate(sum, together);
      const bool is_same = hash_of_bits(step_.read_gradients()) == hash_of_bits(all_sums);
      row.repeatable = largest_over_ranks(fabric_, is_same ? 0 : 1) == 0;
    }
    const auto ranks = static_cast<size_t>(fabric_.size());
    bool has_right_sums = true;
    double error = 0, squares = 0;
    for (size_t i = 0; i < places.size(); ++i) {
      double whole = 0, passed_on = 0, magnitude = 0;
      for (size_t rank = 0; rank < ranks; ++rank) {
        const double mine = gradients[rank * places.size() + i], held = kept[rank * places.size() + i];
        whole += mine;
        passed_on += mine - held;
        magnitude += std::abs(mine) + std::abs(held);
      }
      const double roundings = static_cast<double>(ranks - 1) + sum.roundings();
      has_right_sums = has_right_sums && std::abs(sums[i] - passed_on) <= roundings * 0x1p-24 * magnitude;
      error += (sums[i] - whole) * (sums[i] - whole);
      squares += whole * whole;
    }
    row.reduce_relative_l2 = squares > 0 ? std::sqrt(error / squares) : 0;
    if (row.of.overlap.kind != OverlapKind::none) {
      compute_and_communicate(sum, together);
      const std::vector<float> overlapped = step_.read_gradients();
      row.identical_bits = same_on_all_ranks(fabric_, hash_of_bits(overlapped)) && *row.identical_bits;
      // Codes keep what they lost, so that a second sum of the same is another.
      if (!is_coded) has_right_sums = has_right_sums && are_near(sums, at(places, overlapped));
    }
    settle(row, has_right_sums && squares > 0);
  }

  // Runs what no check has run, since the first launch of a kernel loads it. By gradients of 0, so that the
  // ranks' weights stay the same.
  void warm_up() {
    step_.write_gradients(std::vector<float>(step_.gradients().size()));
    average();
    runner_.update();
  }

  // The seconds of the longest compute or sum of this rank so far.
  double longest() const { return longest_; }

  struct Series {
    Samples step, compute, communication;
    Samples beside;                        // compute while communication runs; empty where nothing overlaps
    Samples coding;                        // of a sum; empty where nothing is coded
    std::vector<std::vector<Span>> spans;  // of each step, on this rank; empty where they are not recorded
    int64_t disturbed = 0;
  };
  // A round: the step, its compute alone and its sum alone; of codes another sum, for what coding takes of
  // it, since to ask a GPU's queue for that takes time. The update of compute alone comes behind the sum: by
  // their own gradients the ranks would come to have different weights.
  void measure_round(const StepCase& of, GradientSum& sum, Series& series) {
    const Overlap& overlap = of.overlap;
    const std::vector<LayerRange> together = summed_together(step_, overlap);
    double beside = 0;
    series.step.push_back(sums_.slowest(
        [&] {
          if (records_spans_) runner_.record_spans();
          if (overlap.kind == OverlapKind::none) {
            compute();
            communicate(sum, together);
          } else {
            beside = compute_and_communicate(sum, together);
          }
          average();
          const auto begin = Clock::now();
          runner_.update();
          beside += seconds_since(begin);
        },
        series.disturbed));
    if (records_spans_) series.spans.push_back(runner_.take_spans());
    if (overlap.kind != OverlapKind::none) series.beside.push_back(largest_over_ranks(fabric_, beside));
    const double computing = sums_.slowest([&] { compute(); }, series.disturbed);
    int64_t sums = 0;  // two where the first was disturbed: then of sums
    const auto communicate_again = [&] {
      communicate(sum, together);
      ++sums;
    };
    series.communication.push_back(sums_.slowest(communicate_again, series.disturbed));
    for (; sums > 0; --sums) average();
    series.compute.push_back(computing + sums_.slowest([&] { runner_.update(); }, series.disturbed));
    if (of.compression == Compression::none) return;
    double coding = 0;
    sums_.slowest([&] { coding = seconds_of_coding(sum, together); }, series.disturbed);
    series.coding.push_back(largest_over_ranks(fabric_, coding));
  }

 private:
  void run(GradientSum& sum, const LayerRange& layers) {
    size_t values = 0;
    for (size_t layer = layers.begin; layer < layers.end; ++layer)
      values += step_.parameters_of(layer).second;
    const auto name = [&] {
      std::string of = "reduce";
      for (size_t layer = layers.end; layer-- > layers.begin;) of += " " + step_.network().layers[layer].name;
      return of;
    };
    runner_.as_span(name, true, static_cast<double>(values * sizeof(float)),
                    [&] { sum.run(sums_.fabric(), step_, layers); });
  }
  void compute() {
    const auto begin = Clock::now();
    runner_.compute();
    longest_ = std::max(longest_, seconds_since(begin));
  }
  void communicate(GradientSum& sum, std::span<const LayerRange> together) {
    const auto begin = Clock::now();
    for (const LayerRange& layers : together) run(sum, layers);
    sums_.finish();
    longest_ = std::max(longest_, seconds_since(begin));
  }
  // By the clock of the sums' queue. Where a GPU waits for the host between a mark and what it marks, that is
  // in it.
  double seconds_of_coding(GradientSum& sum, std::span<const LayerRange> together) {
    sums_.queue().begin_timing();
    communicate(sum, together);
    const Timing timing = sums_.queue().end_timing();
    return timing.phase_seconds[static_cast<size_t>(OneBitReduction::kCoding)].value_or(0);
  }
  void finish_quietly() {
    try {
      sums_.finish();
    } catch (const std::exception&) {
      return;  // the first failure is the one to tell
    }
  }
  // What is summed together is begun when the gradient of the first of its layers, which is the last one of
  // backward, is there. Returns the seconds of compute.
  double compute_and_communicate(GradientSum& sum, std::span<const LayerRange> together) {
    const auto begin = Clock::now();
    size_t next = 0;
    const auto begin_sum = [&](size_t task) {
      const StepTask& of = step_.tasks()[task];
      if (of.kind != TaskKind::backward_filter || of.layer != together[next].begin) return;
      sums_.begin_after(runner_.queue(), [this, &sum, layers = together[next]] { run(sum, layers); });
      next = std::min(next + 1, together.size() - 1);
    };
    try {
      runner_.compute(begin_sum);
    } catch (...) {
      finish_quietly();  // sums under way use this object
      throw;
    }
    const double seconds = seconds_since(begin);
    sums_.finish();
    return seconds;
  }

  static void settle(StepRow& row, bool has_right_sums) {
    if (!*row.identical_bits)
      call_wrong(row, {"ranks_differ", "the summed gradients are not the same on all ranks"});
    else if (!row.exact.value_or(true))
      call_wrong(row, {"inexact_integers", "sums of small integers in the gradients' place are wrong"});
    else if (!has_right_sums)
      call_wrong(row, {"wrong_sums", "the summed gradients are not the sums of the ranks' gradients"});
  }

  bool sums_integers_exactly(GradientSum& sum, std::span<const LayerRange> together) {
    std::vector<float> values(step_.gradients().size());
    for (size_t i = 0; i < values.size(); ++i) values[i] = integer_summand(kSeed, fabric_.rank(), i);
    step_.write_gradients(values);
    communicate(sum, together);
    std::ranges::fill(values, 0.0F);
    for (int rank = 0; rank < fabric_.size(); ++rank)
      for (size_t i = 0; i < values.size(); ++i) values[i] += integer_summand(kSeed, rank, i);
    return largest_over_ranks(fabric_, values == step_.read_gradients() ? 0 : 1) == 0;
  }

  // The gradient of the mean loss of all images, of which each rank has that of its own.
  void average() {
    runner_.as_span([] { return std::string("average gradients"); }, false, 0,
                    [&] {
                      enqueue_scale(device_.info().kind, step_.gradients(),
                                    1 / static_cast<float>(fabric_.size()), runner_.queue());
                      runner_.queue().synchronize();
                    });
  }

  static double squares_of(std::span<const float> values) {
    double squares = 0;
    for (const double value : values) squares += value * value;
    return squares;
  }
  // Up to the order in which threads add.
  static bool are_near(std::span<const float> a, std::span<const float> b) {
    double difference = 0, squares = 0;
    for (size_t i = 0; i < a.size(); ++i) {
      difference += std::pow(double{a[i]} - b[i], 2);
      squares += double{a[i]} * a[i];
    }
    return difference <= std::pow(kSameSums, 2) * squares;
  }

  std::vector<size_t> sampled_places() const {
    std::vector<size_t> places;
    const auto all = static_cast<int64_t>(step_.gradients().size());
    for (size_t i = 0; i < kSampled; ++i) places.push_back(static_cast<size_t>(random_below(7, i, all)));
    return places;
  }
  static std::vector<float> at(std::span<const size_t> places, std::span<const float> all) {
    std::vector<float> values;
    for (size_t place : places) values.push_back(all[place]);
    return values;
  }

  TrainingStep& step_;
  Device& device_;
  Fabric& fabric_;
  RankSums& sums_;
  StepRunner runner_;
  bool records_spans_;
  double longest_ = 0;
};

void fill_in(StepRow& row, const RankedStep::Series& series, const GradientSum& sum,
             const TrainingStep& step) {
  const Statistics whole = summarise(series.step);
  row.schedule.step_seconds = whole.median;
  row.lowest = whole.ci_low;
  row.highest = whole.ci_high;
  if (!series.spans.empty()) row.schedule.spans = series.spans[nearest_to_median(series.step)];
  row.schedule.compute_seconds = summarise(series.compute).median;
  row.schedule.communication_seconds = summarise(series.communication).median;
  row.codec_seconds = series.coding.empty() ? 0 : summarise(series.coding).median;
  if (!series.beside.empty()) row.compute_beside_seconds = summarise(series.beside).median;
  row.samples = static_cast<int64_t>(series.step.size());
  row.schedule.reductions = static_cast<int64_t>(summed_together(step, row.of.overlap).size());
  row.gradient_bytes = static_cast<double>(step.gradients().size_bytes());
  row.busiest_bytes = sum.busiest_bytes();
}

// The sum of each row that can be run, verified; a row without memory for its own on one rank is refused on
// all.
std::vector<std::unique_ptr<GradientSum>> verified_sums(RankedStep& ranked, RankSums& rank_sums,
                                                        const TrainingStep& step, Fabric& fabric,
                                                        std::span<StepRow> rows) {
  std::vector<std::unique_ptr<GradientSum>> sums(rows.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].outcome != RowOutcome::good) continue;
    try {
      sums[i] = rank_sums.make(rows[i].of, step);
    } catch (const std::bad_alloc&) {
      sums[i].reset();  // the row is refused, on all ranks
    }
    if (largest_over_ranks(fabric, sums[i] ? 0 : 1) > 0) {
      refuse(rows[i], {"out_of_memory",
                       "a rank has no memory for what this sum keeps; take a smaller batch, or fewer of them "
                       "at once"});
      sums[i].reset();
    } else {
      ranked.verify(rows[i], *sums[i]);
    }
  }
  return sums;
}

}  // namespace

void measure_ranked_step(TrainingStep& step, const Registry& registry, Device& device, Fabric& fabric,
                         RankSums& rank_sums, const MeasureStepOptions& options, std::span<StepRow> rows,
                         TrainingStep* whole, const RankedStepCalls& calls) {
  if (const auto why = lacks_memory(step, nullptr, device, fabric)) return refuse_all(rows, *why);
  if (const auto why = lacks_memory(step, whole, device, fabric)) {
    whole = nullptr;
    for (StepRow& row : rows)
      if (row.outcome == RowOutcome::good)
        row.note = "no speed-up: with the one that rank 0 runs by itself " + why->note;
  }
  RankedStep ranked(step, registry, device, fabric, rank_sums, options, calls.records_spans);
  std::optional<StepRunner> alone;
  while_others_wait(fabric, [&](const auto& begin_part) {
    if (whole != nullptr) alone.emplace(*whole, registry, device, with_signs(with_one(options), begin_part));
  });
  // From here on the others wait for sums and steps alone.
  const bool has_whole = largest_over_ranks(fabric, whole != nullptr ? 1 : 0) > 0;
  options.progress(std::string(kSummingGradients));
  const auto run_alone = [&] {
    if (!alone) return;
    alone->compute();
    alone->update();
  };
  Samples of_one;
  int64_t of_one_disturbed = 0;
  std::vector<RankedStep::Series> series(rows.size());
  const auto sums = verified_sums(ranked, rank_sums, step, fabric, rows);
  ranked.warm_up();
  const auto before = Clock::now();
  run_alone();
  if (calls.paced) calls.paced(largest_over_ranks(fabric, std::max(ranked.longest(), seconds_since(before))));
  const auto fill_in_all = [&] {
    for (size_t i = 0; i < rows.size(); ++i) {
      if (rows[i].outcome != RowOutcome::good) continue;
      fill_in(rows[i], series[i], *sums[i], step);
      if (has_whole) rows[i].alone_seconds = summarise(of_one).median;
      rows[i].disturbed = series[i].disturbed + of_one_disturbed;
    }
  };
  const auto begin = Clock::now();
  auto kept = begin;
  for (int64_t round = 0; round < kMaxRounds; ++round) {
    // By its clock and its limit: another rank may have been given another.
    if (as_rank_0(fabric, round >= kMinRounds && seconds_since(begin) > options.seconds)) break;
    for (size_t i = 0; i < rows.size(); ++i)
      if (rows[i].outcome == RowOutcome::good) ranked.measure_round(rows[i].of, *sums[i], series[i]);
    if (has_whole)
      of_one.push_back(rank_sums.slowest(alone ? std::function(run_alone) : nullptr, of_one_disturbed));
    if (!calls.keep || seconds_since(kept) < kKeepSeconds) continue;
    fill_in_all();
    calls.keep();
    kept = Clock::now();
  }
  fill_in_all();
}

}  // namespace convscope
