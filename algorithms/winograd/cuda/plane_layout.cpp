#include "algorithms/winograd/cuda/plane_layout.hpp"

#include <algorithm>

namespace convscope::winograd {
namespace {

// An axis has tiles of at most two sizes, the larger ones first.
struct Sizes {
  int count = 0;
  ClassAxis at[2];
};
Sizes sizes(const Axis& axis) {
  Sizes result;
  for (const Tile& tile : axis.tiles) {
    if (result.count == 0 || result.at[result.count - 1].size != tile.size)
      result.at[result.count++] = {static_cast<int>(tile.start), 0, tile.size, axis.alpha(tile)};
    ++result.at[result.count - 1].count;
  }
  return result;
}

void add_class(TileClasses& classes, const ClassAxis& h, const ClassAxis& w, int64_t images) {
  TileClass& added = classes.at[classes.count++];
  added = {h, w, classes.tiles, static_cast<int>(images * h.count * w.count), 0};
  classes.tiles += align_plane(added.tiles);
}

void set_residues(TensorAddressing& tensor, const Residues& residues) {
  tensor.step_h = static_cast<int>(residues.step.h);
  tensor.step_w = static_cast<int>(residues.step.w);
  for (size_t i = 0; i < residues.offsets.size(); ++i)
    tensor.residues[i] = {static_cast<uint8_t>(residues.offsets[i].h),
                          static_cast<uint8_t>(residues.offsets[i].w)};
}

void set_shape(TensorAddressing& tensor, const TensorShape& shape) {
  tensor.stride_n = shape.stride[0];
  tensor.stride_c = shape.stride[1];
  tensor.stride_h = shape.stride[2];
  tensor.stride_w = shape.stride[3];
  tensor.h = static_cast<int>(shape.size[2]);
  tensor.w = static_cast<int>(shape.size[3]);
}

}  // namespace

IndexRange TileClasses::with(int point_h, int point_w) const {
  int begin = tiles, end = 0;
  for (int i = 0; i < count; ++i) {
    if (at[i].h.alpha <= point_h || at[i].w.alpha <= point_w) continue;
    begin = std::min(begin, at[i].first);
    end = std::max(end, at[i].first + align_plane(at[i].tiles));
  }
  return {begin, end - begin};
}

TileClasses tile_classes(const Axis& h, const Axis& w, int64_t images) {
  const Sizes high = sizes(h), wide = sizes(w);
  TileClasses classes;
  if (high.count > 1) add_class(classes, high.at[1], wide.at[0], images);
  add_class(classes, high.at[0], wide.at[0], images);
  if (wide.count > 1) add_class(classes, high.at[0], wide.at[1], images);
  if (high.count > 1 && wide.count > 1) add_class(classes, high.at[1], wide.at[1], images);
  return classes;
}

TileClasses filter_class(const Geometry& geometry, int64_t count) {
  TileClasses classes;
  add_class(classes, {0, 1, geometry.h.taps, geometry.points_h()},
            {0, 1, geometry.w.taps, geometry.points_w()}, count);
  return classes;
}

TensorAddressing activation_addressing(const TensorView& view, int64_t groups, int64_t images) {
  TensorAddressing tensor;
  set_shape(tensor, view.shape);
  set_residues(tensor, view.residues);
  tensor.origin_h = static_cast<int>(view.origin.h);
  tensor.origin_w = static_cast<int>(view.origin.w);
  tensor.channels = static_cast<int>(view.channels);
  tensor.lanes = static_cast<int>(view.lanes());
  tensor.lanes_stored = align_plane(tensor.lanes);
  tensor.total_lanes = static_cast<int>(groups) * tensor.lanes_stored;
  tensor.images = tensor.images_stored = static_cast<int>(images);
  return tensor;
}

TensorAddressing filter_addressing(const Geometry& geometry) {
  TensorAddressing tensor;
  set_shape(tensor, geometry.problem.shape(Role::filter));
  set_residues(tensor, geometry.input_view.residues);
  tensor.channels = static_cast<int>(geometry.input_view.channels);
  tensor.lanes = static_cast<int>(geometry.input_view.lanes());
  tensor.total_lanes = tensor.lanes_stored = align_plane(tensor.lanes);
  tensor.images = static_cast<int>(geometry.output_view.channels);
  tensor.images_stored = align_plane(tensor.images);
  tensor.reversed = geometry.problem.pass == Pass::backward_data;
  return tensor;
}

const GemmTile& gemm_tile(const GemmArguments& arguments) {
  int m = 0;
  for (int i = 0; i < arguments.planes; ++i) m = std::max(m, arguments.products[i].m);
  const auto computed = [&](const GemmTile& tile) { return round_up(m, tile.rows); };
  return *std::ranges::min_element(arguments.by_tma ? kTmaGemmTiles : kGemmTiles, {}, computed);
}

}  // namespace convscope::winograd
