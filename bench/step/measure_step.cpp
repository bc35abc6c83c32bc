#include "bench/step/measure_step.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>

#include "bench/core/random.hpp"
#include "bench/core/stopwatch.hpp"
#include "bench/measure/statistics.hpp"
#include "bench/step/step_sampler.hpp"

namespace convscope {
namespace {

constexpr double kTuningShare = 0.5;   // of the seconds
constexpr double kCorePatience = 0.1;  // of the seconds, for threads to get cores of their own
// How far check_gradient() goes, as a share of the loss that it then changes by.
constexpr double kGradientStep = 1e-3;

double sum(const Samples& samples) {
  return std::accumulate(samples.begin(), samples.end(), 0.0);
}

std::unique_ptr<Queue> queue_of(Device& device) {
  auto queue = device.make_queue();
  queue->mark_phases(false);
  return queue;
}

class StepMeasurement {
 public:
  StepMeasurement(TrainingStep& step, const Registry& registry, Device& device,
                  const MeasureStepOptions& options)
      : step_(step),
        device_(device),
        options_(options),
        queue_(queue_of(device)),
        candidates_(step, registry, device, *queue_, options),
        sampler_(make_step_sampler(device, options.known_cores, kCorePatience * options.seconds)) {
    for (size_t task = 0; task < step.tasks().size(); ++task) {
      TaskTimes times;
      for (const StepCandidate& one : candidates_[task].all)
        times.tuned.push_back(
            {one.id, one.plan->implementation(), one.workspace_bytes, one.relative_l2, {}, {}});
      times.left_out = candidates_[task].left_out;
      times_.tasks.push_back(std::move(times));
      // The candidates' step was without its updates, whose first launch loads them.
      if (step.tasks()[task].kind == TaskKind::update) step.run(task, nullptr, nullptr, *queue_);
    }
  }

  StepTimes all() {
    times_.directional_error = check_gradient(step_, candidates_.plans(winners(&TaskTimes::winner_inside)),
                                              candidates_.arena(), *queue_);
    const auto measuring = Clock::now();
    if (!options_.choose) tune(kTuningShare * options_.seconds);
    compare(options_.seconds - seconds_since(measuring));
    times_.loss = step_.loss();
    times_.disturbed = sampler_->disturbed();
    return std::move(times_);
  }

 private:
  using Choice = std::vector<size_t>;  // of `all` of each task

  Choice winners(size_t TaskTimes::*winner) const {
    Choice choice;
    for (const TaskTimes& task : times_.tasks) choice.push_back(task.*winner);
    return choice;
  }
  // The winners inside, but of those with a separate epilogue wherever there is one; the winners themselves
  // where there is none at all.
  Choice separate_winners() const {
    Choice choice = winners(&TaskTimes::winner_inside);
    for (size_t task = 0; task < choice.size(); ++task)
      choice[task] = times_.tasks[task].winner_separate.value_or(choice[task]);
    return choice;
  }
  // A task outside the step.
  Samples timed(size_t task, Plan* plan) {
    queue_->begin_timing();
    step_.run(task, plan, candidates_.arena(), *queue_);
    return {queue_->end_timing().seconds};
  }

  void evict(size_t task, const Plan* plan, const void* workspace) {
    std::vector<std::span<const std::byte>> memory = step_.memory_of(task);
    if (plan != nullptr)
      memory.emplace_back(static_cast<const std::byte*>(workspace),
                          static_cast<size_t>(plan->workspace_bytes()));
    sampler_->evict(memory, *queue_);
  }

  enum class How { as_it_runs, evicted, own_workspace };

  // The seconds of each task of a step. `clocks`: the clock right after each convolution.
  Samples run_step(const Choice& choice, How how, std::vector<double>* clocks = nullptr) {
    const std::vector<Plan*> chosen = candidates_.plans(choice);
    const bool reads_clocks = clocks != nullptr && sampler_->has_clock_between_tasks();
    queue_->begin_timing();
    for (size_t task = 0; task < chosen.size(); ++task) {
      void* const workspace =
          how == How::own_workspace && chosen[task] ? own_[task].data() : candidates_.arena();
      if (how == How::evicted) evict(task, chosen[task], workspace);
      queue_->lap();
      step_.run(task, chosen[task], workspace, *queue_);
      queue_->lap();
      if (reads_clocks) clocks->push_back(chosen[task] ? sampler_->clock_mhz().value_or(0) : 0);
    }
    const Samples laps = queue_->end_timing().lap_seconds;
    if (clocks != nullptr && !reads_clocks) clocks->assign(chosen.size(), sampler_->clock_mhz().value_or(0));
    Samples seconds;
    for (size_t lap = 1; lap < laps.size(); lap += 2) seconds.push_back(laps[lap]);
    return seconds;
  }

  Samples quiet_step(const Choice& choice, How how, std::vector<double>* clocks = nullptr) {
    options_.alive();
    return sampler_->take(
        [&] {
          if (clocks != nullptr) clocks->clear();
        },
        [&] { return run_step(choice, how, clocks); });
  }

  // A task outside the step, its caches emptied before.
  double quiet_alone(size_t task, Plan* plan) {
    options_.alive();
    return sampler_->take([&] { evict(task, plan, candidates_.arena()); }, [&] { return timed(task, plan); })
        .front();
  }

  // A candidate alone with caches emptied before, and once more beside the load where there is one.
  void tune_alone(size_t task, size_t which) {
    TunedCandidate& tuned = times_.tasks[task].tuned[which];
    Plan* const plan = candidates_[task].all[which].plan.get();
    tuned.alone.push_back(quiet_alone(task, plan));
    if (!load_) return;
    load_->start();
    tuned.under_load.push_back(quiet_alone(task, plan));
    load_->stop();
  }

  // In another order each round, so that none always runs behind the same one.
  void tune_each_alone(size_t task) {
    std::vector<size_t> order(times_.tasks[task].tuned.size());
    if (order.size() < 2) return;
    std::iota(order.begin(), order.end(), size_t{0});
    shuffle(order, options_.seed, draws_);
    for (const size_t which : order) tune_alone(task, which);
  }

  // A step in which each task takes the next of its candidates, from another one each round.
  void tune_inside(int64_t round, size_t turn) {
    Choice choice(times_.tasks.size(), 0);
    for (size_t task : convolutions(step_)) {
      const size_t all = candidates_[task].all.size();
      const auto shift = random_below(options_.seed, task * kMaxRounds + static_cast<uint64_t>(round),
                                      static_cast<int64_t>(all));
      choice[task] = (turn + static_cast<size_t>(shift)) % all;
    }
    const Samples sample = quiet_step(choice, How::as_it_runs);
    for (size_t task : convolutions(step_)) {
      std::vector<TunedCandidate>& tuned = times_.tasks[task].tuned;
      if (tuned.size() > 1) tuned[choice[task]].inside.push_back(sample[task]);
    }
  }

  void tune(double seconds) {
    size_t most = 1;
    for (size_t task : convolutions(step_)) most = std::max(most, candidates_[task].all.size());
    if (most == 1) return;
    if (options_.load) load_ = make_memory_load(*options_.load, options_.plan.threads, device_);
    times_.tuning_rounds = run_rounds("tuning", seconds, [&](int64_t round) {
      for (size_t task : convolutions(step_)) tune_each_alone(task);
      for (size_t turn = 0; turn < most; ++turn) tune_inside(round, turn);
    });
    if (load_) times_.load_bytes_per_second = load_->measured_rate();
    load_.reset();
    for (size_t task : convolutions(step_)) choose_winners(times_.tasks[task], candidates_[task].all);
  }

  static void choose_winners(TaskTimes& times, const std::vector<StepCandidate>& candidates) {
    if (times.tuned.size() == 1) return;
    const auto winner = [&](Samples TunedCandidate::*series) {
      const auto best = std::ranges::min_element(
          times.tuned, {}, [&](const TunedCandidate& one) { return median_of(one.*series); });
      return static_cast<size_t>(best - times.tuned.begin());
    };
    times.winner_alone = winner(&TunedCandidate::alone);
    times.winner_inside = winner(&TunedCandidate::inside);
    times.winner_under_load = winner(&TunedCandidate::under_load);
    std::optional<size_t>& separate = times.winner_separate;
    for (size_t i = 0; i < candidates.size(); ++i)
      if (candidates[i].is_separate &&
          (!separate || median_of(times.tuned[i].inside) < median_of(times.tuned[*separate].inside)))
        separate = i;
  }

  void prepare_own_workspaces() {
    int64_t bytes = 0;
    const Choice choice = winners(&TaskTimes::winner_inside);
    for (size_t task : convolutions(step_)) bytes += candidates_[task].all[choice[task]].workspace_bytes;
    has_own_workspaces_ = bytes < device_.usable_bytes() / 4;
    if (!has_own_workspaces_) return;
    own_.resize(choice.size());
    for (size_t task : convolutions(step_))
      own_[task] = Buffer(device_, static_cast<size_t>(candidates_[task].all[choice[task]].workspace_bytes));
  }

  void add_step(Samples TaskTimes::*series, const Samples& sample) {
    for (size_t task = 0; task < sample.size(); ++task) (times_.tasks[task].*series).push_back(sample[task]);
  }

  // A step as it runs; its sum goes beside those of the winners alone and of separate epilogues, whose steps
  // are run right before and after it.
  void compare_steps(const Choice& inside, const Choice& alone, const Choice& separate, bool alone_first) {
    const auto run_alone_winners = [&] {
      if (alone != inside) times_.step_of_winners_alone.push_back(sum(quiet_step(alone, How::as_it_runs)));
    };
    const auto run_separate = [&] {
      if (!has_separate_) return;
      const Samples sample = quiet_step(separate, How::as_it_runs);
      add_step(&TaskTimes::separate, sample);
      times_.step_of_separate.push_back(sum(sample));
    };
    if (alone_first)
      run_alone_winners();
    else
      run_separate();
    Samples clocks;
    const Samples sample = quiet_step(inside, How::as_it_runs, &clocks);
    add_step(&TaskTimes::inside, sample);
    add_step(&TaskTimes::clock_inside, clocks);
    times_.step.push_back(sum(sample));
    if (alone_first)
      run_separate();
    else
      run_alone_winners();
  }

  void run_alone(const Choice& inside) {
    for (size_t task : convolutions(step_)) {
      Plan* const plan = candidates_[task].all[inside[task]].plan.get();
      TaskTimes& times = times_.tasks[task];
      times.alone_cold.push_back(quiet_alone(task, plan));
      times.clock_alone.push_back(sampler_->clock_mhz().value_or(0));
      times.alone_hot.push_back(sampler_->take([] {}, [&] { return timed(task, plan); }).front());
    }
  }

  // A round has every circumstance once, from another one each round.
  void compare(double seconds) {
    prepare_own_workspaces();
    const Choice inside = winners(&TaskTimes::winner_inside), alone = winners(&TaskTimes::winner_alone),
                 separate = separate_winners();
    has_separate_ = std::ranges::any_of(
        times_.tasks, [](const TaskTimes& task) { return task.winner_separate.has_value(); });
    if (has_own_workspaces_) run_step(inside, How::own_workspace);  // pages are there before they are timed
    run_rounds("comparing", seconds, [&](int64_t round) {
      for (int64_t turn = round; turn < round + 4; ++turn) switch (turn % 4) {
          case 0:
            compare_steps(inside, alone, separate, round % 2 == 0);
            break;
          case 1:
            add_step(&TaskTimes::evicted, quiet_step(inside, How::evicted));
            break;
          case 2:
            if (has_own_workspaces_)
              add_step(&TaskTimes::own_workspace, quiet_step(inside, How::own_workspace));
            break;
          default:
            run_alone(inside);
        }
    });
  }

  // Rounds until another one as long as those before would take more than the seconds, but kMinRounds; where
  // the user stopped, one.
  template <typename Round>
  int64_t run_rounds(std::string_view stage, double seconds, Round one) {
    const auto begin = Clock::now();
    int64_t done = 0;
    while (done < kMaxRounds) {
      const double next = seconds_since(begin) * static_cast<double>(done + 1);
      if (done >= kMinRounds && next > seconds * static_cast<double>(done)) break;
      if (done > 0 && options_.stopped()) break;
      options_.progress(fmt::format("{}, round {}", stage, done + 1));
      one(done++);
    }
    return done;
  }

  TrainingStep& step_;
  Device& device_;
  const MeasureStepOptions& options_;
  std::unique_ptr<Queue> queue_;
  StepCandidates candidates_;
  std::unique_ptr<StepSampler> sampler_;
  std::unique_ptr<MemoryLoad> load_;  // while tuning
  bool has_own_workspaces_ = false, has_separate_ = false;
  std::vector<Buffer> own_;  // by task
  StepTimes times_;
  uint64_t draws_ = 0;
};

void run_tasks(TrainingStep& step, const std::vector<Plan*>& plans, void* workspace, Queue& queue,
               bool forward_only) {
  for (size_t task = 0; task < plans.size(); ++task) {
    const TaskKind kind = step.tasks()[task].kind;
    const bool is_forward = kind == TaskKind::forward || kind == TaskKind::operation_forward ||
                            kind == TaskKind::concat || kind == TaskKind::loss;
    if (kind != TaskKind::update && (is_forward || !forward_only))
      step.run(task, plans[task], workspace, queue);
  }
  queue.synchronize();
}

}  // namespace

double median_of(const Samples& samples) {
  return summarise(samples).median;
}

StepTimes measure_step(TrainingStep& step, const Registry& registry, Device& device,
                       const MeasureStepOptions& options) {
  return StepMeasurement(step, registry, device, options).all();
}

double check_gradient(TrainingStep& step, const std::vector<Plan*>& plans, void* workspace, Queue& queue) {
  run_tasks(step, plans, workspace, queue, false);
  const double loss = step.loss();
  std::vector<float> direction = step.read_gradients();
  const std::vector<float> parameters = step.read_parameters();
  double derivative = 0;
  for (size_t layer = 0; layer < step.network().layers.size(); ++layer) {
    const auto [first, count] = step.parameters_of(layer);
    double squares = 0;
    for (size_t i = first; i < first + count; ++i) squares += double{direction[i]} * direction[i];
    const double length = std::sqrt(squares);
    derivative += length;
    for (size_t i = first; i < first + count && length > 0; ++i)
      direction[i] = static_cast<float>(direction[i] / length);
  }
  if (derivative == 0) return 0;
  // Small against the loss's curvature, large against the rounding of f32 activations.
  const double distance = kGradientStep * loss / derivative;
  const auto loss_at = [&](double way) {
    std::vector<float> moved(parameters.size());
    for (size_t i = 0; i < parameters.size(); ++i)
      moved[i] = static_cast<float>(parameters[i] + way * direction[i]);
    step.write_parameters(moved);
    run_tasks(step, plans, workspace, queue, true);
    return step.loss();
  };
  const double difference = loss_at(distance) - loss_at(-distance);
  step.write_parameters(parameters);
  return std::abs(difference / (2 * distance) - derivative) / derivative;
}

}  // namespace convscope
