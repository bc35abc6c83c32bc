// The variants of a build without OpenBLAS.
#include <gtest/gtest.h>

#include "algorithms/im2col_gemm/im2col_gemm.hpp"
#include "bench/device/cpu/cpu_device.hpp"

namespace convscope {
namespace {

TEST(Im2colGemmMissing, TheVariantIsListedAndSaysWhatToInstall) {
  Registry registry;
  add_im2col_gemm(registry);
  const Algorithm* algorithm = registry.find("im2col_gemm.cpu");
  ASSERT_NE(algorithm, nullptr);
  const Support support = algorithm->supports(ConvProblem{}, DeviceInfo{});
  EXPECT_EQ(support.reason(), Reason::library_missing);
  EXPECT_NE(support.why().find("libopenblas-openmp-dev"), std::string::npos);
  EXPECT_EQ(algorithm->info().version, "");
}

TEST(Im2colGemmMissing, OurOwnVariantNeedsNoLibrary) {
  Registry registry;
  add_im2col_gemm(registry);
  const Algorithm* algorithm = registry.find("im2col_gemm.packed.cpu");
  ASSERT_NE(algorithm, nullptr);
  EXPECT_TRUE(algorithm->supports(ConvProblem{}, DeviceInfo{}));
  CpuDevice device;
  EXPECT_TRUE(algorithm->plan(ConvProblem{}, device, {})->operations());
}

}  // namespace
}  // namespace convscope
