#include "bench/step/rank_sums.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "bench/parallel/fabric/threads_fabric.hpp"
#include "bench/step/ranked_step_test.hpp"

namespace convscope {
namespace {

// Sums of a job in which rank 1 has no memory for those of codes.
class ShortOfMemory final : public RankSums {
 public:
  ShortOfMemory(std::unique_ptr<RankSums> sums, int rank) : sums_(std::move(sums)), rank_(rank) {}
  Fabric& fabric() override { return sums_->fabric(); }
  Queue& queue() override { return sums_->queue(); }
  std::unique_ptr<GradientSum> make(const StepCase& of, const TrainingStep& step) override {
    if (rank_ == 1 && of.compression != Compression::none) throw std::bad_alloc();
    return sums_->make(of, step);
  }
  void begin_after(Queue& compute, std::function<void()> sum) override {
    sums_->begin_after(compute, std::move(sum));
  }
  void finish() override { sums_->finish(); }
  double slowest(const std::function<void()>& work, int64_t& disturbed) override {
    return sums_->slowest(work, disturbed);
  }

 private:
  std::unique_ptr<RankSums> sums_;
  int rank_;
};

TEST(RankSums, ThatARankHasNoMemoryForAreRefusedAndTheOthersMeasured) {
  run_ranks(2, [&](Fabric& fabric) {
    CpuDevice device;
    TrainingStep step(network_of(testing::small_suite(), 2), device, 1, 2 * fabric.rank());
    std::vector<StepRow> rows{row_of(Reduction::striped, 2), row_of(Reduction::ring, 2)};
    rows[0].of.compression = Compression::one_bit;
    ShortOfMemory sums(sums_on_cpus(fabric, device, 1), fabric.rank());
    measure_ranked_step(step, testing::step_registry(), device, fabric, sums, short_options(), rows);
    EXPECT_EQ(rows[0].outcome, RowOutcome::refused);
    EXPECT_EQ(rows[0].reason, "out_of_memory");
    EXPECT_EQ(rows[1].outcome, RowOutcome::good) << rows[1].note;
    EXPECT_GT(rows[1].schedule.step_seconds, 0);
  });
}

}  // namespace
}  // namespace convscope
