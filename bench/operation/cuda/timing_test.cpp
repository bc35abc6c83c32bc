// Our operations on the CUDA device: its queue's clock, guards and copies, with the kernels that nvcc made on
// a GPU or on the stand-in, or with the emulator's in a build without nvcc.
#include <gtest/gtest.h>

#include <set>

#include "bench/core/every_operation_test.hpp"
#include "bench/device/cuda/cuda.hpp"
#include "bench/operation/measure_operations.hpp"
#include "bench/operation/own_operations.hpp"

namespace convscope {
namespace {

class GpuOperations : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const std::string defect = cuda::device_defect(); !defect.empty()) GTEST_SKIP() << defect;
    device_ = cuda::make_device({});
  }

  std::vector<OperationRow> rows_of(const std::vector<OperationProblem>& problems,
                                    const OperationAlgorithm& provider) {
    const std::vector<const OperationAlgorithm*> providers{&provider};
    const std::vector<LayerOperations> layers{{"one", problems}};
    OperationOptions options;
    options.seconds = 1e-9;
    std::vector<OperationRow> rows;
    measure_operations({}, layers, providers, *device_, options, [&](std::span<const OperationRow> some) {
      rows.insert(rows.end(), some.begin(), some.end());
    });
    return rows;
  }

  std::unique_ptr<Device> device_;
};

TEST_F(GpuOperations, OfEverySortAreRightAndTimed) {
  std::vector<OperationProblem> problems;
  for (const Activations& shape : {Activations{2, 3, 7, 9}, {5, 40, 3, 3}})
    for (const OperationProblem& problem : testing::every_operation(shape, {"3x3/2 pad 1"}))
      problems.push_back(problem);
  for (const OperationRow& row : rows_of(problems, *own_operations())) {
    EXPECT_EQ(row.outcome, OperationOutcome::measured) << to_text(row.problem) << ": " << row.note;
    EXPECT_EQ(row.time.n, kMinOperationSamples) << to_text(row.problem);
    EXPECT_GT(row.time.median, 0) << to_text(row.problem);
    EXPECT_LT(*row.relative_l2, 2e-6) << to_text(row.problem);
  }
}

// ReLU forward, which notes the tensors that it is given; one of its runs may take a hundred times as long.
class Noting final : public OperationAlgorithm {
 public:
  explicit Noting(size_t long_run = SIZE_MAX) : long_run_(long_run) {}
  std::string provider() const override { return "noting"; }
  bool runs_on(DeviceKind kind) const override { return kind == DeviceKind::cuda; }
  std::unique_ptr<OperationPlan> plan(const OperationProblem& problem, Device& device) const override {
    return std::make_unique<NotingPlan>(own_->plan(problem, device), *this);
  }

  mutable std::vector<const float*> seen;

 private:
  struct NotingPlan final : OperationPlan {
    NotingPlan(std::unique_ptr<OperationPlan> plan, const Noting& noting)
        : plan_(std::move(plan)), noting_(noting) {}
    void run(const OperationTensors& tensors, void* kept, Queue& queue) override {
      const int runs = noting_.seen.size() == noting_.long_run_ ? 100 : 1;
      for (int i = 0; i < runs; ++i) plan_->run(tensors, kept, queue);
      noting_.seen.push_back(tensors[Slot::y]);
    }
    std::unique_ptr<OperationPlan> plan_;
    const Noting& noting_;
  };
  size_t long_run_;
  std::unique_ptr<OperationAlgorithm> own_ = own_operations();
};

TEST_F(GpuOperations, FindTheirTensorsOutOfTheCaches) {
  const OperationProblem relu{OperationSort::relu, false, {1, 16, 32, 31}, {}};
  const Noting noting;
  const OperationRow row = rows_of({relu}, noting).front();
  ASSERT_EQ(row.outcome, OperationOutcome::measured) << row.note;
  ASSERT_GT(noting.seen.size(), 20U);
  // The first two runs are the check's. After them each run has the next copy until all had a turn.
  const std::set<const float*> copies(noting.seen.begin() + 2, noting.seen.end());
  const auto all = static_cast<size_t>(2 * device_->info().llc_bytes / (relu.elements(Slot::y) * 4)) + 1;
  EXPECT_GE(copies.size(), std::min(all, noting.seen.size() - 2));
}

TEST_F(GpuOperations, ShorterThanTheClockIsPreciseAreTimedManyTogether) {
  const OperationProblem relu{OperationSort::relu, false, {1, 1, 2, 2}, {}};
  const Noting noting;
  const OperationRow row = rows_of({relu}, noting).front();
  ASSERT_EQ(row.outcome, OperationOutcome::measured) << row.note;
  EXPECT_GT(static_cast<int64_t>(noting.seen.size()), 10 * row.time.n);
}

TEST_F(GpuOperations, AreTimedManyTogetherThoughTheFirstTimedRunWasHeldUp) {
  const OperationProblem relu{OperationSort::relu, false, {1, 1, 2, 2}, {}};
  constexpr size_t first_timed = 3;  // behind two of the check and one that loads the kernels
  const Noting noting(first_timed);
  const OperationRow row = rows_of({relu}, noting).front();
  ASSERT_EQ(row.outcome, OperationOutcome::measured) << row.note;
  EXPECT_GT(static_cast<int64_t>(noting.seen.size()), 10 * row.time.n);
}

}  // namespace
}  // namespace convscope
