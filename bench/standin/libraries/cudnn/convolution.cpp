#include "bench/standin/libraries/cudnn/convolution.hpp"

#include <fmt/format.h>

#include <cstring>
#include <vector>

#include "bench/core/float16.hpp"

namespace convscope::standin {
namespace {

double load(cudnnDataType_t type, const void* data, int64_t index) {
  if (type == CUDNN_DATA_FLOAT) return static_cast<const float*>(data)[index];
  const uint16_t bits = static_cast<const uint16_t*>(data)[index];
  return type == CUDNN_DATA_HALF ? from_f16_bits(bits) : from_bf16_bits(bits);
}

void store(cudnnDataType_t type, void* data, int64_t index, double value) {
  const auto single = static_cast<float>(value);
  if (type == CUDNN_DATA_FLOAT)
    static_cast<float*>(data)[index] = single;
  else
    static_cast<uint16_t*>(data)[index] = type == CUDNN_DATA_HALF ? f16_bits(single) : bf16_bits(single);
}

// Calls visit(position in logical order, offset in memory) for each element.
template <typename Visit>
void for_each_element(const TensorShape& shape, Visit visit) {
  int64_t position = 0;
  for (int64_t i = 0; i < shape.size[0]; ++i)
    for (int64_t j = 0; j < shape.size[1]; ++j)
      for (int64_t k = 0; k < shape.size[2]; ++k)
        for (int64_t l = 0; l < shape.size[3]; ++l) visit(position++, shape.offset(i, j, k, l));
}

// A zero for each element.
std::vector<double> zeros(const TensorView& view) {
  const auto& size = view.shape.size;
  return std::vector<double>(static_cast<size_t>(size[0] * size[1] * size[2] * size[3]));
}

std::vector<double> read(const TensorView& view, const void* data) {
  std::vector<double> values = zeros(view);
  for_each_element(view.shape, [&](int64_t position, int64_t offset) {
    values[static_cast<size_t>(position)] = load(view.type, data, offset);
  });
  return values;
}

void write(const TensorView& view, void* data, const std::vector<double>& values, double alpha, double beta) {
  for_each_element(view.shape, [&](int64_t position, int64_t offset) {
    double value = alpha * values[static_cast<size_t>(position)];
    if (beta != 0) value += beta * load(view.type, data, offset);
    store(view.type, data, offset, value);
  });
}

// The epilogue of what is stored.
void finish(const ConvProblem& p, const TensorView& view, void* data, const float* bias) {
  if (p.epilogue == Epilogue::none) return;
  const TensorShape& shape = view.shape;
  const int64_t plane = shape.size[2] * shape.size[3];
  for_each_element(shape, [&](int64_t position, int64_t offset) {
    const int64_t channel = position / plane % shape.size[1];
    double value = load(view.type, data, offset);
    if (has_bias(p.epilogue)) value += bias[channel];
    store(view.type, data, offset, has_relu(p.epilogue) && value < 0 ? 0 : value);
  });
}

// Positions in logical order of the three tensors.
struct Positions {
  const ConvProblem& p;
  size_t input(int64_t n, int64_t c, int64_t h, int64_t w) const {
    return static_cast<size_t>(((n * p.in_channels + c) * p.input.h + h) * p.input.w + w);
  }
  size_t filter(int64_t k, int64_t c, int64_t r, int64_t s) const {
    return static_cast<size_t>(((k * p.in_channels_per_group() + c) * p.filter.h + r) * p.filter.w + s);
  }
};

// Calls visit(input, filter, output) with the positions of every product of the definition but those with
// padding.
template <typename Visit>
void for_each_product(const ConvProblem& p, Visit visit) {
  const Positions at{p};
  const Extent2 out = p.output();
  size_t output = 0;
  for (int64_t n = 0; n < p.batch; ++n)
    for (int64_t k = 0; k < p.out_channels; ++k) {
      const int64_t first = k / p.out_channels_per_group() * p.in_channels_per_group();
      for (int64_t y = 0; y < out.h; ++y)
        for (int64_t x = 0; x < out.w; ++x, ++output)
          for (int64_t c = 0; c < p.in_channels_per_group(); ++c)
            for (int64_t r = 0; r < p.filter.h; ++r) {
              const int64_t h = y * p.stride.h - p.pad.h + r * p.dilation.h;
              if (h < 0 || h >= p.input.h) continue;
              for (int64_t s = 0; s < p.filter.w; ++s) {
                const int64_t w = x * p.stride.w - p.pad.w + s * p.dilation.w;
                if (w < 0 || w >= p.input.w) continue;
                visit(at.input(n, first + c, h, w), at.filter(k, c, r, s), output);
              }
            }
    }
}

}  // namespace

ConvProblem problem_of_shapes(const TensorShape& input, const TensorShape& filter) {
  ConvProblem p;
  p.batch = input.size[0];
  p.in_channels = input.size[1];
  p.input = {input.size[2], input.size[3]};
  p.out_channels = filter.size[0];
  p.filter = {filter.size[2], filter.size[3]};
  return p;
}

cudnnStatus_t check_shapes(const Convolution& convolution) {
  const ConvProblem& p = convolution.problem;
  if (const auto wrong = validate(p)) return failed(CUDNN_STATUS_BAD_PARAM, *wrong);
  if (convolution.input.shape.size != p.shape(Role::input).size ||
      convolution.filter.shape.size != p.shape(Role::filter).size ||
      convolution.output.shape.size != p.shape(Role::output).size)
    return failed(CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH,
                  fmt::format("the tensors are not of {}", to_line(p)));
  if (convolution.input.type != convolution.filter.type || convolution.input.type != convolution.output.type)
    return failed(CUDNN_STATUS_NOT_SUPPORTED_DATA_TYPE, "the tensors differ in their type");
  return CUDNN_STATUS_SUCCESS;
}

void compute(const Convolution& convolution, void* input, void* filter, void* output, double alpha,
             double beta, const float* bias) {
  const ConvProblem& p = convolution.problem;
  if (p.pass == Pass::forward) {
    const auto x = read(convolution.input, input), w = read(convolution.filter, filter);
    auto y = zeros(convolution.output);
    for_each_product(p, [&](size_t i, size_t f, size_t o) { y[o] += x[i] * w[f]; });
    write(convolution.output, output, y, alpha, beta);
    finish(p, convolution.output, output, bias);
  } else if (p.pass == Pass::backward_data) {
    const auto dy = read(convolution.output, output), w = read(convolution.filter, filter);
    auto dx = zeros(convolution.input);
    for_each_product(p, [&](size_t i, size_t f, size_t o) { dx[i] += dy[o] * w[f]; });
    write(convolution.input, input, dx, alpha, beta);
  } else {
    const auto dy = read(convolution.output, output), x = read(convolution.input, input);
    auto dw = zeros(convolution.filter);
    for_each_product(p, [&](size_t i, size_t f, size_t o) { dw[f] += dy[o] * x[i]; });
    write(convolution.filter, filter, dw, alpha, beta);
  }
}

void copy_elements(const TensorView& from, const void* data, const TensorView& to, void* result, double alpha,
                   double beta) {
  write(to, result, read(from, data), alpha, beta);
}

}  // namespace convscope::standin
