// The tile transforms alone against a discrete Fourier transform by its definition in f64, on every
// instruction set of this machine.
#include "algorithms/fft/cpu/transforms.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "algorithms/common/each_target.hpp"
#include "algorithms/fft/plain.hpp"
#include "bench/device/buffer.hpp"
#include "bench/device/cpu/cpu_device.hpp"

namespace convscope::fft {
namespace {

// `count` dense tiles of window x window samples in a row, and a place for their spectra.
class Transforms : public testing::TestWithParam<std::tuple<std::pair<int, int>, int64_t>> {
 protected:
  int size() const { return std::get<0>(GetParam()).first; }
  int window() const { return std::get<0>(GetParam()).second; }

  Transforms() {
    const int64_t area = int64_t{window()} * window();
    operand_.h = {window(), window(), 1, 0, 0, window()};
    operand_.w = {window(), 1, 1, 0, 0, window()};
    operand_.others.resize(1);
    for (int64_t i = 0; i < vector_lanes(); ++i) operand_.lanes.push_back({i * area, {0, 0}, {0, 0}});
    tiles_.resize(static_cast<size_t>(area * vector_lanes()));
    std::mt19937 random(3);
    for (float& value : tiles_) value = std::uniform_real_distribution<float>(-1, 1)(random);
    real_ = Buffer(device_, static_cast<size_t>(bins(size()) * vector_lanes()) * sizeof(float));
    imaginary_ = Buffer(device_, real_.bytes());
    scratch_ = Buffer(device_, static_cast<size_t>(scratch_bytes(size())));
  }

  Batch batch() const {
    return {
        {&operand_, operand_.lanes.data(), operand_.others.data(), vector_lanes()},
        {static_cast<float*>(real_.data()), static_cast<float*>(imaginary_.data()), vector_lanes(), false}};
  }
  float* scratch() const { return static_cast<float*>(scratch_.data()); }

  // The (vertical, horizontal) frequency of a bin.
  std::pair<int, int> frequency(int bin) const {
    const int real = size() / 2 + 1;
    if (bin < real) return {bin, 0};
    if (bin < 2 * real) return {bin - real, size() / 2};
    return {(bin - 2 * real) % size(), 1 + (bin - 2 * real) / size()};
  }

  std::complex<double> expected(int lane, int bin) const {
    const auto [v, u] = frequency(bin);
    return plain_bin(tiles_.data() + lane * window() * window(), window(), size(), v, u);
  }

  const OnlyTarget target_{std::get<1>(GetParam())};  // before all that depends on the number of lanes
  CpuDevice device_;
  Operand operand_;
  std::vector<float> tiles_;
  Buffer real_, imaginary_, scratch_;
};

TEST_P(Transforms, AgreeWithTheDefinition) {
  const Batch one = batch();
  transform_tiles(size(), {&one, 1}, tiles_.data(), scratch());
  for (int lane = 0; lane < vector_lanes(); lane += 3)
    for (int bin = 0; bin < bins(size()); ++bin) {
      const int64_t at = int64_t{bin} * vector_lanes() + lane;
      const std::complex<double> actual(one.spectra.real[at], one.spectra.imaginary[at]);
      EXPECT_LT(std::abs(actual - expected(lane, bin)), 2e-5) << "lane " << lane << " bin " << bin;
    }
}

TEST_P(Transforms, ComeBackToTheSameSamples) {
  const Batch one = batch();
  transform_tiles(size(), {&one, 1}, tiles_.data(), scratch());
  std::vector<float> back(tiles_.size(), NAN);
  invert_tiles(size(), {&one, 1}, back.data(), scratch());
  for (size_t i = 0; i < back.size(); ++i) ASSERT_NEAR(back[i], tiles_[i], 1e-6) << i;
}

TEST_P(Transforms, LeaveLanesThatAreNotUsedAlone) {
  Batch one = batch();
  transform_tiles(size(), {&one, 1}, tiles_.data(), scratch());
  std::vector<float> back(tiles_.size(), 7);
  one.planes.count = 1;
  invert_tiles(size(), {&one, 1}, back.data(), scratch());
  EXPECT_NEAR(back[0], tiles_[0], 1e-6);
  EXPECT_TRUE(std::all_of(back.begin() + window() * window(), back.end(), [](float v) { return v == 7; }));
}

std::string words(const testing::TestParamInfo<Transforms::ParamType>& one) {
  const auto& [tile, target] = one.param;
  return std::to_string(tile.first) + "_" + std::to_string(tile.second) + "_" + hwy::TargetName(target);
}

TEST(PlainFft, CorrelatesATileWithAFilterWhereNothingWrapsAround) {
  constexpr int kSize = 16, kTaps = 5;
  std::mt19937 random(5);
  std::uniform_real_distribution<float> value(-1, 1);
  std::vector<float> tile(kSize * kSize), filter(kTaps * kTaps);
  for (float& x : tile) x = value(random);
  for (float& x : filter) x = value(random);
  const PlainSpectrum of_tile = plain_transform(tile.data(), kSize, kSize);
  const PlainSpectrum of_filter = plain_transform(filter.data(), kTaps, kSize);
  for (int y = 0; y <= kSize - kTaps; ++y)
    for (int x = 0; x <= kSize - kTaps; ++x) {
      double sum = 0;
      for (int r = 0; r < kTaps; ++r)
        for (int t = 0; t < kTaps; ++t)
          sum += double{tile[static_cast<size_t>((y + r) * kSize + x + t)]} *
                 filter[static_cast<size_t>(r * kTaps + t)];
      ASSERT_NEAR(plain_correlation(of_tile, of_filter, kSize, y, x), sum, 1e-12);
    }
}

INSTANTIATE_TEST_SUITE_P(SizesAndWindows, Transforms,
                         testing::Combine(testing::Values(std::pair(16, 16), std::pair(16, 13),
                                                          std::pair(16, 3), std::pair(32, 32),
                                                          std::pair(32, 27), std::pair(32, 8)),
                                          testing::ValuesIn(hwy::SupportedAndGeneratedTargets())),
                         words);

}  // namespace
}  // namespace convscope::fft
