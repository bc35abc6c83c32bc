// See chunks.hpp.
#include "algorithms/im2col_gemm/chunks.hpp"

#include <algorithm>

#include "algorithms/common/pointwise.hpp"

namespace convscope::im2col_gemm {
namespace {

// An NCHW image with at least this many output pixels makes a GEMM wide enough by itself; smaller images are
// taken together up to about twice as many.
constexpr int64_t kWideEnough = 256;

int64_t images_together(const ConvProblem& p, int64_t max_pixels) {
  const int64_t pixels = p.output().h * p.output().w;
  int64_t images = std::max<int64_t>(1, max_pixels / pixels);
  if (p.layout == Layout::nchw)
    images = pixels >= kWideEnough ? 1 : std::min(images, ceil_div(2 * kWideEnough, pixels));
  return evenly(p.batch, images);
}

int64_t rows_together(const ConvProblem& p, int64_t max_pixels) {
  return evenly(p.output().h, std::max<int64_t>(1, max_pixels / p.output().w));
}

// Images of a chunk, and output rows of each.
struct ChunkSize {
  int64_t images = 1, rows = 1;
};

ChunkSize chunk_size(const ConvProblem& p, int64_t bytes, bool images_apart) {
  if (is_pointwise(p)) return {p.layout == Layout::nhwc || images_apart ? p.batch : 1, p.output().h};
  const int64_t column_bytes = column_elements(p) * static_cast<int64_t>(sizeof(float));
  const int64_t max_pixels = std::max<int64_t>(1, bytes / column_bytes);
  return {images_together(p, max_pixels), rows_together(p, max_pixels)};
}

}  // namespace

ConvProblem as_fully_connected(const ConvProblem& problem) {
  if (problem.groups != 1 || problem.filter != problem.input || problem.pad != Extent2{0, 0}) return problem;
  ConvProblem flat = problem;
  flat.in_channels = problem.in_channels * problem.filter.h * problem.filter.w;
  flat.layout = Layout::nhwc;
  flat.input = flat.filter = flat.stride = flat.dilation = {1, 1};
  return flat;
}

InputRows input_rows(const ConvProblem& p, const Chunk& chunk) {
  const auto reached = [&](int64_t rows) {
    if (rows == 0) return int64_t{0};
    if (rows == p.output().h) return p.input.h;
    const int64_t last = (rows - 1) * p.stride.h - p.pad.h + (p.filter.h - 1) * p.dilation.h;
    return std::clamp<int64_t>(last + 1, 0, p.input.h);
  };
  const int64_t fresh = reached(chunk.row);
  const int64_t touched = std::clamp<int64_t>(chunk.row * p.stride.h - p.pad.h, 0, fresh);
  return {touched, fresh, reached(chunk.row + chunk.rows)};
}

int64_t column_elements(const ConvProblem& p) {
  return p.in_channels_per_group() * p.filter.h * p.filter.w;
}

int64_t largest_extent(const ConvProblem& problem) {
  const ConvProblem p = as_fully_connected(problem);
  const ChunkSize size = chunk_size(p, kColumnBytes, false);
  const int64_t pixels = size.images * size.rows * p.output().w;
  // The rows of an NCHW output, and of a pointwise input, are whole images apart.
  const int64_t image = p.layout == Layout::nchw ? p.output().h * p.output().w : 0;
  return std::max({pixels, image, column_elements(p), p.in_channels, p.out_channels});
}

std::vector<Chunk> list_of_chunks(const ConvProblem& p, int64_t images, int64_t rows) {
  const int64_t height = p.output().h;
  std::vector<Chunk> list;
  for (int64_t image = 0; image < p.batch; image += images)
    for (int64_t row = 0; row < height; row += rows)
      list.push_back({image, std::min(images, p.batch - image), row, std::min(rows, height - row)});
  return list;
}

Chunks cut(const ConvProblem& p, int64_t bytes, bool images_apart) {
  const ChunkSize size = chunk_size(p, bytes, images_apart);
  const Extent2 out = p.output();
  Chunks chunks;
  chunks.builds_columns = !is_pointwise(p);
  chunks.list = list_of_chunks(p, size.images, size.rows);
  chunks.pixels = size.images * size.rows * out.w;
  chunks.per_image = ceil_div(out.h, size.rows);
  chunks.gathers_output = p.layout == Layout::nchw && size.images > 1 && !images_apart;
  return chunks;
}

}  // namespace convscope::im2col_gemm
