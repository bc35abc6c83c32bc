// The algorithms for GPUs on the CUDA device's own host code, in a build without nvcc: its queue, blocker,
// watchdog and buffers on the stand-in for the CUDA runtime, with the kernels that the emulator runs. Under
// the sanitizers this is where host code and kernels run on different threads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "algorithms/catalog.hpp"
#include "algorithms/common/problems_test.hpp"
#include "algorithms/common/test_name_test.hpp"
#include "bench/device/cuda/cuda.hpp"
#include "bench/verify/verification.hpp"

namespace convscope {
namespace {

// To the thread sanitizer each thread of a block is a fiber of its own, which takes a while to make.
#if defined(__SANITIZE_THREAD__)
constexpr bool kThorough = false;
#else
constexpr bool kThorough = true;
#endif

// One problem of each shape that the algorithm takes, in a math mode, layout, pass and with an epilogue that
// take turns.
std::vector<ConvProblem> chosen_problems(const Algorithm& algorithm, const DeviceInfo& device) {
  std::vector<ConvProblem> chosen;
  for (const char* shape : kTinyShapes) {
    const std::vector<ConvProblem> all = supported_problems(algorithm, device, shape);
    if (all.empty()) continue;
    chosen.push_back(all[chosen.size() % all.size()]);
    if (!kThorough) break;
  }
  return chosen;
}

Timing timed_run(Plan& plan, const Operands& operands, const Buffer& workspace, Queue& queue) {
  queue.begin_timing();
  plan.run(operands.args(workspace.data()), queue);
  return queue.end_timing();
}

class HostedDevice : public ::testing::TestWithParam<std::string> {
 protected:
  HostedDevice() { register_all(registry_); }
  Registry registry_;
  std::unique_ptr<Device> device_ = cuda::make_device({});
};

TEST_P(HostedDevice, VerifiesTimesAndVerifiesAgain) {
  const Algorithm& algorithm = *registry_.find(GetParam());
  const std::vector<ConvProblem> problems = chosen_problems(algorithm, device_->info());
  ASSERT_FALSE(problems.empty()) << "no problem of this sweep is one for " << GetParam();
  for (const ConvProblem& problem : problems) {
    SCOPED_TRACE(to_line(problem));
    const auto queue = device_->make_queue();
    const auto plan = algorithm.plan(problem, *device_, {});
    Verification verification(problem, {.reference_device = kThorough ? device_.get() : nullptr});
    if (kThorough) {
      const Verdict before = verification.check(algorithm, *plan, *device_, *queue);
      EXPECT_TRUE(before.passed()) << before.note;
    }

    const Operands operands = make_operands(problem, *device_, DataKind::uniform, 1);
    const Buffer workspace(*device_, static_cast<size_t>(plan->workspace_bytes()));
    plan->prepare(operands.args(workspace.data()), *queue);
    for (int run = 0; run < (kThorough ? 3 : 1); ++run)
      EXPECT_GT(timed_run(*plan, operands, workspace, *queue).seconds, 0) << "virtual time";
    const Verdict after = verification.check_again(algorithm, *plan, *device_, *queue);
    EXPECT_TRUE(after.passed()) << after.note;
  }
}

std::vector<std::string> ids() {
  Registry registry;
  register_all(registry);
  std::vector<std::string> all;
  for (const Algorithm* algorithm : registry.all()) {
    const AlgorithmInfo& info = algorithm->info();
    if (info.device == DeviceKind::cuda && info.emulated && info.provider == "convscope")
      all.push_back(info.id);
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Catalog, HostedDevice, ::testing::ValuesIn(ids()), id_as_test_name);

}  // namespace
}  // namespace convscope
