#include "bench/verify/batch_norm_reference.hpp"

#include <algorithm>
#include <cmath>

#include "bench/core/random.hpp"

namespace convscope {
namespace {

// Of a channel, and what batch normalisation makes of one value of it.
struct Normalised {
  double mean, reciprocal, scale, shift;
  double from_mean(double x) const { return (x - mean) * reciprocal; }
  double operator()(double x) const { return scale * from_mean(x) + shift; }
};

template <typename At>
void for_channel(const Activations& shape, int64_t channel, const At& at) {
  for (int64_t n = 0; n < shape.n; ++n)
    for (int64_t i = 0; i < shape.pixels(); ++i)
      at(static_cast<size_t>((n * shape.c + channel) * shape.pixels() + i));
}

Normalised normalised(const Activations& shape, int64_t channel, const std::vector<float>& x,
                      const std::vector<float>& parameters) {
  const auto count = static_cast<double>(shape.n * shape.pixels());
  double sum = 0, squares = 0;
  for_channel(shape, channel, [&](size_t i) { sum += x[i]; });
  const double mean = sum / count;
  for_channel(shape, channel, [&](size_t i) { squares += (x[i] - mean) * (x[i] - mean); });
  const auto scale = static_cast<size_t>(channel);
  return {mean, 1 / std::sqrt(squares / count + kBatchNormEpsilon), parameters[scale],
          parameters[scale + static_cast<size_t>(shape.c)]};
}

}  // namespace

void fill_batch_norm(const OperationProblem& problem, uint64_t seed, BySlot<float>& data) {
  constexpr double grid = 512;
  const Activations& shape = problem.in;
  std::vector<float>&x = data[Slot::x], &parameters = data[Slot::parameter];
#pragma omp parallel for schedule(static)
  for (int64_t channel = 0; channel < shape.c; ++channel) {
    const auto drawn = [&](uint64_t i) {
      return random_uniform(random_bits(seed, static_cast<uint64_t>(channel)), i);
    };
    const double offset = std::floor(2 * grid * drawn(0));
    for_channel(shape, channel, [&](size_t i) {
      x[i] = static_cast<float>((offset + std::floor(grid * drawn(1 + i))) / grid);
    });
    float& scale = parameters[static_cast<size_t>(channel)];
    scale = 1 + scale / 2;
    const Normalised of = normalised(shape, channel, x, parameters);
    const double zero = (std::floor(grid * (of.mean + drawn(0) / 4)) + 0.5) / grid;
    parameters[static_cast<size_t>(shape.c + channel)] = static_cast<float>(-scale * of.from_mean(zero));
  }
}

void batch_norm_reference(const OperationProblem& problem, const BySlot<float>& data,
                          BySlot<double>& expected) {
  const Activations& shape = problem.in;
  const std::vector<float>&x = data[Slot::x], &dy = data[Slot::dy];
  const bool has_relu = problem.has_relu();
  std::vector<double>& result = expected[problem.backward ? Slot::dx : Slot::y];
  std::vector<double>& gradients = expected[Slot::parameter_gradient];
  result.resize(x.size());
  if (problem.backward) gradients.resize(2 * static_cast<size_t>(shape.c));
  const auto count = static_cast<double>(shape.n * shape.pixels());
#pragma omp parallel for schedule(static)
  for (int64_t channel = 0; channel < shape.c; ++channel) {
    const Normalised of = normalised(shape, channel, x, data[Slot::parameter]);
    if (!problem.backward) {
      for_channel(shape, channel,
                  [&](size_t i) { result[i] = has_relu ? std::max(of(x[i]), 0.0) : of(x[i]); });
      continue;
    }
    const auto gradient = [&](size_t i) { return has_relu && of(x[i]) <= 0 ? 0.0 : double{dy[i]}; };
    double sum = 0, weighted = 0;
    for_channel(shape, channel, [&](size_t i) {
      sum += gradient(i);
      weighted += gradient(i) * of.from_mean(x[i]);
    });
    gradients[static_cast<size_t>(channel)] = weighted;
    gradients[static_cast<size_t>(shape.c + channel)] = sum;
    for_channel(shape, channel, [&](size_t i) {
      result[i] =
          of.scale * of.reciprocal * (gradient(i) - sum / count - of.from_mean(x[i]) * weighted / count);
    });
  }
}

}  // namespace convscope
