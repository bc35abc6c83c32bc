// Filter gradients of thin problems with the pixels of real ones: an error far below the gate.
#include <gtest/gtest.h>

#include "algorithms/common/sum_error_test.hpp"
#include "algorithms/im2col_gemm/im2col_gemm.hpp"
#include "bench/core/sanitized_test.hpp"
#include "bench/device/cpu/cpu_device.hpp"
#include "bench/emulator/emulator_device.hpp"

namespace convscope {
namespace {

class Im2colLongSum : public ::testing::Test {
 protected:
  Im2colLongSum() { add_im2col_gemm(registry_); }
  void SetUp() override {
    if (kSanitized) GTEST_SKIP() << "of rounding alone; the code runs on small problems in the other tests";
  }
  Registry registry_;
};

TEST_F(Im2colLongSum, PackedProductsKeepTheGateAndSayHowTheySum) {
  CpuDevice cpu;
  const Algorithm& row = *registry_.find("im2col_gemm.packed.cpu");
  for (const char* line : {"backward_filter n=32 c=1 hw=224x224 k=18 rs=3x3 pad=1x1",
                           "backward_filter nhwc n=32 c=1 hw=224x224 k=12 rs=1x1",
                           "backward_filter nhwc n=32 c=2 hw=224x224 k=12 rs=1x1",
                           "backward_filter n=32 c=2 hw=224x224 k=12 rs=1x1"})
    for (const int64_t cap : {INT64_MAX, int64_t{0}}) {
      const ConvProblem problem = parse_problem(line);
      SCOPED_TRACE(std::string(line) + ", cap " + std::to_string(cap));
      const PlanOptions options{.workspace_cap = cap, .threads = 1};
      const double error = sum_error(row, problem, cpu, options);
      EXPECT_LT(error, kErrorAllowed);
      expect_error_of_sum(row, problem, cpu, options, error);
    }
}

// The pixels of a batch are the depth of one product here, and at cap 0 there are no partial sums.
TEST_F(Im2colLongSum, PointwiseProductsOnTheEmulatorKeepTheGateWithoutSplits) {
  EmulatorDevice emulator(EmulatorOptions{.order = EmulatorOrder::forward});
  const ConvProblem problem = parse_problem("backward_filter nhwc n=8 c=4 hw=224x224 k=4 rs=1x1");
  const PlanOptions options{.workspace_cap = 0};
  const Algorithm& own = *registry_.find("im2col_gemm.cuda");
  const double error = sum_error(own, problem, emulator, options);
  EXPECT_LT(error, kErrorAllowed);
  expect_error_of_sum(own, problem, emulator, options, error);
  // The library's product, which the emulator sums exactly, comes in parts too.
  EXPECT_LT(sum_error(*registry_.find("im2col_gemm.cublas.cuda"), problem, emulator, options), kErrorAllowed);
}

}  // namespace
}  // namespace convscope
