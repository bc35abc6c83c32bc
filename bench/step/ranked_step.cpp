#include "bench/step/ranked_step.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "bench/core/random.hpp"
#include "bench/core/stopwatch.hpp"
#include "bench/measure/statistics.hpp"
#include "bench/step/gradient_sum.hpp"

namespace convscope {
namespace {

constexpr size_t kSampled = 256;  // gradients that are compared with sums in f64

// The index in options.algorithms of what rank 0 takes for each convolution.
std::vector<float> choice_of_rank_0(TrainingStep& step, const Registry& registry, Device& device,
                                    Queue& queue, Fabric& fabric, const CandidateOptions& options) {
  std::vector<float> choice(step.tasks().size(), 0);
  if (fabric.rank() == 0) {
    CandidateOptions fastest = options;
    fastest.most = 1;
    const StepCandidates candidates(step, registry, device, queue, fastest);
    for (size_t task : convolutions(step)) {
      const auto found = std::ranges::find(options.algorithms, candidates[task].all.front().id);
      choice[task] = static_cast<float>(found - options.algorithms.begin());
    }
  }
  const std::vector<float> all = gathered(fabric, choice);
  return {all.begin(), all.begin() + static_cast<std::ptrdiff_t>(choice.size())};
}

class RankedStep {
 public:
  RankedStep(TrainingStep& step, const Registry& registry, Device& device, Fabric& fabric,
             const MeasureStepOptions& options)
      : step_(step),
        fabric_(fabric),
        queue_(device.make_queue()),
        candidates_(step, registry, device, *queue_, as_rank_0(registry, device, options)),
        plans_(candidates_.plans(std::vector<size_t>(step.tasks().size(), 0))) {}

  // `sum` is a new one, which keeps nothing of an earlier step.
  void verify(StepRow& row, GradientSum& sum) {
    compute();
    const std::vector<size_t> places = sampled_places();
    const std::vector<float> gradients = gathered(fabric_, at(places));
    sum.run(fabric_, step_);
    const std::vector<float> kept = gathered(fabric_, sum.kept(places)), sums = at(places);
    uint64_t hash = 0;
    for (float value : step_.gradients()) hash = random_bits(hash, std::bit_cast<uint32_t>(value));
    row.identical_bits = same_on_all_ranks(fabric_, hash);
    const auto ranks = static_cast<size_t>(fabric_.size());
    double excess = 0, error = 0, squares = 0;
    for (size_t i = 0; i < places.size(); ++i) {
      double whole = 0, passed_on = 0, magnitude = 0;
      for (size_t rank = 0; rank < ranks; ++rank) {
        const double own = gradients[rank * places.size() + i], held = kept[rank * places.size() + i];
        whole += own;
        passed_on += own - held;
        magnitude += std::abs(own) + std::abs(held);
      }
      const double roundings = static_cast<double>(ranks - 1) + sum.roundings();
      excess = std::max(excess, std::abs(sums[i] - passed_on) - roundings * 0x1p-24 * magnitude);
      error += (sums[i] - whole) * (sums[i] - whole);
      squares += whole * whole;
    }
    row.reduce_relative_l2 = squares > 0 ? std::sqrt(error / squares) : 0;
    if (*row.identical_bits && excess <= 0 && squares > 0) return;
    row.outcome = RowOutcome::wrong;
    row.reason = *row.identical_bits ? "wrong_sums" : "ranks_differ";
    row.note = *row.identical_bits ? "the summed gradients are not the sums of the ranks' gradients"
                                   : "the summed gradients are not the same on all ranks";
  }

  struct Series {
    Samples step, compute, communication;
  };
  // A round: the step, its compute alone and its sum alone.
  void measure_round(GradientSum& sum, Series& series) {
    series.step.push_back(slowest([&] {
      compute();
      sum.run(fabric_, step_);
      average();
      update();
    }));
    series.compute.push_back(slowest([&] {
      compute();
      update();
    }));
    series.communication.push_back(slowest([&] { sum.run(fabric_, step_); }));
  }

 private:
  CandidateOptions as_rank_0(const Registry& registry, Device& device, const MeasureStepOptions& options) {
    const std::vector<float> choice = choice_of_rank_0(step_, registry, device, *queue_, fabric_, options);
    CandidateOptions same = options;
    same.choose = [this, choice, ids = options.algorithms](
                      const ConvProblem& problem, const TaskCandidates& found) -> std::optional<size_t> {
      for (size_t task : convolutions(step_))
        if (step_.tasks()[task].problem == problem)
          for (size_t i = 0; i < found.all.size(); ++i)
            if (found.all[i].id == ids[static_cast<size_t>(choice[task])]) return i;
      return std::nullopt;
    };
    return same;
  }

  template <typename Work>
  double slowest(Work work) {
    largest_over_ranks(fabric_, 0);  // a barrier
    const auto begin = Clock::now();
    work();
    return largest_over_ranks(fabric_, seconds_since(begin));
  }

  void run(bool updates) {
    for (size_t task = 0; task < plans_.size(); ++task)
      if ((step_.tasks()[task].kind == TaskKind::update) == updates)
        step_.run(task, plans_[task], candidates_.arena(), *queue_);
  }
  void compute() { run(false); }
  void update() { run(true); }

  // The gradient of the mean loss of all images, of which each rank has that of its own.
  void average() {
    const float share = 1 / static_cast<float>(fabric_.size());
    const std::span<float> all = step_.gradients();
#pragma omp parallel for simd schedule(static)
    for (size_t i = 0; i < all.size(); ++i) all[i] *= share;
  }

  std::vector<size_t> sampled_places() const {
    std::vector<size_t> places;
    const auto all = static_cast<int64_t>(step_.gradients().size());
    for (size_t i = 0; i < kSampled; ++i) places.push_back(static_cast<size_t>(random_below(7, i, all)));
    return places;
  }
  std::vector<float> at(std::span<const size_t> places) const {
    std::vector<float> values;
    for (size_t place : places) values.push_back(step_.gradients()[place]);
    return values;
  }

  TrainingStep& step_;
  Fabric& fabric_;
  std::unique_ptr<Queue> queue_;
  StepCandidates candidates_;
  std::vector<Plan*> plans_;
};

void fill_in(StepRow& row, const RankedStep::Series& series, const GradientSum& sum, double gradient_bytes) {
  const Statistics step = summarise(series.step);
  row.schedule.step_seconds = step.median;
  row.lowest = step.ci_low;
  row.highest = step.ci_high;
  row.schedule.compute_seconds = summarise(series.compute).median;
  row.schedule.communication_seconds = summarise(series.communication).median;
  row.schedule.reductions = 1;
  row.gradient_bytes = gradient_bytes;
  row.busiest_bytes = sum.busiest_bytes();
}

}  // namespace

void measure_ranked_step(TrainingStep& step, const Registry& registry, Device& device, Fabric& fabric,
                         const MeasureStepOptions& options, std::span<StepRow> rows) {
  RankedStep ranked(step, registry, device, fabric, options);
  std::vector<RankedStep::Series> series(rows.size());
  std::vector<std::unique_ptr<GradientSum>> sums(rows.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].outcome != RowOutcome::good) continue;
    sums[i] = gradient_sum(rows[i].of, step, fabric.rank());
    ranked.verify(rows[i], *sums[i]);
  }
  const auto begin = Clock::now();
  for (int64_t round = 0; round < kMostRounds; ++round) {
    // Rank 0's clock decides for all.
    const double spent = fabric.rank() == 0 ? seconds_since(begin) : 0;
    if (largest_over_ranks(fabric, spent) > options.seconds && round >= kFewestRounds) break;
    for (size_t i = 0; i < rows.size(); ++i)
      if (rows[i].outcome == RowOutcome::good) ranked.measure_round(*sums[i], series[i]);
  }
  for (size_t i = 0; i < rows.size(); ++i)
    if (rows[i].outcome == RowOutcome::good)
      fill_in(rows[i], series[i], *sums[i], static_cast<double>(step.gradients().size_bytes()));
}

}  // namespace convscope
