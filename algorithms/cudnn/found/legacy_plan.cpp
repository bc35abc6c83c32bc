// Plans of the legacy API: an algorithm that was forced, or chosen by Get or Find.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "algorithms/cudnn/found/legacy.hpp"
#include "algorithms/cudnn/found/plans.hpp"
#include "algorithms/cudnn/offers.hpp"

namespace convscope::cudnn {
namespace {

class LegacyPlan final : public AnsweredPlan {
 public:
  LegacyPlan(Handle handle, LegacyConvolution convolution, LibraryAnswer answer)
      : AnsweredPlan(std::move(handle), std::move(answer)), convolution_(std::move(convolution)) {}

  void run(const ConvArgs& args, Queue& queue) override {
    use_queue(handle(), queue);
    convolution_.run(handle().get(), args, static_cast<size_t>(workspace_bytes()));
  }

 private:
  LegacyConvolution convolution_;
};

// cuDNN's own words on what it was asked, for the row.
std::string question(Choice choice, Pass pass) {
  const char* middle = pass == Pass::forward         ? "Forward"
                       : pass == Pass::backward_data ? "BackwardData"
                                                     : "BackwardFilter";
  const std::string convolution = std::string("Convolution") + middle;
  if (choice == Choice::get) return "cudnnGet" + convolution + "Algorithm_v7";
  if (choice == Choice::find) return "cudnnFind" + convolution + "Algorithm";
  return "cudnnGet" + convolution + "WorkspaceSize";
}

// Index of the offer that fits first, which is the best by cuDNN's own order, and then the convolution's;
// throws Refused where none does. Workspaces are asked for again: Get and Find may have had other math types
// in mind.
size_t best_offer(std::vector<Offer>& offers, LegacyConvolution& convolution, cudnnHandle_t handle,
                  MathMode math, int64_t cap) {
  const auto try_offer = [&](size_t index) {
    Offer& offer = offers[index];
    try {
      convolution.choose(offer);
      offer.workspace_bytes = static_cast<int64_t>(convolution.workspace_bytes(handle));
    } catch (const Refused& refusal) {
      offer.refusal = refusal.what();
    }
  };
  if (const auto best = first_that_fits(offers, math, cap, try_offer)) return *best;
  const Nothing nothing = why_nothing_fits(offers, cap);
  throw Refused(nothing.reason, nothing.why);
}

}  // namespace

std::unique_ptr<Plan> make_legacy_plan(const Row& row, const ConvProblem& problem,
                                       const PlanOptions& options) {
  const Handle handle = shared_handle();
  LibraryAnswer answer;
  answer.asked = question(row.choice, problem.pass);
  Stopwatch watch;
  LegacyConvolution convolution(problem);
  answer.descriptor_seconds = watch.lap();
  const auto best_of = [&](std::vector<Offer>& offers) {
    return best_offer(offers, convolution, handle.get(), problem.math, options.workspace_cap);
  };
  if (row.choice == Choice::forced) {
    answer.offers.emplace_back().name = row.algorithm;
    answer.chosen = best_of(answer.offers);
  } else if (row.choice == Choice::get) {
    answer.offers = convolution.get(handle.get());
    answer.chosen = best_of(answer.offers);
  } else {
    std::vector<std::vector<Offer>> found;
    std::vector<size_t> best;
    for (int repeat = 0; repeat < kFindRepeats; ++repeat) {
      found.push_back(convolution.find(handle.get()));
      best.push_back(best_of(found.back()));
      answer.repeats.push_back(found.back()[best.back()].name);
    }
    const std::string usual = most_frequent(answer.repeats);
    const auto first = std::find(answer.repeats.begin(), answer.repeats.end(), usual);
    const auto repeat = static_cast<size_t>(first - answer.repeats.begin());
    answer.offers = found[repeat];
    answer.chosen = best[repeat];
  }
  answer.heuristic_seconds = watch.lap();
  convolution.choose(answer.offers[static_cast<size_t>(*answer.chosen)]);
  return std::make_unique<LegacyPlan>(handle, std::move(convolution), std::move(answer));
}

}  // namespace convscope::cudnn
