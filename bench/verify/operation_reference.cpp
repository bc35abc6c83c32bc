#include "bench/verify/operation_reference.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "bench/core/local_response.hpp"
#include "bench/core/random.hpp"
#include "bench/verify/batch_norm_reference.hpp"
#include "bench/verify/element_blocks.hpp"

namespace convscope {
namespace {

constexpr double kGate = 2e-5;
// Activations so large that the sum of squares shows in a normalisation's scale.
constexpr float kActivation = 30;
constexpr int64_t kLrnReach = local_response::kReach;

bool has(const OperationProblem& problem, Slot slot) {
  return std::ranges::any_of(problem.slots(), [&](const SlotUse& use) { return use.slot == slot; });
}

// Of a plane of up to 2^22 pixels no two values are equal.
void fill_distinct(const Activations& shape, uint64_t seed, std::vector<float>& values) {
  constexpr uint64_t count = uint64_t{1} << 22, odd = 2654435761;
  const int64_t pixels = shape.pixels();
#pragma omp parallel for schedule(static)
  for (int64_t plane = 0; plane < shape.n * shape.c; ++plane) {
    const uint64_t shift = random_bits(seed, static_cast<uint64_t>(plane));
    for (int64_t i = 0; i < pixels; ++i) {
      const uint64_t place = (static_cast<uint64_t>(i) * odd + shift) % count;
      values[static_cast<size_t>(plane * pixels + i)] = static_cast<float>(place) / (count / 2) - 1;
    }
  }
}

// The element of another channel of the same image and pixel.
template <typename T>
double other_channel(const Activations& shape, const std::vector<T>& values, int64_t i, int64_t step) {
  return values[static_cast<size_t>(i + step * shape.pixels())];
}

// k + alpha times the sum of squares around the element.
double lrn_scale(const Activations& shape, const std::vector<float>& x, int64_t i) {
  const int64_t channel = i / shape.pixels() % shape.c;
  double squares = 0;
  for (int64_t step = -std::min(kLrnReach, channel); step <= std::min(kLrnReach, shape.c - 1 - channel);
       ++step)
    squares += std::pow(other_channel(shape, x, i, step), 2);
  return local_response::kBias + local_response::kAlpha * squares;
}

template <typename Value>
std::vector<double> for_each(int64_t count, const Value& value) {
  std::vector<double> values(static_cast<size_t>(count));
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < count; ++i) values[static_cast<size_t>(i)] = value(i);
  return values;
}

std::vector<double> lrn(const Activations& shape, const std::vector<float>& x) {
  return for_each(shape.elements(), [&](int64_t i) {
    return x[static_cast<size_t>(i)] * std::pow(lrn_scale(shape, x, i), -local_response::kBeta);
  });
}

// dx_i = dy_i s_i^-beta - 2 alpha beta x_i sum over the neighbours j of dy_j y_j / s_j.
std::vector<double> lrn_gradient(const Activations& shape, const BySlot<float>& data) {
  const std::vector<float>&x = data[Slot::x], &dy = data[Slot::dy];
  const std::vector<double> scale =
      for_each(shape.elements(), [&](int64_t i) { return lrn_scale(shape, x, i); });
  return for_each(shape.elements(), [&](int64_t i) {
    const int64_t channel = i / shape.pixels() % shape.c;
    double sum = 0;
    for (int64_t step = -std::min(kLrnReach, channel); step <= std::min(kLrnReach, shape.c - 1 - channel);
         ++step) {
      const double s = other_channel(shape, scale, i, step);
      const double y = other_channel(shape, x, i, step) * std::pow(s, -local_response::kBeta);
      sum += other_channel(shape, dy, i, step) * y / s;
    }
    const auto at = static_cast<size_t>(i);
    return dy[at] * std::pow(scale[at], -local_response::kBeta) -
           2 * local_response::kAlpha * local_response::kBeta * x[at] * sum;
  });
}

// Calls at(cells, place in y) for every window; cells are the places in x of what of it is in the image.
template <typename At>
void for_each_window(const OperationProblem& problem, const At& at) {
  const Activations in = problem.in, out = problem.out();
  const LayerOperation& pool = problem.pool;
#pragma omp parallel for schedule(static)
  for (int64_t plane = 0; plane < out.n * out.c; ++plane) {
    std::vector<size_t> cells;
    for (int64_t p = 0; p < out.h; ++p)
      for (int64_t q = 0; q < out.w; ++q) {
        cells.clear();
        for (int64_t r = 0; r < pool.window.h; ++r)
          for (int64_t s = 0; s < pool.window.w; ++s) {
            const int64_t h = p * pool.stride.h - pool.pad.h + r, w = q * pool.stride.w - pool.pad.w + s;
            if (h < 0 || h >= in.h || w < 0 || w >= in.w) continue;
            cells.push_back(static_cast<size_t>((plane * in.h + h) * in.w + w));
          }
        at(cells, static_cast<size_t>((plane * out.h + p) * out.w + q));
      }
  }
}

std::vector<double> sums_over_channels(const Activations& shape, const std::vector<double>& values) {
  return for_each(shape.c, [&](int64_t channel) {
    double sum = 0;
    for (int64_t n = 0; n < shape.n; ++n)
      for (int64_t i = 0; i < shape.pixels(); ++i)
        sum += values[static_cast<size_t>((n * shape.c + channel) * shape.pixels() + i)];
    return sum;
  });
}

void add_bias_relu(const OperationProblem& problem, const BySlot<float>& data, BySlot<double>& expected) {
  const Activations& shape = problem.in;
  const std::vector<float>&y = data[Slot::y], &dy = data[Slot::dy];
  const bool has_bias = problem.has_bias(), has_relu = problem.has_relu();
  if (!problem.backward) {
    expected[Slot::y] = for_each(shape.elements(), [&](int64_t i) {
      const auto channel = static_cast<size_t>(i / shape.pixels() % shape.c);
      const double sum =
          y[static_cast<size_t>(i)] + (has_bias ? double{data[Slot::parameter][channel]} : 0.0);
      return has_relu ? std::max(sum, 0.0) : sum;
    });
    return;
  }
  const std::vector<double> masked = for_each(shape.elements(), [&](int64_t i) {
    const auto at = static_cast<size_t>(i);
    return has_relu && y[at] <= 0 ? 0.0 : double{dy[at]};
  });
  if (has_relu) expected[Slot::dy] = masked;
  if (has_bias) expected[Slot::parameter_gradient] = sums_over_channels(shape, masked);
}

void add_pool(const OperationProblem& problem, const BySlot<float>& data, BySlot<double>& expected) {
  const std::vector<float>&x = data[Slot::x], &dy = data[Slot::dy];
  const bool is_mean = problem.sort == OperationSort::mean;
  const auto cells_of_mean = [&](const std::vector<size_t>& cells) {
    const Extent2 window = problem.pool.window;
    return problem.pool.counts_padding ? static_cast<double>(window.h * window.w)
                                       : static_cast<double>(cells.size());
  };
  // The first of equal ones.
  const auto largest = [&](const std::vector<size_t>& cells) {
    return *std::ranges::max_element(cells, {}, [&](size_t at) { return x[at]; });
  };
  if (problem.backward) {
    std::vector<double>& dx = expected[Slot::dx];
    dx.assign(static_cast<size_t>(problem.in.elements()), 0);
    for_each_window(problem, [&](const std::vector<size_t>& cells, size_t to) {
      if (!is_mean)
        dx[largest(cells)] += dy[to];
      else
        for (size_t at : cells) dx[at] += dy[to] / cells_of_mean(cells);
    });
    return;
  }
  std::vector<double>& y = expected[Slot::y];
  y.assign(static_cast<size_t>(problem.out().elements()), 0);
  for_each_window(problem, [&](const std::vector<size_t>& cells, size_t to) {
    if (!is_mean)
      y[to] = x[largest(cells)];
    else
      for (size_t at : cells) y[to] += x[at] / cells_of_mean(cells);
  });
}

void add_sum(const OperationProblem& problem, const BySlot<float>& data, BySlot<double>& expected) {
  expected[Slot::y] = for_each(problem.in.elements(), [&](int64_t i) {
    const double sum = double{data[Slot::y][static_cast<size_t>(i)]} + data[Slot::x][static_cast<size_t>(i)];
    return problem.has_relu() ? std::max(sum, 0.0) : sum;
  });
}

void add_update(const BySlot<float>& data, BySlot<double>& expected) {
  const UpdateRule rule;
  const std::vector<float>&weight = data[Slot::parameter], &gradient = data[Slot::parameter_gradient],
        &velocity = data[Slot::velocity];
  const auto count = static_cast<int64_t>(weight.size());
  expected[Slot::velocity] = for_each(count, [&](int64_t i) {
    const auto at = static_cast<size_t>(i);
    return double{rule.momentum} * velocity[at] + gradient[at] + double{rule.decay} * weight[at];
  });
  expected[Slot::parameter] = for_each(count, [&](int64_t i) {
    const auto at = static_cast<size_t>(i);
    return weight[at] - double{rule.rate} * expected[Slot::velocity][at];
  });
}

// Of each column v = gradient + error: the means of its values above and below zero, and what they miss.
void add_one_bit(const OperationProblem& problem, const BySlot<float>& data, BySlot<double>& expected) {
  const std::vector<float>&gradient = data[Slot::parameter_gradient], &error = data[Slot::error];
  std::vector<double>&decoded = expected[Slot::parameter_gradient], &lost = expected[Slot::error];
  decoded.resize(gradient.size());
  lost.resize(gradient.size());
  const int64_t values = problem.in.elements() / problem.in.n;
#pragma omp parallel for schedule(static)
  for (int64_t column = 0; column < problem.in.n; ++column) {
    double sums[2] = {}, counts[2] = {};
    const auto value = [&](int64_t i) {
      return double{gradient[static_cast<size_t>(i)]} + error[static_cast<size_t>(i)];
    };
    for (int64_t i = column * values; i < (column + 1) * values; ++i) {
      sums[value(i) >= 0] += value(i);
      ++counts[value(i) >= 0];
    }
    for (int64_t i = column * values; i < (column + 1) * values; ++i) {
      const bool is_set = value(i) >= 0;
      decoded[static_cast<size_t>(i)] = sums[is_set] / counts[is_set];
      lost[static_cast<size_t>(i)] = value(i) - sums[is_set] / counts[is_set];
    }
  }
}

struct BlockError {
  double error = 0, norm = 0;
  size_t not_finite = SIZE_MAX;  // the first such element
};

// The relative L2 error of what was written, or the first thing that is no number.
OperationCheck compare(Slot slot, const std::vector<float>& found, const std::vector<double>& expected) {
  std::vector<BlockError> blocks(element_blocks(expected.size()));
  for_each_block(expected.size(), [&](size_t block, size_t begin, size_t end) {
    BlockError sum;
    for (size_t i = begin; i < end; ++i) {
      if (!std::isfinite(found[i])) sum.not_finite = std::min(sum.not_finite, i);
      sum.error += std::pow(found[i] - expected[i], 2);
      sum.norm += std::pow(expected[i], 2);
    }
    blocks[block] = sum;
  });
  double error = 0, norm = 0;
  for (const BlockError& block : blocks) {
    if (const size_t i = block.not_finite; i != SIZE_MAX)
      return {0, fmt::format("element {} of {} is {}", i, name(slot), found[i])};
    error += block.error;
    norm += block.norm;
  }
  OperationCheck check{norm > 0 ? std::sqrt(error / norm) : std::sqrt(error), {}};
  if (check.relative_l2 > kGate)
    check.fault = fmt::format("the relative L2 error of {} is {:.2g}, more than {}", name(slot),
                              check.relative_l2, kGate);
  return check;
}

}  // namespace

BySlot<float> operation_data(const OperationProblem& problem, uint64_t seed) {
  BySlot<float> data;
  const auto fill = [&](Slot slot, float reach) {
    std::vector<float>& values = data[slot];
    values.resize(static_cast<size_t>(problem.elements(slot)));
    const uint64_t stream = random_bits(seed, static_cast<uint64_t>(slot));
    const auto count = static_cast<int64_t>(values.size());
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < count; ++i)
      values[static_cast<size_t>(i)] = reach * random_uniform(stream, static_cast<uint64_t>(i));
  };
  for (const SlotUse& use : problem.slots()) fill(use.slot, 1);
  if (problem.sort == OperationSort::lrn || problem.is_pool()) {
    fill(Slot::x, kActivation);
    if (problem.sort == OperationSort::pool) fill_distinct(problem.in, seed, data[Slot::x]);
    fill(Slot::y, 1);
  }
  if (problem.is_batch_norm()) {
    fill(Slot::y, 1);
    fill_batch_norm(problem, seed, data);
  }
  // What forward leaves.
  std::vector<float>& y = data[Slot::y];
  if (problem.backward && problem.sort == OperationSort::lrn) {
    const std::vector<double> values = lrn(problem.in, data[Slot::x]);
    y.assign(values.begin(), values.end());
  }
  if (problem.backward && (problem.sort == OperationSort::relu || problem.sort == OperationSort::bias_relu))
    for_each_block(y.size(), [&](size_t, size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) y[i] = std::max(y[i], 0.0F);
    });
  for (const SlotUse& use : problem.slots())
    if (use.use == Use::written) std::ranges::fill(data[use.slot], std::numeric_limits<float>::quiet_NaN());
  return data;
}

BySlot<double> operation_reference(const OperationProblem& problem, const BySlot<float>& data) {
  BySlot<double> expected;
  switch (problem.sort) {
    case OperationSort::bias:
    case OperationSort::relu:
    case OperationSort::bias_relu:
      add_bias_relu(problem, data, expected);
      break;
    case OperationSort::lrn:
      if (problem.backward)
        expected[Slot::dx] = lrn_gradient(problem.in, data);
      else
        expected[Slot::y] = lrn(problem.in, data[Slot::x]);
      break;
    case OperationSort::pool:
    case OperationSort::mean:
      add_pool(problem, data, expected);
      break;
    case OperationSort::batch_norm:
    case OperationSort::batch_norm_relu:
      batch_norm_reference(problem, data, expected);
      break;
    case OperationSort::add:
    case OperationSort::add_relu:
      add_sum(problem, data, expected);
      break;
    case OperationSort::copy:
      expected[Slot::y].assign(data[Slot::x].begin(), data[Slot::x].end());
      break;
    case OperationSort::update:
      add_update(data, expected);
      break;
    case OperationSort::one_bit:
      add_one_bit(problem, data, expected);
      break;
  }
  return expected;
}

OperationBuffers::OperationBuffers(const BySlot<float>& data, Device& device) {
  for (Slot slot : kSlots)
    if (!data[slot].empty()) buffers_[slot] = Buffer(device, data[slot].size() * sizeof(float));
  fill(data);
}

void OperationBuffers::fill(const BySlot<float>& data) {
  for (Slot slot : kSlots)
    if (!data[slot].empty()) buffers_[slot].upload(data[slot].data(), data[slot].size() * sizeof(float));
}

OperationTensors OperationBuffers::tensors() const {
  OperationTensors tensors;
  for (Slot slot : kSlots) tensors[slot] = static_cast<float*>(buffers_[slot].data());
  return tensors;
}

const std::vector<float>& OperationBuffers::values(Slot slot) {
  const Buffer& buffer = buffers_[slot];
  values_.resize(buffer.bytes() / sizeof(float));
  buffer.download(values_.data(), buffer.bytes());
  return values_;
}

OperationCheck check_operation(const OperationProblem& problem, OperationPlan& plan,
                               OperationBuffers& buffers, const Buffer& kept, const BySlot<float>& data,
                               const BySlot<double>& expected, Queue& queue) {
  OperationCheck worst;
  const auto is_read = [&](Slot slot) { return expected[slot].empty() && has(problem, slot); };
  BySlot<float> prepared;  // what is read, where preparing may have written it
  for (int run = 0; run < 2; ++run) {
    buffers.fill(data);
    if (problem.backward) plan.prepare(buffers.tensors(), kept.data(), queue);
    queue.synchronize();
    if (problem.backward)
      for (Slot slot : kSlots)
        if (is_read(slot)) prepared[slot] = buffers.values(slot);
    plan.run(buffers.tensors(), kept.data(), queue);
    queue.synchronize();
    if (kept.bytes() > 0 && !kept.guards_intact()) return {0, "writes outside what it keeps"};
    for (Slot slot : kSlots) {
      const Buffer& buffer = buffers[slot];
      if (buffer.bytes() == 0) continue;
      if (!buffer.guards_intact()) return {0, fmt::format("writes outside {}", name(slot))};
      const BySlot<float>& before = problem.backward ? prepared : data;
      if (is_read(slot) && !have_same_bits(buffers.values(slot), before[slot]))
        return {0, fmt::format("writes into {}, which it may only read", name(slot))};
      if (expected[slot].empty()) continue;
      const OperationCheck check = compare(slot, buffers.values(slot), expected[slot]);
      if (check.fault) return check;
      worst.relative_l2 = std::max(worst.relative_l2, check.relative_l2);
    }
  }
  return worst;
}

}  // namespace convscope
