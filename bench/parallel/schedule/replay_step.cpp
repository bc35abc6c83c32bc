#include "bench/parallel/schedule/replay_step.hpp"

#include <algorithm>
#include <chrono>
#include <thread>
#include <tuple>
#include <utility>

#include "bench/core/stopwatch.hpp"
#include "bench/measure/statistics.hpp"
#include "bench/parallel/fabric/slowest_rank.hpp"

namespace convscope {
namespace {

constexpr int kMinRounds = 6, kMaxRounds = 50;  // an interval needs six

using Reductions = std::vector<ReplayedReduction>;

// A step as it was replayed: seconds of its slowest rank, and on this rank, from its begin on, when each
// reduction began and was done, and when updates began.
struct ReplayedStep {
  double seconds = 0, updates = 0;
  std::vector<std::pair<double, double>> reductions;
};

size_t values_of(const Reductions& reductions) {
  size_t all = 0;
  for (const ReplayedReduction& one : reductions) all += one.values;
  return all;
}

Clock::time_point later(Clock::time_point begin, double seconds) {
  return begin + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

// Small, so that sums of all ranks are exact.
float whole_number(int rank, size_t i) {
  return static_cast<float>((static_cast<size_t>(rank) * 5 + i) % 16);
}

class Replay {
 public:
  Replay(Fabric& fabric, const StepRow& row, const Reductions& reductions, std::span<float> gradients,
         std::span<float> scratch)
      : fabric_(fabric), row_(row), reductions_(reductions), gradients_(gradients), scratch_(scratch) {}

  // Whether the sums are exact on all ranks.
  bool is_right() {
    for (size_t i = 0; i < gradients_.size(); ++i) gradients_[i] = whole_number(fabric_.rank(), i);
    reduce_all([](const ReplayedReduction&) {}, [] {});
    bool right = true;
    for (size_t i = 0; i < gradients_.size(); ++i) {
      float sum = 0;
      for (int rank = 0; rank < fabric_.size(); ++rank) sum += whole_number(rank, i);
      right = right && gradients_[i] == sum;
    }
    std::ranges::fill(gradients_, 0.F);  // sums of sums would grow without limit
    return largest_over_ranks(fabric_, right ? 0 : 1) == 0;
  }

  ReplayedStep step() {
    ReplayedStep step;
    step.seconds = slowest_rank(fabric_, [&](Clock::time_point begin) {
      reduce_all(
          [&](const ReplayedReduction& one) {
            std::this_thread::sleep_until(later(begin, one.ready));
            step.reductions.emplace_back(seconds_since(begin), 0);
          },
          [&] { step.reductions.back().second = seconds_since(begin); });
      const double update = row_.schedule.update_seconds;
      std::this_thread::sleep_until(later(begin, row_.schedule.compute_seconds - update));
      step.updates = seconds_since(begin);
      if (update > 0) std::this_thread::sleep_for(std::chrono::duration<double>(update));
    });
    return step;
  }
  double communication() {
    return slowest_rank(fabric_,
                        [&](Clock::time_point) { reduce_all([](const ReplayedReduction&) {}, [] {}); });
  }

 private:
  template <typename Before, typename After>
  void reduce_all(const Before& before, const After& after) {
    size_t at = 0;
    for (const ReplayedReduction& one : reductions_) {
      before(one);
      all_reduce(row_.of.reduction, fabric_, gradients_.subspan(at, one.values), scratch_,
                 row_.of.fleet.ranks);
      at += one.values;
      if (one.codec_seconds > 0)
        std::this_thread::sleep_for(std::chrono::duration<double>(one.codec_seconds));
      after();
    }
  }

  Fabric& fabric_;
  const StepRow& row_;
  const Reductions& reductions_;
  std::span<float> gradients_, scratch_;
};

// Moves the spans of a schedule whose reductions took no time to where they were in `step`.
void place(Schedule& schedule, const ReplayedStep& step) {
  auto reduction = step.reductions.begin();
  for (Span& span : schedule.spans)
    if (span.is_communication && reduction != step.reductions.end())
      std::tie(span.begin, span.end) = *reduction++;
  if (schedule.update_seconds > 0 && !schedule.spans.empty())
    schedule.spans.back() = {"update", false, step.updates, step.updates + schedule.update_seconds, 0};
}

void fill_in(StepRow& row, std::span<const ReplayedStep> steps, std::span<const double> communication) {
  std::vector<double> seconds;
  for (const ReplayedStep& step : steps) seconds.push_back(step.seconds);
  const Statistics step = summarise(seconds);
  row.schedule.step_seconds = step.median;
  row.lowest = step.ci_low;
  row.highest = step.ci_high;
  row.schedule.communication_seconds = row.of.fleet.ranks.count == 1 ? 0 : summarise(communication).median;
  place(row.schedule, steps[nearest_to_median(seconds)]);
}

}  // namespace

std::vector<ReplayedReduction> replayed_reductions(const StepCase& of, std::span<const StepLayer> layers,
                                                   const Scope& scope) {
  const StepWork work = step_work(layers, scope, of.batch_per_gpu(), of.choose);
  std::vector<ReplayedReduction> reductions;
  for (const Bucket& bucket : buckets(work.layers, of.overlap))
    reductions.push_back({bucket.ready,
                          static_cast<size_t>(std::ceil(reduced_bytes(of, bucket.layers) / sizeof(float))),
                          codec_seconds(of, bucket.layers)});
  return reductions;
}

void replay_steps(Fabric& fabric, double seconds, std::span<const std::vector<ReplayedReduction>> reductions,
                  std::span<StepRow> rows) {
  size_t most_values = 0, most_scratch = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (!rows[i].has_time()) continue;
    most_values = std::max(most_values, values_of(reductions[i]));
    for (const ReplayedReduction& one : reductions[i])
      most_scratch =
          std::max(most_scratch, scratch_values(rows[i].of.reduction, one.values, rows[i].of.fleet.ranks));
  }
  std::vector<float> gradients(most_values), scratch(most_scratch);
  std::vector<std::vector<ReplayedStep>> steps(rows.size());
  std::vector<std::vector<double>> communication(rows.size());
  const auto replay = [&](size_t i) {
    return Replay(fabric, rows[i], reductions[i], std::span(gradients).first(values_of(reductions[i])),
                  scratch);
  };
  for (size_t i = 0; i < rows.size(); ++i) {
    if (!rows[i].has_time() || replay(i).is_right()) continue;
    call_wrong(rows[i], {"inexact_integers", "a sum of whole numbers was not exact on every rank"});
  }
  const auto begin = Clock::now();
  for (int round = 0; round < kMaxRounds; ++round) {
    // By its clock and its limit: another rank may have been given another.
    if (as_rank_0(fabric, round >= kMinRounds && seconds_since(begin) > seconds)) break;
    for (size_t i = 0; i < rows.size(); ++i) {
      if (!rows[i].has_time()) continue;
      steps[i].push_back(replay(i).step());
      communication[i].push_back(replay(i).communication());
    }
  }
  for (size_t i = 0; i < rows.size(); ++i)
    if (rows[i].has_time()) fill_in(rows[i], steps[i], communication[i]);
}

}  // namespace convscope
