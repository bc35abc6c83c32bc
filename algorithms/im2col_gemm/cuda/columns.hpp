// Data movement around the products on a GPU: im2col, col2im and copies of NCHW outputs, all groups and
// images of a chunk in one launch each. ColumnMap says where every element is and is passed to the kernels
// (columns.cu) by value.
// Legend: n image, c input channel, g its group, h w input, k output channel, p q output, r s tap.
#pragma once

#include <optional>
#include <string>

#include "algorithms/im2col_gemm/cuda/device_chunks.hpp"
#include "bench/device/builds.hpp"
#include "bench/device/device.hpp"

namespace convscope::im2col_gemm {

// One dimension of the convolution. Tap t of output o reads input o * stride + t * dilation - pad.
struct AxisMap {
  int size = 1;  // of the input
  int taps = 1, stride = 1, pad = 0, dilation = 1;
  // Taps that meet the same input: every tap_step-th, at outputs that are output_step apart.
  int tap_step = 1, output_step = 1;
};

// Strides and bases are elements.
struct ColumnMap {
  AxisMap h, w;
  int channels = 1, group_channels = 1, images = 1;
  int first_row = 0, rows = 1, q = 1;  // output rows of the chunk
  InputRows input_rows{};              // of backward-data
  bool nchw = true;
  // The tensor, from the chunk's first image.
  int64_t image = 0;
  int channel = 0, y = 0, x = 0;
  // The columns.
  int64_t column_image = 0, column_group = 0;
  int column_channel = 0, column_r = 0, column_s = 0, column_pixel = 0;
};
ColumnMap column_map(const ConvProblem& problem, const DeviceChunks& chunks, const Chunk& chunk);

// The output of a chunk of whole NCHW images, plane by plane, as the tensor and as one matrix.
struct PlaneCopy {
  int pixels = 1, channels = 1, images = 1;
  int64_t from_image = 0, from_channel = 0, to_image = 0, to_channel = 0;
};
PlaneCopy gather_map(const ConvProblem& problem, const DeviceChunks& chunks, const Chunk& chunk);
PlaneCopy scatter_map(const ConvProblem& problem, const DeviceChunks& chunks, const Chunk& chunk);

// Why 32-bit offsets or the grid of a launch do not suffice, as a sentence; empty when they do.
std::optional<std::string> size_defect(const ConvProblem& problem);

}  // namespace convscope::im2col_gemm

// Each function enqueues one launch and returns. `input` is the chunk's first image.
namespace convscope {
CONVSCOPE_IN_BOTH(void im2col(const im2col_gemm::ColumnMap&, const float* input, float* columns, Queue&);
                  void col2im(const im2col_gemm::ColumnMap&, const float* columns, float* input, Queue&);
                  void copy_planes(const im2col_gemm::PlaneCopy&, const float* from, float* to, Queue&);)
}  // namespace convscope
