// See chunks.hpp.
#include "algorithms/im2col_gemm/chunks.hpp"

#include <algorithm>

namespace convscope::im2col_gemm {
namespace {

constexpr Extent2 kOne{1, 1}, kZero{0, 0};
// An NCHW image with at least this many output pixels makes a GEMM wide enough by itself; smaller images are
// taken together up to about twice as many.
constexpr int64_t kWideEnough = 256;

bool is_pointwise(const ConvProblem& p) {
  return p.filter == kOne && p.stride == kOne && p.pad == kZero;
}

int64_t images_together(const ConvProblem& p, int64_t most_pixels) {
  const int64_t pixels = p.output().h * p.output().w;
  int64_t images = std::max<int64_t>(1, most_pixels / pixels);
  if (p.layout == Layout::nchw)
    images = pixels >= kWideEnough ? 1 : std::min(images, (2 * kWideEnough + pixels - 1) / pixels);
  images = std::min(images, p.batch);
  // As many chunks, of nearly equal size.
  const int64_t chunks = (p.batch + images - 1) / images;
  return (p.batch + chunks - 1) / chunks;
}

int64_t rows_together(const ConvProblem& p, int64_t most_pixels) {
  const int64_t height = p.output().h;
  const int64_t rows = std::clamp<int64_t>(most_pixels / p.output().w, 1, height);
  const int64_t chunks = (height + rows - 1) / rows;
  return (height + chunks - 1) / chunks;
}

}  // namespace

int64_t column_elements(const ConvProblem& p) {
  return p.in_channels_per_group() * p.filter.h * p.filter.w;
}

Chunks cut(const ConvProblem& p, int64_t bytes) {
  Chunks chunks;
  const Extent2 out = p.output();
  const int64_t column_bytes = column_elements(p) * static_cast<int64_t>(sizeof(float));
  const int64_t most_pixels = std::max<int64_t>(1, bytes / column_bytes);
  int64_t images = images_together(p, most_pixels), rows = rows_together(p, most_pixels);
  if (is_pointwise(p) && (p.layout == Layout::nhwc || images == 1)) {
    chunks.builds_columns = false;
    images = p.layout == Layout::nhwc ? p.batch : 1;
    rows = out.h;
  }
  for (int64_t image = 0; image < p.batch; image += images)
    for (int64_t row = 0; row < out.h; row += rows)
      chunks.list.push_back({image, std::min(images, p.batch - image), row, std::min(rows, out.h - row)});
  chunks.pixels = images * rows * out.w;
  chunks.per_image = (out.h + rows - 1) / rows;
  chunks.gathers_output = p.layout == Layout::nchw && images > 1;
  return chunks;
}

}  // namespace convscope::im2col_gemm
