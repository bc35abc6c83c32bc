// The vector code against the rational matrices and plain loops, on every instruction set of this machine.
#include "algorithms/winograd/cpu/vector_kernels.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "algorithms/common/each_target.hpp"

namespace convscope::winograd {
namespace {

struct alignas(64) Vectors {
  float at[4096];
  Vectors() {
    std::mt19937 random(3);
    std::uniform_real_distribution<float> uniform(-1, 1);
    for (float& x : at) x = uniform(random);
  }
};

// Two lines, elements one vector apart on the way in, three apart on the way out.
template <typename Coefficient>
void expect_line(const VectorKernels& kernels, Line line, int inputs, int outputs, Coefficient coefficient) {
  ASSERT_NE(line, nullptr);
  const Vectors in;
  Vectors out;
  const int lanes = kernels.lanes;
  line(in.at, lanes, inputs * lanes, out.at, 3 * lanes, lanes, 2);
  for (int n = 0; n < 2; ++n)
    for (int row = 0; row < outputs; ++row)
      for (int lane = 0; lane < lanes; ++lane) {
        double sum = 0, magnitude = 1;
        for (int k = 0; k < inputs; ++k) {
          const double term = coefficient(row, k) * double{in.at[(n * inputs + k) * lanes + lane]};
          sum += term;
          magnitude += std::abs(term);
        }
        ASSERT_NEAR(out.at[(row * 3 + n) * lanes + lane], sum, 1e-6 * magnitude) << row << " of " << outputs;
      }
}

template <int Alpha, int N>
void expect_pairs(const VectorKernels& kernels) {
  if constexpr (N <= Alpha) {
    constexpr auto matrix = evaluation_matrix<Alpha, N>();
    expect_line(kernels, kernels.evaluate[Alpha][N], N, Alpha,
                [&](int row, int k) { return matrix.at[row][k].value(); });
    expect_line(kernels, kernels.interpolate[Alpha][N], Alpha, N,
                [&](int row, int k) { return matrix.at[k][row].value(); });
    expect_pairs<Alpha, N + 1>(kernels);
  }
}
template <int Alpha = 1>
void expect_all(const VectorKernels& kernels) {
  if constexpr (Alpha <= kLargestAlpha) {
    constexpr auto matrix = data_matrix<Alpha>();
    expect_line(kernels, kernels.data[Alpha], Alpha, Alpha,
                [&](int row, int k) { return matrix.at[row][k].value(); });
    expect_pairs<Alpha, 1>(kernels);
    expect_all<Alpha + 1>(kernels);
  }
}

TEST(VectorKernels, EveryTransformIsItsMatrix) {
  for_each_target([] { expect_all(vector_kernels()); });
}

TEST(VectorKernels, PackPlacesLanesBesideEachOtherAndZerosTheRest) {
  const Vectors tensor;
  for_each_target([&] {
    const VectorKernels& kernels = vector_kernels();
    const int64_t lanes = kernels.lanes;
    for (int64_t count = 1; count <= 13; ++count)
      for (const int64_t used : {lanes, (lanes + 1) / 2}) {
        Vectors planes, pixels;
        kernels.pack_planes(tensor.at, 19, count, used, planes.at);
        kernels.pack_pixels(tensor.at, 17, count, used, pixels.at);
        for (int64_t x = 0; x < count; ++x)
          for (int64_t l = 0; l < lanes; ++l) {
            EXPECT_EQ(planes.at[x * lanes + l], l < used ? tensor.at[l * 19 + x] : 0.0f);
            EXPECT_EQ(pixels.at[x * lanes + l], l < used ? tensor.at[x * 17 + l] : 0.0f);
          }
      }
  });
}

TEST(VectorKernels, UnpackWritesTheUsedLanesAndNothingElse) {
  const Vectors staged;
  for_each_target([&] {
    const VectorKernels& kernels = vector_kernels();
    const int64_t lanes = kernels.lanes;
    for (int64_t count = 1; count <= 13; ++count)
      for (const int64_t used : {lanes, (lanes + 1) / 2}) {
        Vectors planes, pixels;
        const Vectors before;
        kernels.unpack_planes(staged.at, planes.at, 19, count, used);
        kernels.unpack_pixels(staged.at, pixels.at, 17, count, used);
        for (int64_t l = 0; l < lanes; ++l)
          for (int64_t x = 0; x < 19; ++x)
            EXPECT_EQ(planes.at[l * 19 + x],
                      l < used && x < count ? staged.at[x * lanes + l] : before.at[l * 19 + x]);
        for (int64_t x = 0; x < 14; ++x)
          for (int64_t l = 0; l < 17; ++l)
            EXPECT_EQ(pixels.at[x * 17 + l],
                      l < used && x < count ? staged.at[x * lanes + l] : before.at[x * 17 + l]);
      }
  });
}

}  // namespace
}  // namespace convscope::winograd
