// How the CUDA rows cut a convolution: chunks whose columns stay in the L2 of a GPU, where the matrices of a
// chunk lie, and their products. Plain arithmetic; the CPU row has its own cut (chunks.hpp).
//   NCHW: columns[c r s][pixel], output[k][pixel]     NHWC: columns[pixel][g r s c], output[pixel][k]
// In NCHW the pixels of a matrix are those of one image, and a chunk is a batch of such matrices, or those
// of all its images: then the output, whose images are far apart, is copied to or from one matrix.
#pragma once

#include <array>
#include <vector>

#include "algorithms/im2col_gemm/chunks.hpp"
#include "algorithms/im2col_gemm/cuda/sgemm.hpp"

namespace convscope::im2col_gemm {

// Half the L2 of an H200 for the columns and what goes with them; the rest is for the tensors that stream by
// and for the partial sums of the SGEMM, which get a quarter.
inline constexpr int64_t kResidentBytes = int64_t{30} << 20, kPartialBytes = int64_t{15} << 20;

// Of one tensor as matrices, in elements: between rows, groups and images that have a matrix each.
struct MatrixStrides {
  int64_t row = 0, group = 0, image = 0;
};

struct DeviceChunks {
  std::vector<Chunk> list;      // image by image, top to bottom; the first is the largest
  bool builds_columns = true;   // false: the input itself is the column matrix (pointwise)
  bool image_matrices = false;  // NCHW: a matrix for each image
  bool gathers_output = false;  // NCHW: the output of a chunk is copied to or from one matrix
  MatrixStrides columns, output;
  // Parts of the workspace. Sums: backward-filter has a gradient for each image matrix of a chunk, added at
  // the end.
  int64_t column_floats = 0, gathered_floats = 0, sum_floats = 0;

  int64_t floats() const { return column_floats + gathered_floats + sum_floats; }
};

// As large as `resident` and `cap` bytes allow, at least one output row. Pointwise: the whole batch, in
// backward-filter of NCHW as many images as the sums allow.
DeviceChunks cut_for_device(const ConvProblem& problem, int64_t cap, int64_t resident = kResidentBytes);

// The longest row of any matrix, in elements, as it lies in memory.
int64_t longest_row(const ConvProblem& problem);

enum class MatrixRole { filter, columns, output };

// All products of a chunk: `repeats` times one strided batch, with `step` elements to the next.
struct ChunkProduct {
  SgemmProduct product;               // without data
  std::array<MatrixRole, 3> roles{};  // of A, B and C
  std::array<int64_t, 3> step{};
  int repeats = 1;
};
ChunkProduct product_of(const ConvProblem& problem, const DeviceChunks& chunks, const Chunk& chunk);

// Copies to and from the workspace and repeated accesses included, but nothing inside the products.
double bytes_moved(const ConvProblem& problem, const DeviceChunks& chunks);

}  // namespace convscope::im2col_gemm
