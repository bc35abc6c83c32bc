// A whole kernel, double-buffered, with shuffles and atomics, on every device there is.
#include "bench/emulator/test_kernels/sgemm.hpp"

#include <gtest/gtest.h>

#include "bench/emulator/kernel_test.hpp"

namespace convscope {
namespace {

class SgemmKernel : public KernelTest {};

TEST_P(SgemmKernel, MultipliesWholeTilesAndEdges) {
  const struct { int m, n, k; } sizes[] = {{128, 128, 64}, {200, 150, 37}, {5, 260, 12}, {1, 1, 1}};
  for (const auto& [m, n, k] : sizes) {
    const std::vector<float> a = whole_numbers(static_cast<size_t>(m * k), 1);
    const std::vector<float> b = whole_numbers(static_cast<size_t>(k * n), 2);
    std::vector<float> c(static_cast<size_t>(m * n)), row_sums(static_cast<size_t>(m));
    const Buffer on_a = to_device(a), on_b = to_device(b), on_c = floats(c.size()),
                 on_sums = to_device(row_sums);
    CONVSCOPE_BUILDS(sgemm).of(GetParam().kind())()(on_a.as<float>(), on_b.as<float>(), on_c.as<float>(),
                                                    on_sums.as<float>(), m, n, k, *queue_);
    for (int row = 0; row < m; ++row)
      for (int column = 0; column < n; ++column) {
        float sum = 0;
        for (int i = 0; i < k; ++i)
          sum += a[static_cast<size_t>(row * k + i)] * b[static_cast<size_t>(i * n + column)];
        c[static_cast<size_t>(row * n + column)] = sum;
        row_sums[static_cast<size_t>(row)] += sum;
      }
    EXPECT_EQ(to_host<float>(on_c), c) << m << "x" << n << "x" << k;
    EXPECT_EQ(to_host<float>(on_sums), row_sums) << m << "x" << n << "x" << k;
    EXPECT_TRUE(on_c.guards_intact());
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, SgemmKernel, ::testing::ValuesIn(test_devices()), device_name);

}  // namespace
}  // namespace convscope
