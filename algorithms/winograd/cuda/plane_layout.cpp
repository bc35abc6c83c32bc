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

void set_phases(TensorMap& map, const Phases& phases) {
  map.step_h = static_cast<int>(phases.step.h);
  map.step_w = static_cast<int>(phases.step.w);
  for (size_t i = 0; i < phases.offsets.size(); ++i)
    map.phases[i] = {static_cast<uint8_t>(phases.offsets[i].h), static_cast<uint8_t>(phases.offsets[i].w)};
}

void set_shape(TensorMap& map, const TensorShape& shape) {
  map.stride_n = shape.stride[0];
  map.stride_c = shape.stride[1];
  map.stride_h = shape.stride[2];
  map.stride_w = shape.stride[3];
  map.h = static_cast<int>(shape.size[2]);
  map.w = static_cast<int>(shape.size[3]);
}

}  // namespace

Range TileClasses::with(int point_h, int point_w) const {
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

TensorMap activation_map(const TensorView& view, int64_t groups, int64_t images) {
  TensorMap map;
  set_shape(map, view.shape);
  set_phases(map, view.phases);
  map.origin_h = static_cast<int>(view.origin.h);
  map.origin_w = static_cast<int>(view.origin.w);
  map.channels = static_cast<int>(view.channels);
  map.lanes = static_cast<int>(view.lanes());
  map.lanes_stored = align_plane(map.lanes);
  map.total_lanes = static_cast<int>(groups) * map.lanes_stored;
  map.images = map.images_stored = static_cast<int>(images);
  return map;
}

TensorMap filter_map(const Geometry& geometry) {
  TensorMap map;
  set_shape(map, geometry.problem.shape(Role::filter));
  set_phases(map, geometry.image.phases);
  map.channels = static_cast<int>(geometry.image.channels);
  map.lanes = static_cast<int>(geometry.image.lanes());
  map.total_lanes = map.lanes_stored = align_plane(map.lanes);
  map.images = static_cast<int>(geometry.signal.channels);
  map.images_stored = align_plane(map.images);
  map.reversed = geometry.problem.pass == Pass::backward_data;
  return map;
}

PlaneStrides plane_strides(int64_t tiles, int64_t lanes, bool lanes_contiguous) {
  return {tiles * lanes, lanes_contiguous ? lanes : 1, lanes_contiguous ? 1 : tiles};
}

int gemm_rows_for(int64_t m) {
  const auto computed = [&](int rows) { return (m + rows - 1) / rows * rows; };
  return *std::ranges::min_element(kGemmRows, {}, computed);
}

}  // namespace convscope::winograd
