#include "bench/parallel/reductions/one_bit.hpp"

#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <mutex>
#include <numbers>
#include <string>
#include <vector>

#include "bench/core/random.hpp"
#include "bench/device/cpu/cpu_device.hpp"
#include "bench/parallel/fabric/threads_fabric.hpp"
#include "bench/parallel/reductions/one_bit_reduction.hpp"

namespace convscope {
namespace {

// N(0, 1) by Box and Muller.
double normal(uint64_t seed, uint64_t index) {
  const auto uniform = [&](uint64_t i) {
    return (static_cast<double>(random_bits(seed, i) >> 11) + 0.5) * 0x1p-53;
  };
  return std::sqrt(-2 * std::log(uniform(2 * index))) *
         std::cos(2 * std::numbers::pi * uniform(2 * index + 1));
}

// What is kept as the error of a column.
enum class Feedback { of_the_code, none, of_the_gradient };

// The definition, value by value in T: returns the column as it is decoded. The mutants are two that were
// made in other implementations: no feedback at all, and e = g - Q, which drops the old error.
template <typename T>
std::vector<T> coded(const std::vector<T>& gradient, std::vector<T>& error, Feedback feedback) {
  T sum[2] = {0, 0};
  int64_t number[2] = {0, 0};
  const size_t size = gradient.size();
  std::vector<T> v(size), decoded(size);
  for (size_t i = 0; i < size; ++i) {
    v[i] = gradient[i] + error[i];
    const int side = v[i] >= 0 ? 0 : 1;
    sum[side] += v[i];
    ++number[side];
  }
  for (size_t i = 0; i < size; ++i) {
    const int side = v[i] >= 0 ? 0 : 1;
    decoded[i] = sum[side] / static_cast<T>(number[side]);
    const T kept = feedback == Feedback::of_the_code ? v[i]
                   : feedback == Feedback::none      ? decoded[i]
                                                     : gradient[i];
    error[i] = kept - decoded[i];
  }
  return decoded;
}

// Replaces a gradient by what is decoded of it, and keeps an error from call to call.
template <typename T>
using Codec = std::function<void(std::vector<T>& gradient, std::vector<T>& error)>;

template <typename T>
Codec<T> definition(Feedback feedback) {
  return [feedback](std::vector<T>& gradient, std::vector<T>& error) {
    gradient = coded(gradient, error, feedback);
  };
}

void kernel(std::vector<float>& gradient, std::vector<float>& error) {
  const Columns column{1, static_cast<int64_t>(gradient.size())};
  std::vector<uint32_t> encoded(column.encoded_words());
  encode(column, gradient, error, encoded);
  decode(column, encoded, gradient);
}

// The largest |sum Q - (sum g - e_T)| over many steps of gradients with a mean, over the mean of |sum g|.
template <typename T>
double identity_error(const Codec<T>& codec) {
  constexpr size_t kValues = 100;
  std::vector<double> gradients(kValues), decoded(kValues);
  std::vector<T> error(kValues);
  for (uint64_t step = 0; step < 300; ++step) {
    std::vector<T> gradient(kValues);
    for (size_t i = 0; i < kValues; ++i) {
      gradient[i] = static_cast<T>(normal(step, i) + 0.01 * static_cast<double>(i));
      gradients[i] += static_cast<double>(gradient[i]);
    }
    codec(gradient, error);
    for (size_t i = 0; i < kValues; ++i) decoded[i] += static_cast<double>(gradient[i]);
  }
  double worst = 0, scale = 0;
  for (size_t i = 0; i < kValues; ++i) {
    worst = std::max(worst, std::abs(decoded[i] - (gradients[i] - static_cast<double>(error[i]))));
    scale += std::abs(gradients[i]) / kValues;
  }
  return worst / scale;
}

TEST(OneBit, SendsAllThatItWasGivenLessTheLastError) {
  EXPECT_LT(identity_error<double>(definition<double>(Feedback::of_the_code)), 1e-12);
  EXPECT_LT(identity_error<float>(kernel), 1e-6);  // the same but for the rounding of 300 steps in f32
}

TEST(OneBit, WithoutFeedbackOrWithThatOfTheGradientAloneIsCaughtByTheIdentity) {
  for (Feedback mutant : {Feedback::none, Feedback::of_the_gradient}) {
    EXPECT_GT(identity_error<double>(definition<double>(mutant)), 1e-2);
    EXPECT_GT(identity_error<float>(definition<float>(mutant)), 1e-2);
  }
}

TEST(OneBit, LosesTheShareOfAGaussianThatTheoryGives) {
  std::vector<float> gradient(100'000), error(gradient.size());
  double squares = 0, lost = 0;
  for (size_t i = 0; i < gradient.size(); ++i) {
    gradient[i] = static_cast<float>(normal(7, i));
    squares += double{gradient[i]} * gradient[i];
  }
  kernel(gradient, error);
  for (float e : error) lost += double{e} * e;
  EXPECT_NEAR(lost / squares, 1 - 2 / std::numbers::pi, 0.01);
}

TEST(OneBit, CodesColumnsOfEveryLengthAsTheDefinitionDoes) {
  for (const int64_t target : hwy::SupportedAndGeneratedTargets()) {
    SCOPED_TRACE(hwy::TargetName(target));
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    for (int64_t values : {1, 2, 7, 31, 32, 33, 63, 64, 100, 363}) {
      SCOPED_TRACE(values);
      const Columns columns{3, values};
      std::vector<float> gradient, error, decoded(columns.elements());
      for (size_t i = 0; i < columns.elements(); ++i) {
        gradient.push_back(random_uniform(1, i));
        error.push_back(random_uniform(2, i));
      }
      const std::vector<float> old_error = error;
      std::vector<uint32_t> encoded(columns.encoded_words(), 0xffffffff);
      encode(columns, gradient, error, encoded);
      decode(columns, encoded, decoded);
      std::vector<float> twice = decoded;
      decode(columns, encoded, twice, true);
      for (int64_t column = 0; column < columns.count; ++column) {
        std::vector<double> g, e;
        for (int64_t i = 0; i < values; ++i) {
          g.push_back(gradient[static_cast<size_t>(column * values + i)]);
          e.push_back(old_error[static_cast<size_t>(column * values + i)]);
        }
        const std::vector<double> expected = coded(g, e, Feedback::of_the_code);
        for (int64_t i = 0; i < values; ++i) {
          const auto at = static_cast<size_t>(column * values + i), one = static_cast<size_t>(i);
          ASSERT_NEAR(decoded[at], expected[one], 1e-5) << "value " << i << " of column " << column;
          ASSERT_NEAR(error[at], e[one], 1e-5) << "value " << i << " of column " << column;
          ASSERT_EQ(twice[at], decoded[at] + decoded[at]);
        }
        const size_t last_word = static_cast<size_t>(column + 1) * columns.words_of_column() - 1;
        const uint64_t behind = uint64_t{encoded[last_word]} >> ((values - 1) % 32 + 1);
        EXPECT_EQ(behind, 0U) << "bits behind the last value";
      }
    }
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

TEST(OneBit, SetsTheLevelOfAnEmptySideToZero) {
  const Columns column{1, 4};
  std::vector<float> error(4), decoded(4);
  std::vector<uint32_t> encoded(column.encoded_words());
  encode(column, std::vector<float>{1, 2, 3, 2}, error, encoded);
  EXPECT_EQ(std::bit_cast<float>(encoded[0]), 2);
  EXPECT_EQ(std::bit_cast<float>(encoded[1]), 0);
  EXPECT_EQ(encoded[2], 0xfU);
  EXPECT_EQ(error, (std::vector<float>{-1, 0, 1, 0}));
}

TEST(OneBit, OfNothingIsNothing) {
  std::vector<float> gradient(45), error(45);
  gradient[40] = -0.0F;
  kernel(gradient, error);
  EXPECT_EQ(gradient, std::vector<float>(45));
  EXPECT_EQ(error, std::vector<float>(45));
}

TEST(OneBit, HidesNoValueThatIsNotFinite) {
  for (const float value : {NAN, INFINITY, -INFINITY})
    for (const size_t at : {size_t{0}, size_t{31}, size_t{40}}) {  // in a whole word, and behind it
      std::vector<float> gradient(45, 1.0F), error(45);
      gradient[at] = value;
      kernel(gradient, error);
      EXPECT_FALSE(std::isfinite(gradient[at])) << value << " at " << at;
      EXPECT_FALSE(std::isfinite(error[at])) << value << " at " << at;
    }
}

// AlexNet's layers as configs/alexnet_full.json has them; biases stay in FP32.
TEST(OneBit, MakesOne31stOfAlexNetsGradients) {
  int64_t plain = 0, sent = 0;
  for (const Columns& layer : {Columns{96, 363},
                               {256, 2400},
                               {384, 2304},
                               {384, 3456},
                               {256, 3456},
                               {4096, 9216},
                               {4096, 4096},
                               {1000, 4096}}) {
    plain += 4 * layer.count * (layer.values + 1);
    sent += encoded_bytes(layer) + 4 * layer.count;
  }
  EXPECT_EQ(plain, 249513376);
  EXPECT_EQ(sent, 7923040);
}

// --- The reduction over it ---

TEST(OneBitReduction, ReturnsTheSumsOfAllStepsLessAllErrorsWithTheSameBitsOnAllRanks) {
  const Columns columns{7, 45};  // columns that no number of ranks divides
  for (int ranks : {2, 3, 4, 9}) {
    SCOPED_TRACE(ranks);
    std::vector<std::vector<float>> returned(static_cast<size_t>(ranks));  // the last step's
    std::vector<double> gradients(columns.elements()), sums(columns.elements()), errors(columns.elements());
    std::mutex mutex;
    run_ranks(ranks, [&](Fabric& fabric) {
      CpuDevice device;
      const auto queue = device.make_queue();
      OneBitReduction reduction(columns, ranks, fabric.rank(), device, *queue);
      std::vector<float> gradient(columns.elements());
      for (uint64_t step = 0; step < 50; ++step) {
        for (size_t i = 0; i < gradient.size(); ++i)
          gradient[i] = random_uniform(step * 100 + static_cast<uint64_t>(fabric.rank()), i) + 0.25F;
        const std::lock_guard lock(mutex);
        for (size_t i = 0; i < gradient.size(); ++i) gradients[i] += double{gradient[i]};
      }
      for (uint64_t step = 0; step < 50; ++step) {
        for (size_t i = 0; i < gradient.size(); ++i)
          gradient[i] = random_uniform(step * 100 + static_cast<uint64_t>(fabric.rank()), i) + 0.25F;
        reduction.all_reduce(fabric, gradient);
        if (fabric.rank() == 0)
          for (size_t i = 0; i < gradient.size(); ++i) sums[i] += double{gradient[i]};
      }
      returned[static_cast<size_t>(fabric.rank())] = gradient;
      const std::lock_guard lock(mutex);
      for (size_t i = 0; i < gradient.size(); ++i) errors[i] += double{reduction.kept(i)};
    });
    for (size_t i = 0; i < sums.size(); ++i)
      ASSERT_NEAR(sums[i], gradients[i] - errors[i], 1e-3) << "of sums of about " << 12.5 * ranks;
    for (const auto& mine : returned) EXPECT_EQ(mine, returned.front());
  }
}

TEST(OneBitReduction, LeavesTheGradientOfOneRankAsItIs) {
  run_ranks(1, [](Fabric& fabric) {
    CpuDevice device;
    const auto queue = device.make_queue();
    OneBitReduction reduction({2, 3}, 1, 0, device, *queue);
    std::vector<float> gradient{1, -2, 3, -4, 5, -6};
    reduction.all_reduce(fabric, gradient);
    EXPECT_EQ(gradient, (std::vector<float>{1, -2, 3, -4, 5, -6}));
    std::vector<float> other(5);
    EXPECT_THROW(reduction.all_reduce(fabric, other), std::invalid_argument);
  });
}

TEST(OneBitReduction, SendsWhatTheClosedFormSays) {
  const Columns columns{64, 320};
  for (int ranks : {2, 4, 8})
    EXPECT_DOUBLE_EQ(OneBitReduction::busiest_bytes(columns, ranks),
                     2.0 * (ranks - 1) / ranks * static_cast<double>(encoded_bytes(columns)));
  EXPECT_EQ(OneBitReduction::busiest_bytes(columns, 1), 0);
}

// Least squares, each rank with equations of its own. Where they contradict each other no rank's gradient is
// zero at the solution, only their sum is.
struct LeastSquares {
  static constexpr int kRanks = 4, kEquations = 32, kUnknowns = 16;
  bool is_consistent = false;

  double row(int rank, int equation, int unknown) const {
    return normal(static_cast<uint64_t>(rank) + 1, static_cast<uint64_t>(equation * kUnknowns + unknown));
  }
  double right(int rank, int equation) const {
    if (!is_consistent) return normal(static_cast<uint64_t>(rank) + 50, static_cast<uint64_t>(equation));
    double sum = 0;
    for (int i = 0; i < kUnknowns; ++i) sum += row(rank, equation, i) * (i - 7.5);
    return sum;
  }
  // The rows and right sides of one rank's equations, computed once.
  std::vector<double> equations(int rank) const {
    std::vector<double> all;
    for (int equation = 0; equation < kEquations; ++equation) {
      for (int i = 0; i < kUnknowns; ++i) all.push_back(row(rank, equation, i));
      all.push_back(right(rank, equation));
    }
    return all;
  }
};

// The mean over the equations of (row x - right) row.
std::vector<float> gradient_of(const std::vector<double>& equations, const std::vector<float>& x) {
  std::vector<double> sum(x.size());
  for (auto row = equations.begin(); row != equations.end(); row += static_cast<ptrdiff_t>(x.size()) + 1) {
    double residual = -row[static_cast<ptrdiff_t>(x.size())];
    for (size_t i = 0; i < x.size(); ++i) residual += row[static_cast<ptrdiff_t>(i)] * double{x[i]};
    for (size_t i = 0; i < x.size(); ++i)
      sum[i] += residual * row[static_cast<ptrdiff_t>(i)] / LeastSquares::kEquations;
  }
  return {sum.begin(), sum.end()};
}

double distance(const std::vector<float>& x, const std::vector<float>& solution) {
  double squares = 0, all = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    squares += std::pow(double{x[i]} - double{solution[i]}, 2);
    all += std::pow(double{solution[i]}, 2);
  }
  return std::sqrt(squares / all);
}

constexpr float kRate = 0.02F;
constexpr int kSteps = 1500;

// x after kSteps steps down the mean of the ranks' gradients, each as `codec` sends it; exact without one.
std::vector<float> descended(const LeastSquares& problem, const Codec<float>& codec = nullptr,
                             float rate = kRate) {
  std::vector<float> x(LeastSquares::kUnknowns);
  std::vector<std::vector<double>> equations;
  for (int rank = 0; rank < LeastSquares::kRanks; ++rank) equations.push_back(problem.equations(rank));
  std::vector<std::vector<float>> errors(equations.size(), x);
  for (int step = 0; step < kSteps; ++step) {
    std::vector<float> sum(x.size());
    for (size_t rank = 0; rank < equations.size(); ++rank) {
      std::vector<float> gradient = gradient_of(equations[rank], x);
      if (codec) codec(gradient, errors[rank]);
      for (size_t i = 0; i < x.size(); ++i) sum[i] += gradient[i];
    }
    for (size_t i = 0; i < x.size(); ++i) x[i] -= rate * sum[i] / LeastSquares::kRanks;
  }
  return x;
}

// The same on ranks of their own, summed by the reduction.
std::vector<float> descended_together(const LeastSquares& problem) {
  std::vector<float> result;
  run_ranks(LeastSquares::kRanks, [&](Fabric& fabric) {
    CpuDevice device;
    const auto queue = device.make_queue();
    OneBitReduction reduction({4, LeastSquares::kUnknowns / 4}, fabric.size(), fabric.rank(), device, *queue);
    const std::vector<double> equations = problem.equations(fabric.rank());
    std::vector<float> x(LeastSquares::kUnknowns);
    for (int step = 0; step < kSteps; ++step) {
      std::vector<float> gradient = gradient_of(equations, x);
      reduction.all_reduce(fabric, gradient);
      for (size_t i = 0; i < x.size(); ++i) x[i] -= kRate * gradient[i] / LeastSquares::kRanks;
    }
    if (fabric.rank() == 0) result = x;
  });
  return result;
}

TEST(OneBitReduction, FindsALeastSquaresSolutionThatAllRanksAgreeOnAsExactSumsDo) {
  const LeastSquares problem{true};
  std::vector<float> solution;
  for (int i = 0; i < LeastSquares::kUnknowns; ++i) solution.push_back(static_cast<float>(i) - 7.5F);
  EXPECT_LT(distance(descended(problem), solution), 1e-4);
  EXPECT_LT(distance(descended_together(problem), solution), 1e-4);
}

// At a fixed step 1-bit gradients stay about a hundredth from the solution; without the right feedback it is
// another solution.
TEST(OneBitReduction, FindsALeastSquaresSolutionThatRanksDisagreeOnAndWithoutFeedbackDoesNot) {
  const LeastSquares problem{false};
  const std::vector<float> solution = descended(problem);
  EXPECT_LT(distance(descended_together(problem), solution), 0.04);
  EXPECT_LT(distance(descended(problem, kernel), solution), 0.04);
  EXPECT_GT(distance(descended(problem, definition<float>(Feedback::none)), solution), 0.1);
  EXPECT_GT(distance(descended(problem, definition<float>(Feedback::of_the_gradient)), solution), 0.1);
}

// What is fed back comes steps later: a rate that is small enough for gradients is too large for their codes.
TEST(OneBitReduction, StaysFarFromASolutionThatRanksDisagreeOnAtARateAtWhichExactSumsFindIt) {
  const LeastSquares problem{false};
  const std::vector<float> solution = descended(problem);
  EXPECT_LT(distance(descended(problem, nullptr, 0.5F), solution), 1e-4);
  EXPECT_GT(distance(descended(problem, kernel, 0.5F), solution), 0.2);
}

}  // namespace
}  // namespace convscope
