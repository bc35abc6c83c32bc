// Operations against their definitions in f64, and their gradients against differences of the same.
#include "bench/operation/operations.hpp"

#include <gtest/gtest.h>
#include <omp.h>

#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "bench/core/random.hpp"

namespace convscope {
namespace {

using Values = std::vector<float>;

Values random_values(int64_t count, uint64_t seed) {
  Values values;
  for (int64_t i = 0; i < count; ++i) values.push_back(random_uniform(seed, static_cast<uint64_t>(i)));
  return values;
}
size_t at(const Activations& shape, int64_t n, int64_t c, int64_t h, int64_t w) {
  return static_cast<size_t>(((n * shape.c + c) * shape.h + h) * shape.w + w);
}
void expect_near(const Values& found, const std::vector<double>& expected, double tolerance) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], tolerance) << i;
}

// Whole vectors, less than one, and tails; a fully-connected layer's single pixel.
const Activations kShapes[] = {{2, 3, 5, 7}, {1, 8, 1, 1}, {3, 37, 1, 1}, {2, 6, 20, 17}, {1, 1, 1, 3}};

TEST(BiasRelu, ForwardAddsTheChannelsBiasAndCutsAtZero) {
  for (const Activations& shape : kShapes)
    for (bool relu : {false, true})
      for (bool has_bias : {false, true}) {
        const Values x = random_values(shape.elements(), 1), bias = random_values(shape.c, 2);
        Values y = x;
        bias_relu_forward(shape, has_bias ? bias.data() : nullptr, relu, y.data());
        for (size_t i = 0; i < y.size(); ++i) {
          const auto channel = static_cast<int64_t>(i) / shape.pixels() % shape.c;
          const float sum = x[i] + (has_bias ? bias[static_cast<size_t>(channel)] : 0);
          EXPECT_EQ(y[i], relu ? std::max(sum, 0.0F) : sum);
        }
      }
}

TEST(BiasRelu, BackwardMasksByTheOutputAndSumsOverAChannel) {
  for (const Activations& shape : kShapes)
    for (bool relu : {false, true}) {
      Values y = random_values(shape.elements(), 3);
      if (relu)
        for (float& value : y) value = std::max(value, 0.0F);
      const Values gradient = random_values(shape.elements(), 4);
      Values dy = gradient, dbias(static_cast<size_t>(shape.c), NAN);
      bias_relu_backward(shape, y.data(), relu, dy.data(), dbias.data());
      std::vector<double> sums(static_cast<size_t>(shape.c));
      for (size_t i = 0; i < dy.size(); ++i) {
        EXPECT_EQ(dy[i], relu && y[i] <= 0 ? 0 : gradient[i]);
        sums[static_cast<size_t>(static_cast<int64_t>(i) / shape.pixels() % shape.c)] += dy[i];
      }
      expect_near(dbias, sums, 1e-4);
      Values without = gradient;
      bias_relu_backward(shape, y.data(), relu, without.data(), nullptr);
      EXPECT_EQ(without, dy);
    }
}

struct PoolCase {
  Activations in;
  const char* pool;
};
const PoolCase kPools[] = {{{2, 3, 9, 11}, "pool 3x3/2"},       {{1, 2, 8, 8}, "pool 2x2/2"},
                           {{2, 2, 10, 7}, "pool 3x3/2 pad 1"}, {{1, 3, 7, 40}, "pool 2x5/3x1 pad 1x2"},
                           {{1, 1, 3, 3}, "pool 3x3/1"},        {{1, 2, 5, 5}, "pool 1x1/2"}};

TEST(MaxPool, IsTheLargestOfEachWindowAndPointsToTheFirstOfEqualOnes) {
  for (const auto& [in, text] : kPools) {
    const LayerOperation pool = *operation_from_text(text);
    const Extent2 out = pool.output({in.h, in.w});
    Values x = random_values(in.elements(), 5);
    for (float& value : x) value = std::round(4 * value);  // so that many are equal
    Values y(static_cast<size_t>(in.n * in.c * out.h * out.w), NAN);
    std::vector<int32_t> winner(y.size(), -1);
    max_pool_forward(in, pool, x.data(), y.data(), winner.data());
    size_t i = 0;
    for (int64_t n = 0; n < in.n; ++n)
      for (int64_t c = 0; c < in.c; ++c)
        for (int64_t p = 0; p < out.h; ++p)
          for (int64_t q = 0; q < out.w; ++q, ++i) {
            float best = -INFINITY;
            int64_t place = -1;
            for (int64_t r = 0; r < pool.window.h; ++r)
              for (int64_t s = 0; s < pool.window.w; ++s) {
                const int64_t h = p * pool.stride.h - pool.pad.h + r, w = q * pool.stride.w - pool.pad.w + s;
                if (h < 0 || h >= in.h || w < 0 || w >= in.w || x[at(in, n, c, h, w)] <= best) continue;
                best = x[at(in, n, c, h, w)];
                place = h * in.w + w;
              }
            EXPECT_EQ(y[i], best) << text;
            EXPECT_EQ(winner[i], place) << text;
          }
  }
}

TEST(MaxPool, BackwardAddsEachGradientAtItsWinner) {
  const Activations in{1, 2, 4, 4};
  const LayerOperation pool = *operation_from_text("pool 2x2/1");
  const std::vector<int32_t> winner{5, 5, 6, 9, 9, 6, 9, 9, 14, 0, 1, 2, 4, 5, 6, 8, 9, 15};
  const Values dy = random_values(18, 6);
  Values dx(32, NAN);
  max_pool_backward(in, pool, winner.data(), dy.data(), dx.data());
  std::vector<double> expected(32);
  for (size_t i = 0; i < dy.size(); ++i) expected[i / 9 * 16 + static_cast<size_t>(winner[i])] += dy[i];
  expect_near(dx, expected, 1e-6);
}

std::vector<double> mean_model(const Activations& in, const LayerOperation& pool, const Values& x) {
  const Extent2 out = pool.output({in.h, in.w});
  std::vector<double> y;
  for (int64_t n = 0; n < in.n; ++n)
    for (int64_t c = 0; c < in.c; ++c)
      for (int64_t p = 0; p < out.h; ++p)
        for (int64_t q = 0; q < out.w; ++q) {
          double sum = 0, inside = 0;
          for (int64_t r = 0; r < pool.window.h; ++r)
            for (int64_t s = 0; s < pool.window.w; ++s) {
              const int64_t h = p * pool.stride.h - pool.pad.h + r, w = q * pool.stride.w - pool.pad.w + s;
              if (h < 0 || h >= in.h || w < 0 || w >= in.w) continue;
              sum += x[at(in, n, c, h, w)];
              ++inside;
            }
          const auto cells = static_cast<double>(pool.window.h * pool.window.w);
          y.push_back(sum / (pool.counts_padding ? cells : inside));
        }
  return y;
}

// Odd sizes, windows that overlap, meet and leave gaps, padding on one axis and of all but one row.
const PoolCase kMeans[] = {{{2, 3, 9, 11}, "mean 3x3/2"},
                           {{2, 2, 35, 35}, "mean 3x3/1 pad 1"},
                           {{2, 2, 17, 33}, "mean 3x3/1 pad 1 uncounted"},
                           {{1, 2, 8, 8}, "mean 2x2/2"},
                           {{2, 2, 10, 7}, "mean 3x3/2 pad 1"},
                           {{2, 2, 10, 7}, "mean 3x3/2 pad 1 uncounted"},
                           {{1, 3, 7, 40}, "mean 2x5/3x1 pad 1x2 uncounted"},
                           {{1, 3, 40, 7}, "mean 5x2/1x3 pad 4x0"},
                           {{1, 2, 14, 14}, "mean 5x5/3"},
                           {{3, 2, 7, 7}, "mean 7x7/1"},
                           {{1, 2, 5, 5}, "mean 1x1/2"},
                           {{1, 1, 11, 10}, "mean 2x2/5"},
                           {{1, 1, 1, 1}, "mean 3x3/1 pad 1 uncounted"}};

TEST(MeanPool, IsTheMeanOfEachWindowWithItsPaddingOrWithout) {
  for (const auto& [in, text] : kMeans) {
    SCOPED_TRACE(text);
    const LayerOperation pool = *operation_from_text(text);
    const Values x = random_values(in.elements(), 30);
    const std::vector<double> expected = mean_model(in, pool, x);
    Values y(expected.size(), NAN);
    mean_pool_forward(in, pool, x.data(), y.data());
    expect_near(y, expected, 3e-7);
  }
}

TEST(MeanPool, OfOnesIsTheShareOfTheWindowThatIsInTheImage) {
  const Activations in{1, 1, 3, 4};
  const Values ones(12, 1);
  Values y(12);
  mean_pool_forward(in, *operation_from_text("mean 3x3/1 pad 1"), ones.data(), y.data());
  const Values counted{4, 6, 6, 4, 6, 9, 9, 6, 4, 6, 6, 4};
  for (size_t i = 0; i < y.size(); ++i) EXPECT_EQ(y[i], counted[i] / 9);
  mean_pool_forward(in, *operation_from_text("mean 3x3/1 pad 1 uncounted"), ones.data(), y.data());
  EXPECT_EQ(y, ones);
}

TEST(MeanPool, BackwardIsTheDerivative) {
  for (const auto& [in, text] : kMeans) {
    SCOPED_TRACE(text);
    const LayerOperation pool = *operation_from_text(text);
    const Extent2 out = pool.output({in.h, in.w});
    const Values dy = random_values(in.n * in.c * out.h * out.w, 31);
    Values dx(static_cast<size_t>(in.elements()), NAN);
    mean_pool_backward(in, pool, dy.data(), dx.data());
    // Of a linear function the derivative by x is what its loss is where x alone is 1; of a plane's input the
    // outputs of other planes are 0.
    const Activations plane{1, 1, in.h, in.w};
    const int64_t outputs = out.h * out.w;
    for (int64_t i = 0; i < in.elements(); ++i) {
      Values one(static_cast<size_t>(in.pixels()));
      one[static_cast<size_t>(i % in.pixels())] = 1;
      const std::vector<double> slope = mean_model(plane, pool, one);
      double expected = 0;
      for (size_t o = 0; o < slope.size(); ++o)
        expected += slope[o] * dy[static_cast<size_t>(i / in.pixels() * outputs) + o];
      ASSERT_NEAR(dx[static_cast<size_t>(i)], expected, 5e-7) << i;
    }
  }
}

TEST(MaxPool, PointsIntoTheWindowWhateverTheValuesAre) {
  const Activations in{1, 1, 3, 3};
  const LayerOperation pool = *operation_from_text("pool 2x2/2 pad 1");
  for (float value : {NAN, -INFINITY}) {
    const Values x(9, value);
    Values y(4);
    std::vector<int32_t> winner(4, -1);
    max_pool_forward(in, pool, x.data(), y.data(), winner.data());
    EXPECT_EQ(winner, (std::vector<int32_t>{0, 1, 3, 4}));
  }
}

std::vector<double> lrn_model(const Activations& shape, const std::vector<double>& x) {
  std::vector<double> y(x.size());
  for (int64_t n = 0; n < shape.n; ++n)
    for (int64_t c = 0; c < shape.c; ++c)
      for (int64_t i = 0; i < shape.pixels(); ++i) {
        double sum = 0;
        for (int64_t other = std::max<int64_t>(0, c - 2); other <= std::min(shape.c - 1, c + 2); ++other)
          sum += std::pow(x[at(shape, n, other, 0, i)], 2);
        y[at(shape, n, c, 0, i)] = x[at(shape, n, c, 0, i)] * std::pow(2 + 1e-4 * sum, -0.75);
      }
  return y;
}

TEST(Lrn, IsKrizhevskysFormula) {
  for (const Activations& shape : kShapes) {
    Values x = random_values(shape.elements(), 7), y(x.size(), NAN), scale(x.size(), NAN);
    for (float& value : x) value *= 200;  // so that the sum of squares counts
    lrn_forward(shape, x.data(), y.data(), scale.data());
    const std::vector<double> expected = lrn_model(shape, {x.begin(), x.end()});
    for (size_t i = 0; i < y.size(); ++i) EXPECT_NEAR(y[i], expected[i], 1e-6 * std::abs(expected[i]));
  }
}

TEST(Lrn, BackwardIsTheDerivative) {
  for (const Activations& shape : {Activations{1, 7, 2, 3}, Activations{2, 3, 1, 20}}) {
    Values x = random_values(shape.elements(), 8), y(x.size()), scale(x.size()), dx(x.size(), NAN);
    for (float& value : x) value *= 100;
    const Values dy = random_values(shape.elements(), 9);
    lrn_forward(shape, x.data(), y.data(), scale.data());
    lrn_backward(shape, x.data(), y.data(), scale.data(), dy.data(), dx.data());
    for (size_t i = 0; i < x.size(); ++i) {
      const auto loss = [&](double change) {
        std::vector<double> moved(x.begin(), x.end());
        moved[i] += change;
        const std::vector<double> output = lrn_model(shape, moved);
        double sum = 0;
        for (size_t j = 0; j < output.size(); ++j) sum += output[j] * dy[j];
        return sum;
      };
      EXPECT_NEAR(dx[i], (loss(1e-3) - loss(-1e-3)) / 2e-3, 1e-5) << i;
    }
  }
}

// Scales, then shifts.
std::vector<double> batch_norm_model(const Activations& shape, const std::vector<double>& x,
                                     const Values& parameters, bool relu) {
  std::vector<double> y(x.size());
  for (int64_t c = 0; c < shape.c; ++c) {
    const auto each = [&](const auto& with) {
      for (int64_t n = 0; n < shape.n; ++n)
        for (int64_t i = 0; i < shape.pixels(); ++i) with(at(shape, n, c, 0, i));
    };
    const auto count = static_cast<double>(shape.n * shape.pixels());
    double mean = 0, variance = 0;
    each([&](size_t i) { mean += x[i] / count; });
    each([&](size_t i) { variance += (x[i] - mean) * (x[i] - mean) / count; });
    const double scale = parameters[static_cast<size_t>(c)],
                 shift = parameters[static_cast<size_t>(shape.c + c)];
    each([&](size_t i) {
      const double value = scale * (x[i] - mean) / std::sqrt(variance + 1e-5) + shift;
      y[i] = relu ? std::max(value, 0.0) : value;
    });
  }
  return y;
}

// Also planes of more than a block, and a channel that is one value.
const Activations kNormShapes[] = {{2, 3, 5, 7}, {3, 37, 1, 1}, {2, 6, 20, 17},
                                   {1, 1, 1, 3}, {1, 2, 1, 1},  {2, 1, 71, 67}};

TEST(BatchNorm, IsIoffesAndSzegedysFormulaHoweverFarTheMeanIsFromZero) {
  for (const Activations& shape : kNormShapes)
    for (bool relu : {false, true})
      for (float offset : {0.0F, 100.0F}) {
        Values x = random_values(shape.elements(), 20), y(x.size(), NAN),
               statistics(2 * static_cast<size_t>(shape.c), NAN);
        for (float& value : x) value += offset;
        const Values parameters = random_values(2 * shape.c, 21);
        batch_norm_forward(shape, x.data(), parameters.data(), relu, y.data(), statistics.data());
        // Squares of 100 less the square of their mean would leave no digit of a variance of 1/3.
        expect_near(y, batch_norm_model(shape, {x.begin(), x.end()}, parameters, relu),
                    offset > 0 ? 2e-4 : 5e-6);
      }
}

TEST(BatchNorm, BackwardIsTheDerivative) {
  for (const Activations& shape : {Activations{2, 3, 2, 3}, Activations{3, 2, 1, 7}, Activations{9, 2, 1, 1}})
    for (bool relu : {false, true}) {
      const Values x = random_values(shape.elements(), 22), dy = random_values(shape.elements(), 23);
      Values parameters = random_values(2 * shape.c, 24), statistics(parameters.size()), y(x.size()),
             dx(x.size(), NAN), gradients(parameters.size(), NAN);
      batch_norm_forward(shape, x.data(), parameters.data(), relu, y.data(), statistics.data());
      batch_norm_backward(shape, x.data(), parameters.data(), statistics.data(), relu, dy.data(), dx.data(),
                          gradients.data());
      const auto loss = [&](const std::vector<double>& input, const Values& at) {
        const std::vector<double> output = batch_norm_model(shape, input, at, relu);
        double sum = 0;
        for (size_t i = 0; i < output.size(); ++i) sum += output[i] * dy[i];
        return sum;
      };
      const std::vector<double> input(x.begin(), x.end());
      for (size_t i = 0; i < x.size(); ++i) {
        std::vector<double> up = input, down = input;
        up[i] += 1e-5;
        down[i] -= 1e-5;
        EXPECT_NEAR(dx[i], (loss(up, parameters) - loss(down, parameters)) / 2e-5, 1e-5) << i;
      }
      for (size_t i = 0; i < parameters.size(); ++i) {
        Values up = parameters, down = parameters;
        up[i] += 0x1p-10F;
        down[i] -= 0x1p-10F;
        EXPECT_NEAR(gradients[i], (loss(input, up) - loss(input, down)) / (double{up[i]} - double{down[i]}),
                    1e-5)
            << i;
      }
    }
}

TEST(BatchNorm, HasTheSameBitsHoweverManyThreadsThereAre) {
  const Activations shape{3, 5, 70, 61};
  const Values x = random_values(shape.elements(), 25), dy = random_values(shape.elements(), 26),
               parameters = random_values(2 * shape.c, 27);
  const auto result = [&](int threads) {
    omp_set_num_threads(threads);
    Values all(2 * x.size() + 4 * static_cast<size_t>(shape.c));
    float *const y = all.data(), *const dx = y + x.size(), *const statistics = dx + x.size();
    batch_norm_forward(shape, x.data(), parameters.data(), true, y, statistics);
    batch_norm_backward(shape, x.data(), parameters.data(), statistics, true, dy.data(), dx,
                        statistics + 2 * shape.c);
    return all;
  };
  const int before = omp_get_max_threads();
  const Values one = result(1);
  EXPECT_EQ(result(3), one);
  omp_set_num_threads(before);
}

TEST(Add, AddsInPlaceOrNotAndCutsAtZero) {
  for (int64_t count : {1, 3, 64, 70, 40000})
    for (bool relu : {false, true}) {
      const Values a = random_values(count, 28), b = random_values(count, 29);
      Values y(a.size(), NAN), in_place = a;
      add_forward(count, a.data(), b.data(), relu, y.data());
      add_forward(count, in_place.data(), b.data(), relu, in_place.data());
      for (size_t i = 0; i < y.size(); ++i) EXPECT_EQ(y[i], relu ? std::max(a[i] + b[i], 0.0F) : a[i] + b[i]);
      EXPECT_EQ(in_place, y);
    }
}

TEST(SoftmaxLoss, IsTheMeanCrossEntropyAndBackwardItsDerivative) {
  const Activations shape{2, 4, 1, 3};
  const std::vector<int32_t> labels{3, 0};
  const Values x = random_values(shape.elements(), 10);
  const auto model = [&](const std::vector<double>& values) {
    double loss = 0;
    for (int64_t n = 0; n < shape.n; ++n) {
      std::vector<double> mean(4);
      double total = 0;
      for (int64_t c = 0; c < shape.c; ++c) {
        for (int64_t i = 0; i < 3; ++i) mean[static_cast<size_t>(c)] += values[at(shape, n, c, 0, i)] / 3;
        total += std::exp(mean[static_cast<size_t>(c)]);
      }
      loss -= std::log(std::exp(mean[static_cast<size_t>(labels[static_cast<size_t>(n)])]) / total) / 2;
    }
    return loss;
  };
  Values dx(x.size(), NAN);
  const auto loss = [&](const Values& of) {
    double losses[2];
    softmax_loss(shape, of.data(), labels.data(), losses, dx.data());
    return (losses[0] + losses[1]) / 2;
  };
  EXPECT_NEAR(loss(x), model({x.begin(), x.end()}), 1e-12);
  for (size_t i = 0; i < x.size(); ++i) {
    std::vector<double> up(x.begin(), x.end()), down = up;
    up[i] += 1e-4;
    down[i] -= 1e-4;
    EXPECT_NEAR(dx[i], (model(up) - model(down)) / 2e-4, 1e-7) << i;
  }
  Values large(x.size());
  for (size_t i = 0; i < x.size(); ++i) large[i] = 1000 * x[i];
  EXPECT_TRUE(std::isfinite(loss(large)));
}

TEST(Update, IsMomentumWithDecay) {
  const UpdateRule rule{0.1F, 0.9F, 0.01F};
  Values weight = random_values(70, 11), velocity = random_values(70, 12);
  const Values gradient = random_values(70, 13), old_weight = weight, old_velocity = velocity;
  update(rule, 70, gradient.data(), velocity.data(), weight.data());
  for (size_t i = 0; i < weight.size(); ++i) {
    const double expected = 0.9 * old_velocity[i] + gradient[i] + 0.01 * old_weight[i];
    EXPECT_NEAR(velocity[i], expected, 1e-6);
    EXPECT_NEAR(weight[i], old_weight[i] - 0.1 * expected, 1e-6);
  }
}

}  // namespace
}  // namespace convscope
