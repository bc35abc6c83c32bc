// Plans of the graph API: what a heuristic ranks first, one engine, or the fastest of all, each timed here.
#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <new>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "algorithms/cudnn/backend/graph.hpp"
#include "algorithms/cudnn/backend/plans.hpp"
#include "algorithms/cudnn/offers.hpp"
#include "bench/core/stopwatch.hpp"
#include "bench/device/buffer.hpp"
#include "bench/device/device_error.hpp"
#include "bench/device/values.hpp"

namespace convscope::cudnn {
namespace {

// Runs of a plan that autotuning times, after one that it does not.
constexpr int kTimedRuns = 5;

class GraphPlan final : public AnsweredPlan {
 public:
  GraphPlan(Handle handle, ExecutionPlan plan, LibraryAnswer answer)
      : AnsweredPlan(std::move(handle), std::move(answer)), plan_(std::move(plan)) {}

  void run(const ConvArgs& args, Queue& queue) override {
    use_queue(handle(), queue);
    plan_.run(handle().get(), args);
  }

 private:
  ExecutionPlan plan_;
};

// Tensors of the problem with some values in them, for autotuning: what they are does not matter, but zeros
// would draw less power.
class TrialTensors {
 public:
  TrialTensors(const ConvProblem& problem, Device& device) {
    for (Role role : kRoles) {
      std::vector<float> values(static_cast<size_t>(problem.elements(role)));
      for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 17) / 8 - 1;
      tensors_.emplace_back(device, static_cast<size_t>(problem.bytes(role)));
      upload_values(tensors_.back(), storage_type(problem.math), values);
    }
    if (!has_bias(problem.epilogue)) return;
    const std::vector<float> values(static_cast<size_t>(problem.out_channels), 0.125F);
    bias_.emplace(device, values.size() * sizeof(float));
    upload_values(*bias_, DataType::f32, values);
  }
  ConvArgs args(void* workspace) const {
    ConvArgs args{tensors_[0].data(), tensors_[1].data(), tensors_[2].data(), workspace};
    if (bias_) args.bias = static_cast<const float*>(bias_->data());
    return args;
  }

 private:
  std::vector<Buffer> tensors_;  // in the order of kRoles
  std::optional<Buffer> bias_;
};

// The handle works on no stream of a queue that has gone.
class StreamOfHandle {
 public:
  explicit StreamOfHandle(Handle handle) : handle_(std::move(handle)) {}
  ~StreamOfHandle() { api().set_stream(handle_.get(), nullptr); }
  StreamOfHandle(const StreamOfHandle&) = delete;
  StreamOfHandle& operator=(const StreamOfHandle&) = delete;

 private:
  Handle handle_;
};

// A timing that throws leaves its work held back.
struct ReleaseOnExit {
  Queue& queue;
  ~ReleaseOnExit() {
    try {
      queue.synchronize();
    } catch (const DeviceError&) {  // what went wrong is on its way already
    }
  }
};

// Everything that was offered for one problem, and the plans built of it.
class Candidates {
 public:
  Candidates(const ConvProblem& problem, Handle handle) : problem_(problem), handle_(std::move(handle)) {}

  // Unless it is in already, by engine and knobs; a refused one has a number alone.
  void add(EngineConfig config) {
    if (config.offer.refusal.empty() && !names_.insert(config.offer.name).second) return;
    offers.push_back(config.offer);
    configs_.push_back(std::move(config));
    plans_.emplace_back();
  }

  // Builds the plan of an offer, or sets the offer's refusal.
  void build(size_t index) {
    Offer& offer = offers[index];
    const auto start = Clock::now();
    try {
      plans_[index].emplace(configs_[index], handle_.get());
      offer.workspace_bytes = plans_[index]->workspace_bytes();
    } catch (const DeviceLost&) {
      throw;
    } catch (const std::exception& error) {
      offer.refusal = error.what();
    }
    const double seconds = seconds_since(start);
    build_seconds += seconds;
    if (std::find(offer.notes.begin(), offer.notes.end(), "RUNTIME_COMPILATION") != offer.notes.end())
      compile_seconds = compile_seconds.value_or(0) + seconds;
  }

  // Builds and times all that may be run under the cap; those that fail get their refusal.
  void time_all(Device& device, const PlanOptions& options) {
    const auto queue = device.make_queue();
    const StreamOfHandle back_to_default(handle_);
    const TrialTensors tensors(problem_, device);
    for (size_t i = 0; i < offers.size(); ++i) {
      options.show_life();
      Offer& offer = offers[i];
      if (offer.refusal.empty()) offer.refusal = contradiction(problem_.math, offer.notes);
      if (offer.refusal.empty()) build(i);
      if (!offer.refusal.empty() || offer.workspace_bytes > options.workspace_cap) continue;
      try {
        const Buffer workspace(device, static_cast<size_t>(offer.workspace_bytes));
        const ReleaseOnExit release{*queue};  // before the workspace goes, which waits for the device
        offer.seconds = median_time(*plans_[i], tensors.args(workspace.data()), *queue);
      } catch (const DeviceLost&) {
        throw;
      } catch (const std::bad_alloc&) {
        offer.refusal = "the device has no memory for its workspace";
      } catch (const std::exception& error) {
        offer.refusal = error.what();
      }
    }
  }

  std::unique_ptr<Plan> plan_of(std::optional<size_t> chosen, LibraryAnswer answer, int64_t cap) {
    answer.offers = offers;
    answer.build_seconds = build_seconds;
    answer.compile_seconds = compile_seconds;
    if (!chosen) {
      const Nothing nothing = why_nothing_fits(offers, cap);
      throw Refused(nothing.reason, nothing.why, std::move(answer));
    }
    answer.chosen = static_cast<int64_t>(*chosen);
    return std::make_unique<GraphPlan>(handle_, std::move(*plans_[*chosen]), std::move(answer));
  }

  std::vector<Offer> offers;
  double build_seconds = 0;
  std::optional<double> compile_seconds;

 private:
  double median_time(const ExecutionPlan& plan, const ConvArgs& args, Queue& queue) {
    use_queue(handle_, queue);
    plan.run(handle_.get(), args);
    queue.synchronize();
    std::vector<double> times;
    for (int i = 0; i < kTimedRuns; ++i) {
      queue.begin_timing();
      use_queue(handle_, queue);
      plan.run(handle_.get(), args);
      times.push_back(queue.end_timing().seconds);
    }
    std::nth_element(times.begin(), times.begin() + kTimedRuns / 2, times.end());
    return times[kTimedRuns / 2];
  }

  ConvProblem problem_;
  Handle handle_;
  std::set<std::string> names_;
  std::vector<EngineConfig> configs_;
  std::vector<std::optional<ExecutionPlan>> plans_;
};

std::string question(const Variant& variant) {
  switch (variant.choice) {
    case Choice::heur_a:
      return "CUDNN_HEUR_MODE_A";
    case Choice::heur_b:
      return "CUDNN_HEUR_MODE_B";
    case Choice::heur_fallback:
      return "CUDNN_HEUR_MODE_FALLBACK";
    case Choice::autotune:
      return "CUDNN_HEUR_MODE_A, B and FALLBACK, each plan timed";
    default:
      return fmt::format("engine {}", variant.engine);
  }
}

std::vector<cudnnBackendHeurMode_t> modes(Choice choice) {
  switch (choice) {
    case Choice::heur_a:
      return {CUDNN_HEUR_MODE_A};
    case Choice::heur_b:
      return {CUDNN_HEUR_MODE_B};
    case Choice::heur_fallback:
      return {CUDNN_HEUR_MODE_FALLBACK};
    default:
      return {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_B, CUDNN_HEUR_MODE_FALLBACK};
  }
}

// Variants are a fixed list, engines are not: none may be missing without a word.
void check_engine_count(const ConvolutionGraph& graph, int engine) {
  if (engine == kEngineVariants - 1 && graph.engine_count() > kEngineVariants)
    throw DeviceError(
        fmt::format("cuDNN's graph has {} engines, this program has variants for {}: raise kEngineVariants "
                    "in algorithms/cudnn/variants.hpp",
                    graph.engine_count(), kEngineVariants));
}

// What the modes name, in their order. A mode that fails is an error only if no other answers.
std::vector<EngineConfig> ranked(const ConvolutionGraph& graph,
                                 const std::vector<cudnnBackendHeurMode_t>& modes) {
  std::vector<EngineConfig> all;
  std::exception_ptr error;
  for (const cudnnBackendHeurMode_t mode : modes) {
    try {
      for (EngineConfig& config : graph.ranked(mode)) all.push_back(std::move(config));
    } catch (const DeviceLost&) {
      throw;
    } catch (const std::exception&) {
      error = std::current_exception();
    }
  }
  if (all.empty() && error) std::rethrow_exception(error);
  return all;
}

}  // namespace

std::unique_ptr<Plan> make_graph_plan(const Variant& variant, const ConvProblem& problem, Device& device,
                                      const PlanOptions& options) {
  const Handle handle = shared_handle();
  LibraryAnswer answer;
  answer.asked = question(variant);
  const auto start = Clock::now();
  const ConvolutionGraph graph(problem, handle.get());
  answer.descriptor_seconds = seconds_since(start);

  const auto asked = Clock::now();
  Candidates candidates(problem, handle);
  if (variant.choice == Choice::engine) {
    check_engine_count(graph, variant.engine);
    candidates.add(graph.engine(variant.engine));
    for (EngineConfig& config : graph.knob_variants(variant.engine, static_cast<size_t>(options.knobs)))
      candidates.add(std::move(config));
  } else {
    for (EngineConfig& config : ranked(graph, modes(variant.choice))) candidates.add(std::move(config));
  }
  answer.heuristic_seconds = seconds_since(asked);

  const bool has_variants = variant.choice == Choice::engine && candidates.offers.size() > 1;
  if (variant.choice == Choice::autotune || has_variants) {
    candidates.time_all(device, options);
    const auto chosen = fastest_that_fits(candidates.offers, options.workspace_cap);
    return candidates.plan_of(chosen, std::move(answer), options.workspace_cap);
  }
  const auto chosen =
      first_that_fits(candidates.offers, problem.math, options.workspace_cap, [&](size_t index) {
        options.show_life();
        candidates.build(index);
      });
  return candidates.plan_of(chosen, std::move(answer), options.workspace_cap);
}

}  // namespace convscope::cudnn
