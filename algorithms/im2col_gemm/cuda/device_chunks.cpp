// See device_chunks.hpp.
#include "algorithms/im2col_gemm/cuda/device_chunks.hpp"

#include <algorithm>
#include <limits>

#include "algorithms/common/gpu_limits.hpp"
#include "algorithms/common/pointwise.hpp"
#include "algorithms/common/rounding.hpp"

namespace convscope::im2col_gemm {
namespace {

constexpr int64_t kFloatBytes = sizeof(float);
constexpr int64_t kMaxElements = std::numeric_limits<int32_t>::max();
// Rows of our matrices begin on 16 bytes, for stores of as many.
constexpr int64_t kRowFloats = 4;

bool is_nchw(const ConvProblem& p) {
  return p.layout == Layout::nchw;
}

// A matrix for each image would leave more than a sixteenth of its last tile's pixels idle.
bool wastes_pixels(int64_t pixels) {
  return 16 * round_up(pixels, kSgemmRows) > 17 * pixels;
}

// Chunks of `images` images and `rows` output rows of each; without the list.
DeviceChunks layout(const ConvProblem& p, int64_t images, int64_t rows) {
  const int64_t column = column_elements(p), image_pixels = p.output().h * p.output().w;
  const int64_t pixels = rows * p.output().w;
  DeviceChunks chunks;
  chunks.builds_columns = !is_pointwise(p);
  chunks.gathers_output =
      is_nchw(p) && chunks.builds_columns && images > 1 && (p.groups > 1 || wastes_pixels(image_pixels));
  chunks.image_matrices = is_nchw(p) && !chunks.gathers_output;
  const int64_t of_matrix = chunks.image_matrices ? pixels : images * pixels;
  const int64_t in_group = p.in_channels_per_group(), out_group = p.out_channels_per_group();
  if (is_nchw(p)) {
    const int64_t row = chunks.builds_columns ? round_up(of_matrix, kRowFloats) : image_pixels;
    chunks.columns = {row, column * row, p.groups * column * row};
    const int64_t out_row = chunks.gathers_output ? round_up(of_matrix, kRowFloats) : image_pixels;
    chunks.output = {out_row, out_group * out_row, p.out_channels * out_row};
  } else {
    const int64_t row = chunks.builds_columns ? round_up(p.groups * column, kRowFloats) : p.groups * in_group;
    chunks.columns = {row, column, 0};
    chunks.output = {p.out_channels, out_group, 0};
  }
  if (chunks.builds_columns)
    chunks.column_floats = is_nchw(p) ? chunks.columns.image * (chunks.image_matrices ? images : 1)
                                      : chunks.columns.row * of_matrix;
  if (chunks.gathers_output) chunks.gathered_floats = p.out_channels * chunks.output.row;
  if (p.pass == Pass::backward_filter && chunks.image_matrices && images > 1)
    chunks.sum_floats = images * p.elements(Role::filter);
  return chunks;
}

struct DeviceChunkSize {
  int64_t images = 1, rows = 1;
};

DeviceChunkSize device_chunk_size(const ConvProblem& p, int64_t bytes) {
  const auto fits = [&](int64_t images, int64_t rows) {
    const int64_t floats = layout(p, images, rows).floats();
    return floats <= kMaxElements && floats * kFloatBytes <= bytes;
  };
  const int64_t height = p.output().h, max = std::min(p.batch, is_nchw(p) ? kMaxGridYz : p.batch);
  if (is_pointwise(p) && !(is_nchw(p) && p.pass == Pass::backward_filter))
    return {evenly(p.batch, max), height};
  DeviceChunkSize size{1, height};
  if (fits(1, height)) {
    while (size.images < std::min(max, kMaxGridYz) && fits(size.images + 1, height)) ++size.images;
    size.images = evenly(p.batch, size.images);
  } else {
    while (size.rows > 1 && !fits(1, size.rows)) --size.rows;
    size.rows = evenly(height, size.rows);
  }
  return size;
}

// A matrix of the products, as it is stored.
struct Stored {
  MatrixRole role;
  MatrixStrides strides;
  MatrixOp op = MatrixOp::none;
};

}  // namespace

DeviceChunks cut_for_device(const ConvProblem& p, int64_t bytes) {
  const DeviceChunkSize size = device_chunk_size(p, bytes);
  DeviceChunks chunks = layout(p, size.images, size.rows);
  chunks.list = list_of_chunks(p, size.images, size.rows);
  return chunks;
}

int64_t longest_row(const ConvProblem& p) {
  const int64_t columns = p.groups * column_elements(p) + kRowFloats;
  const int64_t pixels = is_nchw(p) ? p.output().h * p.output().w + kRowFloats : 0;
  // Of several images as one matrix, which fits in L2.
  const int64_t max = kResidentBytes / kFloatBytes;
  return std::max({columns, pixels, p.out_channels, is_nchw(p) ? max : 0});
}

ChunkProduct product_of(const ConvProblem& p, const DeviceChunks& chunks, const Chunk& chunk) {
  const int64_t column = column_elements(p), out_group = p.out_channels_per_group();
  const bool images = chunks.image_matrices && chunk.images > 1;  // the batch; else the groups
  const int64_t pixels = (chunks.image_matrices ? 1 : chunk.images) * chunk.rows * p.output().w;
  Stored filter{MatrixRole::filter, {column, out_group * column, 0}};
  if (chunks.sum_floats > 0) filter.strides.image = p.elements(Role::filter);
  Stored columns{MatrixRole::columns, chunks.columns}, output{MatrixRole::output, chunks.output};
  // Rows, columns and depth are those of the table in README.md.
  std::array<Stored*, 3> order{};
  std::array<int64_t, 3> size{};
  switch (p.pass) {
    case Pass::forward:
      order = is_nchw(p) ? std::array{&filter, &columns, &output} : std::array{&columns, &filter, &output};
      size = is_nchw(p) ? std::array{out_group, pixels, column} : std::array{pixels, out_group, column};
      if (!is_nchw(p)) filter.op = MatrixOp::transpose;
      break;
    case Pass::backward_data:
      order = is_nchw(p) ? std::array{&filter, &output, &columns} : std::array{&output, &filter, &columns};
      size = is_nchw(p) ? std::array{column, pixels, out_group} : std::array{pixels, column, out_group};
      if (is_nchw(p)) filter.op = MatrixOp::transpose;
      break;
    case Pass::backward_filter:
      order = {&output, &columns, &filter};
      size = {out_group, column, pixels};
      (is_nchw(p) ? columns : output).op = MatrixOp::transpose;
      break;
  }
  ChunkProduct result;
  result.batch_of_groups = !images;
  result.repeats = images ? static_cast<int>(p.groups) : 1;
  SgemmProduct& product = result.product;
  product.rows = static_cast<int>(size[0]);
  product.columns = static_cast<int>(size[1]);
  product.depth = static_cast<int>(size[2]);
  product.batch = static_cast<int>(images ? chunk.images : p.groups);
  const auto set = [&](auto& matrix, size_t i) {
    const MatrixStrides& strides = order[i]->strides;
    matrix.stride = strides.row;
    matrix.batch_stride = images ? strides.image : strides.group;
    matrix.op = order[i]->op;
    result.roles[i] = order[i]->role;
    result.step[i] = strides.group;
  };
  set(product.a, 0);
  set(product.b, 1);
  set(product.c, 2);
  return result;
}

double bytes_moved(const ConvProblem& p, const DeviceChunks& chunks) {
  const bool filter_gradient = p.pass == Pass::backward_filter;
  const auto all_pixels = static_cast<double>(p.batch * p.output().h * p.output().w);
  const auto filter = static_cast<double>(p.elements(Role::filter));
  double twice = 0;  // elements that are written and read once more than the tensors' own
  if (chunks.builds_columns) twice += all_pixels * static_cast<double>(p.groups * column_elements(p));
  if (chunks.gathers_output) twice += all_pixels * static_cast<double>(p.out_channels);
  if (filter_gradient) {
    // Each chunk but the first reads what it adds to.
    const auto sets = [&](const Chunk& chunk) {
      return static_cast<double>(chunks.sum_floats > 0 ? chunk.images : 1);
    };
    for (const Chunk& chunk : chunks.list) twice += sets(chunk) * filter;
    if (chunks.sum_floats == 0) twice -= filter;
  }
  if (p.pass == Pass::backward_data && chunks.builds_columns)
    for (const Chunk& chunk : chunks.list) {
      const InputRows rows = input_rows(p, chunk);
      twice += static_cast<double>(chunk.images * (rows.fresh - rows.begin) * p.input.w * p.in_channels);
    }
  return static_cast<double>(p.total_bytes()) + 2.0 * sizeof(float) * twice;
}

}  // namespace convscope::im2col_gemm
