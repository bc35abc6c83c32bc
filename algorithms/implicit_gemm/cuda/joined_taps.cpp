#include "algorithms/implicit_gemm/cuda/joined_taps.hpp"

#include <limits>

namespace convscope::implicit_gemm {
namespace {

// Elements of a pixel: windows begin on multiples of 16 bytes.
int64_t pixel_pitch(const ConvProblem& p, int64_t element_bytes) {
  int64_t pitch = round_up(p.in_channels, int64_t{kLineWord});
  while (p.stride.w * pitch * element_bytes % kTmaAlignment != 0) pitch += kLineWord;
  return pitch;
}

// The pixels of the padded line that some window meets, a multiple of the stride.
int64_t padded_width(const ConvProblem& p) {
  return round_up((p.output().w - 1) * p.stride.w + p.filter.w, p.stride.w);
}

// The lines of the input or the filter to `to_line` elements each.
LinePack lines_of(const ConvProblem& p, Role role, int64_t pitch, int64_t to_line) {
  const TensorShape shape = p.shape(role);
  LinePack pack;
  pack.outer = narrow(shape.size[0]);
  pack.channels = narrow(shape.size[1]);
  pack.lines = narrow(shape.size[2]);
  pack.width = narrow(shape.size[3]);
  pack.from_outer = shape.stride[0];
  pack.from_channel = narrow(shape.stride[1]);
  pack.from_line = shape.stride[2];
  pack.from_pixel = narrow(shape.stride[3]);
  pack.before = narrow(role == Role::input ? p.pad.w : 0);
  pack.pitch = narrow(pitch);
  pack.to_line = narrow(to_line);
  pack.element_bytes = narrow(bytes_per_element(storage_type(p.math)));
  return pack;
}

// A window holds the taps of a line and the padding beside the image: no coordinate stands for either.
void join_pixels(PixelBoxes& pixels, const JoinedTaps& joined) {
  pixels.taps_across = 1;
  pixels.first_x = 0;
  pixels.step_x = 1;
  pixels.tap_x = 0;
  pixels.image_width = joined.windows;
  pixels.pixel_pitch = joined.window_pitch;
  pixels.line_pitch = joined.input.to_line;
}

}  // namespace

std::optional<JoinedTaps> joined_taps(const ConvProblem& p) {
  if (p.pass == Pass::backward_data || p.groups != 1 || p.dilation.w != 1) return std::nullopt;
  if (!repack_for_tma(p, Role::input)) return std::nullopt;
  const int64_t bytes = bytes_per_element(storage_type(p.math)), line = kTmaLineBytes / bytes;
  const int64_t pitch = pixel_pitch(p, bytes);
  if (2 * ceil_div(p.filter.w * pitch, line) > p.filter.w * ceil_div(p.in_channels, line))
    return std::nullopt;
  if (p.filter.h * p.dilation.h > kTmaLongestOffset) return std::nullopt;
  if (p.batch * p.input.h * padded_width(p) * pitch > std::numeric_limits<int32_t>::max())
    return std::nullopt;
  const int64_t window = p.filter.w * pitch;
  return JoinedTaps{lines_of(p, Role::input, pitch, padded_width(p) * pitch),
                    lines_of(p, Role::filter, pitch, channel_pitch(p.math, window)), narrow(p.output().w),
                    narrow(window), narrow(p.stride.w * pitch)};
}

void join(BoxedProduct& product, const JoinedTaps& joined) {
  join_pixels(product, joined);
  product.channels = joined.window;
  product.channel_pitch = joined.filter.to_line;
  product.first_tap = 0;
  product.tap_line = 1;
  product.tap_column = 0;
  product.filter_taps = joined.filter.lines;
}

void join(BoxedGradient& product, const JoinedTaps& joined) {
  join_pixels(product, joined);
  product.joined_line = narrow(round_up(joined.window, kSlabColumns));
  product.joined_pitch = joined.input.pitch;
  product.joined_lines = product.taps_down;
  product.joined_taps = joined.filter.width;
  product.joined_channels = joined.input.channels;
  product.columns = product.joined_lines * product.joined_line;
  product.taps_down = 1;
}

}  // namespace convscope::implicit_gemm
