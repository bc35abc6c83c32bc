// How the CUDA variants divide a convolution: chunks whose columns fit in the L2 of a GPU, the places of a
// chunk's matrices, and their products. Plain arithmetic; the CPU variants have chunks of their own
// (chunks.hpp).
//   NCHW: columns[c r s][pixel], output[k][pixel]     NHWC: columns[pixel][g r s c], output[pixel][k]
// In NCHW the pixels of a matrix are those of one image, and a chunk is a batch of such matrices; or they are
// those of all images of the chunk, and the output, whose images are apart, is copied to or from one matrix.
#pragma once

#include <array>
#include <vector>

#include "algorithms/im2col_gemm/chunks.hpp"
#include "algorithms/im2col_gemm/cuda/sgemm.hpp"

namespace convscope::im2col_gemm {

// Half the L2 of an H200 for the columns and copies, a quarter for the partial sums of the SGEMM; the rest is
// for the tensors, which are read or written once.
inline constexpr int64_t kResidentBytes = int64_t{30} << 20, kPartialBytes = int64_t{15} << 20;

// Elements between the rows of a tensor's matrices, and between the matrices of groups and of images.
struct MatrixStrides {
  int64_t row = 0, group = 0, image = 0;
};

struct DeviceChunks {
  std::vector<Chunk> list;      // the first is the largest
  bool builds_columns = true;   // false: the input itself is the column matrix (pointwise)
  bool image_matrices = false;  // NCHW: a matrix for each image
  bool gathers_output = false;  // NCHW: the output of a chunk is copied to or from one matrix
  MatrixStrides columns, output;
  // Parts of the workspace. Sums: backward-filter has a gradient for each image matrix of a chunk, added at
  // the end.
  int64_t column_floats = 0, gathered_floats = 0, sum_floats = 0;

  int64_t floats() const { return column_floats + gathered_floats + sum_floats; }
};

// As large as `bytes` of workspace allow, at least one output row. Pointwise: the whole batch, in
// backward-filter of NCHW as many images as the sums allow.
DeviceChunks cut_for_device(const ConvProblem& problem, int64_t bytes);

// The longest distance between the rows of any matrix, in elements.
int64_t longest_row(const ConvProblem& problem);

enum class MatrixRole { filter, columns, output };

// All products of a chunk: `repeats` times one strided batch, with `step` elements to the next.
struct ChunkProduct {
  SgemmProduct product;               // without data
  std::array<MatrixRole, 3> roles{};  // of A, B and C
  std::array<int64_t, 3> step{};
  int repeats = 1;
  bool batch_of_groups = false;  // else of images; the repeats are the groups then
};
ChunkProduct product_of(const ConvProblem& problem, const DeviceChunks& chunks, const Chunk& chunk);

// With the copies to and from the workspace and repeated accesses; without the partial sums of products.
double bytes_moved(const ConvProblem& problem, const DeviceChunks& chunks);

}  // namespace convscope::im2col_gemm
