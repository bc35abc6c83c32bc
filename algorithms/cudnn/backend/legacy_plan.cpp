// Plans of the legacy API: an algorithm that was forced, or chosen by Get or Find.
#include <algorithm>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "algorithms/cudnn/backend/legacy.hpp"
#include "algorithms/cudnn/backend/plans.hpp"
#include "algorithms/cudnn/offers.hpp"
#include "bench/core/stopwatch.hpp"
#include "bench/device/device_error.hpp"

namespace convscope::cudnn {
namespace {

class LegacyPlan final : public AnsweredPlan {
 public:
  LegacyPlan(Handle handle, LegacyConvolution convolution, const ConvProblem& problem, bool is_gemm,
             LibraryAnswer answer)
      : AnsweredPlan(std::move(handle), std::move(answer)),
        convolution_(std::move(convolution)),
        math_(problem.math) {
    if (is_gemm) operations_ = {problem.nominal_flops(), 0, static_cast<double>(problem.total_bytes())};
  }

  std::string implementation() const override { return name_in(math_, chosen()); }

  std::optional<OperationCount> operations() const override { return operations_; }

  void run(const ConvArgs& args, Queue& queue) override {
    use_queue(handle(), queue);
    convolution_.run(handle().get(), args, static_cast<size_t>(workspace_bytes()));
  }

 private:
  LegacyConvolution convolution_;
  MathMode math_;
  std::optional<OperationCount> operations_;
};

// cuDNN's own words on what it was asked, for the record.
std::string question(Choice choice, Pass pass) {
  const char* middle = pass == Pass::forward         ? "Forward"
                       : pass == Pass::backward_data ? "BackwardData"
                                                     : "BackwardFilter";
  const std::string convolution = std::string("Convolution") + middle;
  if (choice == Choice::get) return "cudnnGet" + convolution + "Algorithm_v7";
  if (choice == Choice::find) return "cudnnFind" + convolution + "Algorithm";
  return "cudnnGet" + convolution + "WorkspaceSize";
}

// Index of the answer's offer that fits first, which is the best by cuDNN's own order, and then the
// convolution's; throws Refused where none does. Workspaces are asked for again: Get and Find may have had
// other math types in mind.
size_t best_offer(LibraryAnswer& answer, LegacyConvolution& convolution, cudnnHandle_t handle, MathMode math,
                  int64_t cap) {
  std::vector<Offer>& offers = answer.offers;
  const auto try_offer = [&](size_t index) {
    Offer& offer = offers[index];
    try {
      convolution.choose(offer);
      offer.workspace_bytes = static_cast<int64_t>(convolution.workspace_bytes(handle));
    } catch (const DeviceLost&) {
      throw;
    } catch (const std::exception& error) {
      offer.refusal = error.what();  // the next one may do
    }
  };
  if (const auto best = first_that_fits(offers, math, cap, try_offer)) return *best;
  const Nothing nothing = why_nothing_fits(offers, cap);
  answer.chosen.reset();
  throw Refused(nothing.reason, nothing.why, answer);
}

}  // namespace

std::unique_ptr<Plan> make_legacy_plan(const Variant& variant, const ConvProblem& problem,
                                       const PlanOptions& options) {
  const Handle handle = shared_handle();
  LibraryAnswer answer;
  answer.asked = question(variant.choice, problem.pass);
  const auto start = Clock::now();
  LegacyConvolution convolution(problem);
  answer.descriptor_seconds = seconds_since(start);
  const auto best = [&] {
    return best_offer(answer, convolution, handle.get(), problem.math, options.workspace_cap);
  };
  const auto asked = Clock::now();
  if (variant.choice == Choice::find) {
    std::vector<LibraryAnswer> found;
    for (int repeat = 0; repeat < kFindRepeats; ++repeat) {
      options.show_life();
      answer.offers = convolution.find(handle.get());
      if (repeat == 0) answer.heuristic_seconds = seconds_since(asked);
      answer.chosen = best();
      answer.repeats.push_back(name_in(problem.math, answer.offers[static_cast<size_t>(*answer.chosen)]));
      found.push_back(answer);
    }
    const auto first = std::find(answer.repeats.begin(), answer.repeats.end(), most_frequent(answer.repeats));
    const LibraryAnswer& usual = found[static_cast<size_t>(first - answer.repeats.begin())];
    answer.offers = usual.offers;
    answer.chosen = usual.chosen;
  } else {
    answer.offers = variant.choice == Choice::get
                        ? convolution.get(handle.get())
                        : forced_offers(problem.math, std::string(variant.algorithm));
    answer.heuristic_seconds = seconds_since(asked);
    answer.chosen = best();
  }
  convolution.choose(answer.offers[static_cast<size_t>(*answer.chosen)]);
  return std::make_unique<LegacyPlan>(handle, std::move(convolution), problem, is_gemm(variant),
                                      std::move(answer));
}

}  // namespace convscope::cudnn
