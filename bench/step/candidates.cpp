#include "bench/step/candidates.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <new>

#include "bench/core/error.hpp"
#include "bench/device/device_error.hpp"
#include "bench/verify/fast_reference.hpp"
#include "bench/verify/tensor_index.hpp"
#include "bench/verify/verification.hpp"

namespace convscope {
namespace {

constexpr int64_t kSampledOutputs = 256;
// A candidate that took this many times the fastest one's time when checked is left out.
constexpr double kTooSlow = 2;

// The values of a device's tensor: on the CPU where they are, of another device a copy.
class OnHost {
 public:
  OnHost(Device& device, const void* data, int64_t count) : data_(static_cast<const float*>(data)) {
    if (device.info().kind == DeviceKind::cpu || data == nullptr) return;
    copy_.resize(static_cast<size_t>(count));
    device.copy_to_host(copy_.data(), data, copy_.size() * sizeof(float));
    data_ = copy_.data();
  }
  const float* data() const { return data_; }

 private:
  const float* data_;
  std::vector<float> copy_;
};

// A convolution's tensors after it ran.
struct RunTensors {
  RunTensors(Device& device, const ConvProblem& problem, const ConvArgs& args)
      : input(device, args.input, problem.elements(Role::input)),
        filter(device, args.filter, problem.elements(Role::filter)),
        output(device, args.output, problem.elements(Role::output)),
        bias(device, args.bias, problem.out_channels) {}
  const float* written(const ConvProblem& problem) const {
    const Role role = written_role(problem.pass);
    return (role == Role::input ? input : role == Role::filter ? filter : output).data();
  }
  OnHost input, filter, output, bias;
};

// The relative L2 error of a sample of what the pass wrote.
double sampled_error(const ConvProblem& problem, const RunTensors& tensors, uint64_t seed) {
  const float *const written = tensors.written(problem), *const biases = tensors.bias.data();
  const TensorShape shape = problem.shape(written_role(problem.pass));
  const FastReference reference(problem, tensors.input.data(), tensors.filter.data(), tensors.output.data());
  const std::vector<TensorIndex> sample = sample_outputs(problem, kSampledOutputs, seed);
  double error = 0, norm = 0;
#pragma omp parallel for schedule(dynamic, 4) reduction(+ : error, norm)
  for (size_t i = 0; i < sample.size(); ++i) {
    const double bias = biases == nullptr ? 0 : biases[sample[i][1]];
    const double expected = with_epilogue(reference.at(sample[i]), problem.epilogue, bias).value;
    const double difference = written[offset_of(shape, sample[i])] - expected;
    error += difference * difference;
    norm += expected * expected;
  }
  return norm > 0 ? std::sqrt(error / norm) : std::sqrt(error);
}

// Sorts by the time of the check and drops what is too slow or too many, but the fastest of each form.
void keep_fast(TaskCandidates& found, size_t most) {
  std::ranges::stable_sort(found.all, {}, &StepCandidate::checked_seconds);
  const double fastest = found.all.front().checked_seconds;
  std::array<size_t, 2> kept{};  // of fused and of separate ones
  std::erase_if(found.all, [&](const StepCandidate& one) {
    size_t& of_form = kept[one.is_separate ? 1 : 0];
    if (of_form == 0 || (of_form < most && one.checked_seconds <= kTooSlow * fastest)) {
      ++of_form;
      return false;
    }
    found.left_out.push_back(fmt::format("{}: {:.3g} times the fastest one's time when checked", one.id,
                                         one.checked_seconds / fastest));
    return true;
  });
}

// Those of `ids` that support and plan the problem within the workspace cap.
TaskCandidates plan_candidates(const ConvProblem& problem, const std::vector<std::string>& ids,
                               const Registry& registry, Device& device, const PlanOptions& options) {
  TaskCandidates found;
  for (const std::string& id : ids) {
    const Algorithm& algorithm = *registry.find(id);
    const bool is_separate = algorithm.info().takes_only_epilogues;
    if (is_separate && problem.epilogue == Epilogue::none) continue;
    const auto leave_out = [&](const std::string& why) { found.left_out.push_back(id + ": " + why); };
    if (const Support support = algorithm.supports(problem, device.info()); !support) {
      leave_out(support.why());
      continue;
    }
    try {
      StepCandidate candidate{id, plan_within_cap(algorithm, problem, device, options)};
      candidate.workspace_bytes = candidate.plan->workspace_bytes();
      candidate.is_separate = is_separate;
      found.all.push_back(std::move(candidate));
    } catch (const std::bad_alloc&) {
      leave_out("out of memory while planning");
    } catch (const DeviceLost&) {
      throw;
    } catch (const std::exception& fault) {
      leave_out(fault.what());
    }
  }
  return found;
}

// What a check of a candidate runs on.
struct CheckSite {
  TrainingStep& step;
  Device& device;
  Queue& queue;
  void* workspace;
  uint64_t seed;
  int timed_runs;
};

// Runs the task with the candidate on the step's tensors, the written one filled with NaN before, and
// compares a sample of it with the definition in f64. Returns what is wrong, or nothing; fills in error and
// time.
std::optional<std::string> check(const CheckSite& on, size_t task, StepCandidate& candidate,
                                 double fastest_before) {
  const ConvProblem& problem = *on.step.tasks()[task].problem;
  const ConvArgs args = on.step.args(task, on.workspace);
  const Role role = written_role(problem.pass);
  const int64_t elements = problem.elements(role);
  on.queue.synchronize();
  on.device.fill(args.tensor(role), 0xff, static_cast<size_t>(problem.bytes(role)));
  on.step.run(task, candidate.plan.get(), on.workspace, on.queue);
  on.queue.synchronize();
  {
    const RunTensors tensors(on.device, problem, args);
    const float* const written = tensors.written(problem);
    if (const auto* const hole =
            std::find_if(written, written + elements, [](float v) { return !std::isfinite(v); });
        hole != written + elements)
      return fmt::format("{} is not finite after the run",
                         element_name(role, index_of_offset(problem.shape(role), hole - written)));
    candidate.relative_l2 = sampled_error(problem, tensors, on.seed);
  }
  const double gate = accuracy_gate(problem.math);
  if (!(candidate.relative_l2 <= gate))
    return fmt::format("the relative L2 error of a sample of its outputs is {:.2g}, more than {:.2g}",
                       candidate.relative_l2, gate);
  double& shortest = candidate.checked_seconds = std::numeric_limits<double>::infinity();
  for (int run = 0; run < on.timed_runs; ++run) {
    if (run > 1 && shortest > kTooSlow * fastest_before) break;
    on.queue.begin_timing();
    on.step.run(task, candidate.plan.get(), on.workspace, on.queue);
    shortest = std::min(shortest, on.queue.end_timing().seconds);
  }
  return std::nullopt;
}

// Why the candidate is none, with "wrong" where it is; nothing where it is one.
std::optional<std::string> fault_of(const CheckSite& on, size_t task, StepCandidate& candidate,
                                    double fastest_before) {
  try {
    if (const auto wrong = check(on, task, candidate, fastest_before)) return "wrong: " + *wrong;
    return std::nullopt;
  } catch (const DeviceLost&) {
    throw;
  } catch (const std::bad_alloc&) {
    return "out of memory while checked";
  } catch (const std::exception& fault) {  // a refusal, too, of a library that sees only now that it cannot
    return fault.what();
  }
}

}  // namespace

StepCandidates::StepCandidates(TrainingStep& step, const Registry& registry, Device& device, Queue& queue,
                               const CandidateOptions& options)
    : tasks_(step.tasks().size()) {
  int64_t arena = 0;
  for (size_t task : convolutions(step)) {
    options.progress("planning " + task_name(step, task));
    tasks_[task] =
        plan_candidates(*step.tasks()[task].problem, options.algorithms, registry, device, options.plan);
    for (const StepCandidate& candidate : tasks_[task].all)
      arena = std::max(arena, candidate.workspace_bytes);
  }
  arena_ = Buffer(device, static_cast<size_t>(arena));
  // Without updates: by its own gradients a rank would leave the others.
  for (size_t task = 0; task < tasks_.size(); ++task)
    if (step.tasks()[task].problem)
      check_task(step, task, device, queue, options);
    else if (step.tasks()[task].kind != TaskKind::update)
      step.run(task, nullptr, nullptr, queue);
}

void StepCandidates::check_task(TrainingStep& step, size_t task, Device& device, Queue& queue,
                                const CandidateOptions& options) {
  TaskCandidates& found = tasks_[task];
  if (options.choose) {
    const std::optional<size_t> chosen = options.choose(*step.tasks()[task].problem, found);
    if (chosen) std::swap(found.all[0], found.all[*chosen]);
    found.all.erase(found.all.begin() + (chosen ? 1 : 0), found.all.end());
  }
  const CheckSite site{step, device, queue, arena_.data(), options.seed, options.timed_when_checked};
  double fastest = std::numeric_limits<double>::infinity();
  std::erase_if(found.all, [&](StepCandidate& candidate) {
    if (options.stopped())
      throw StoppedEarly("stopped before every candidate was checked: nothing was measured");
    options.progress(fmt::format("checking {} {}", task_name(step, task), candidate.id));
    const auto fault = fault_of(site, task, candidate, fastest);
    if (!fault) fastest = std::min(fastest, candidate.checked_seconds);
    if (fault) found.left_out.push_back(candidate.id + ": " + *fault);
    return fault.has_value();
  });
  if (found.all.empty())
    throw UsageError(fmt::format("{}: no algorithm that was asked for can run it{}{}", task_name(step, task),
                                 found.left_out.empty() ? "" : "; ", fmt::join(found.left_out, "; ")));
  keep_fast(found, options.most);
  step.run(task, found.all.front().plan.get(), arena_.data(), queue);  // the last that ran may be a wrong one
}

std::vector<Plan*> StepCandidates::plans(const std::vector<size_t>& choice) const {
  std::vector<Plan*> all;
  for (size_t task = 0; task < choice.size(); ++task)
    all.push_back(tasks_[task].all.empty() ? nullptr : tasks_[task].all[choice[task]].plan.get());
  return all;
}

std::string task_name(const TrainingStep& step, size_t task) {
  const StepTask& of = step.tasks()[task];
  return step.network().layers[of.layer].name + " " + of.label;
}

std::vector<size_t> convolutions(const TrainingStep& step) {
  std::vector<size_t> tasks;
  for (size_t task = 0; task < step.tasks().size(); ++task)
    if (step.tasks()[task].problem) tasks.push_back(task);
  return tasks;
}

}  // namespace convscope
