#include "algorithms/winograd/cuda/plane_product.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "algorithms/common/compute_capability.hpp"
#include "algorithms/common/gpu_limits.hpp"
#include "algorithms/common/rounding.hpp"
#include "algorithms/winograd/error_growth.hpp"

namespace convscope::winograd {
namespace {

bool is_backward_filter(const Geometry& geometry) {
  return geometry.problem.pass == Pass::backward_filter;
}

PlaneSet plane_set(const Geometry& geometry, int64_t tiles, int64_t lanes, bool lanes_contiguous) {
  const int64_t plane = tiles * lanes;
  return {{plane, lanes_contiguous ? lanes : 1, lanes_contiguous ? 1 : tiles},
          lanes_contiguous,
          plane * geometry.planes()};
}

// Lanes of forward that are not zero in plane (i, j), and a few more where that aligns them: the filters'
// zeros are stored.
IndexRange forward_depth(const Geometry& geometry, int i, int j) {
  const Residues::Range residues = geometry.residues_in(i, j);
  const int64_t begin = residues.begin * geometry.input_view.channels / kPlaneAlign * kPlaneAlign;
  return {static_cast<int>(begin),
          static_cast<int>(align_plane(residues.end * geometry.input_view.channels) - begin)};
}

// What chunks are chosen with: rough figures of a Hopper GPU, which only weigh the waves of the GEMM, the
// launches of a chunk and the traffic of the planes against each other.
struct Machine {
  double cores = kMultiprocessors, cache_bytes = 60e6;
  double fma_per_core = 128 * 1.7e9 * 0.85;  // per second
  double memory = 4.3e12, cache = 6e12;      // bytes per second
  double launches = 3 * 3e-6;                // seconds per chunk
};

double seconds_of_chunk(const Geometry& geometry, const Chunking& chunk, const DeviceInfo& device,
                        const Machine& machine) {
  const PassPlanes planes = pass_planes(geometry, chunk.images);
  const GemmArguments g =
      plane_products(geometry, planes, tile_classes(geometry.h, geometry.w, chunk.images), device);
  const GemmWork work = gemm_work(g);
  constexpr double kBlocksPerCore = 2;
  const double blocks = work.blocks * chunk.splits, slots = machine.cores * kBlocksPerCore;
  const double waves = std::max(1.0, std::ceil(blocks / slots));
  const double block_seconds = work.multiply_adds / blocks / machine.fma_per_core * kBlocksPerCore;
  const double bytes = 4.0 * static_cast<double>(planes.input.floats + planes.output.floats);
  const bool fits_cache = bytes < machine.cache_bytes * 3 / 4;
  const double partial =
      is_backward_filter(geometry) ? 4.0 * static_cast<double>(planes.filters.floats) * chunk.splits : 0;
  return waves * block_seconds + 2 * bytes / (fits_cache ? machine.cache : machine.memory) +
         2 * partial / machine.memory + machine.launches;
}

}  // namespace

PassPlanes pass_planes(const Geometry& geometry, int64_t images) {
  const bool nhwc = geometry.problem.layout == Layout::nhwc;
  const int64_t groups = geometry.problem.groups;
  const int64_t tiles = tile_classes(geometry.h, geometry.w, images).tiles;
  const int64_t input_lanes = align_plane(geometry.input_view.lanes());
  const int64_t output_lanes = align_plane(geometry.output_view.lanes());
  // Tiles are contiguous where the tensors' pixels are, lanes where channels are. The filters then lie so
  // that both operands of the product are contiguous along the same dimension: k where channels are, else m
  // and n.
  const bool filter_lanes = is_backward_filter(geometry) || (geometry.problem.pass == Pass::forward) == nhwc;
  return {plane_set(geometry, groups * output_lanes, input_lanes, filter_lanes),
          plane_set(geometry, tiles, groups * input_lanes, nhwc),
          plane_set(geometry, tiles, groups * output_lanes, nhwc)};
}

GemmArguments plane_products(const Geometry& geometry, const PassPlanes& planes, const TileClasses& classes,
                             const DeviceInfo& device) {
  const bool nhwc = geometry.problem.layout == Layout::nhwc, gradient = is_backward_filter(geometry);
  const bool forward = geometry.problem.pass == Pass::forward;
  const int64_t input_lanes = align_plane(geometry.input_view.lanes());
  const int64_t output_lanes = align_plane(geometry.output_view.lanes());
  const int64_t of_input = input_lanes * planes.input.strides.lane;
  const int64_t of_output = output_lanes * planes.output.strides.lane;
  const int64_t of_filters = output_lanes * planes.filters.strides.tile;
  const auto set = [](const PlaneSet& from, int64_t& plane, int& row) {
    plane = from.strides.plane;
    row = from.row();
  };

  GemmArguments g;
  g.planes = static_cast<int>(geometry.planes());
  g.groups = static_cast<int>(geometry.problem.groups);
  g.depth_contiguous = gradient != nhwc;
  g.by_tma = !g.depth_contiguous && runs_sm_90a(device);
  int m = static_cast<int>(forward ? geometry.output_view.lanes() : geometry.input_view.lanes()), n = 0;
  if (gradient) {
    // The larger of the two goes along the wide side of the block tile.
    g.transposed = geometry.input_view.lanes() < geometry.output_view.lanes();
    m = static_cast<int>(std::min(input_lanes, output_lanes));
    n = static_cast<int>(std::max(input_lanes, output_lanes));
    set(g.transposed ? planes.input : planes.output, g.a_plane, g.a_row);
    set(g.transposed ? planes.output : planes.input, g.b_plane, g.b_row);
    set(planes.filters, g.c_plane, g.c_row);
    g.a_group = g.transposed ? of_input : of_output;
    g.b_group = g.transposed ? of_output : of_input;
    g.c_group = of_filters;
    g.c_split = planes.filters.floats;
  } else {
    g.transposed = nhwc;
    set(planes.filters, g.a_plane, g.a_row);
    set(forward ? planes.input : planes.output, g.b_plane, g.b_row);
    set(forward ? planes.output : planes.input, g.c_plane, g.c_row);
    g.a_group = of_filters;
    g.b_group = forward ? of_input : of_output;
    g.c_group = forward ? of_output : of_input;
  }
  for (int plane = 0; plane < g.planes; ++plane) {
    const int i = plane / geometry.points_w(), j = plane % geometry.points_w();
    const IndexRange tiles = classes.with(i, j);
    PlaneProduct& product = g.products[plane];
    if (gradient) {
      product = {0, m, 0, n, tiles.begin, tiles.count};
    } else {
      const IndexRange depth =
          forward ? forward_depth(geometry, i, j) : IndexRange{0, static_cast<int>(output_lanes)};
      product = {0, m, tiles.begin, tiles.count, depth.begin, depth.count};
    }
    g.split_depth = std::max(g.split_depth, product.k);
  }
  return g;
}

GemmWork gemm_work(const GemmArguments& g) {
  const GemmTile& tile = gemm_tile(g);
  const int64_t rows = tile.rows, columns = tile.columns;
  GemmWork work;
  for (int i = 0; i < g.planes; ++i) {
    const PlaneProduct& product = g.products[i];
    const int64_t m = round_up(product.m, rows), n = round_up(product.n, columns);
    int64_t depth = 0, staged = 0;
    for (int64_t split = 0; split < g.splits; ++split) {
      const int64_t left = std::max<int64_t>(product.k - split * g.split_depth, 0);
      depth += round_up(std::min<int64_t>(left, g.split_depth), int64_t{tile.depth});
      staged += round_up(std::min<int64_t>(left, g.split_depth), int64_t{tile.stage});
    }
    const int64_t tiles = g.groups * (m / rows) * (n / columns);
    work.blocks += static_cast<double>(tiles * g.splits);
    work.multiply_adds += static_cast<double>(g.groups * m * n) * static_cast<double>(depth);
    work.staged_bytes += static_cast<double>(tiles * staged * (rows + columns)) * sizeof(float);
  }
  return work;
}

int64_t workspace_floats(const Geometry& geometry, const Chunking& chunk) {
  const PassPlanes planes = pass_planes(geometry, chunk.images);
  return planes.filters.floats * chunk.splits + planes.input.floats + planes.output.floats;
}

double longest_sum(const Geometry& geometry, const Chunking& chunk) {
  const PassPlanes planes = pass_planes(geometry, chunk.images);
  const GemmArguments g =
      plane_products(geometry, planes, tile_classes(geometry.h, geometry.w, chunk.images), DeviceInfo{});
  const int64_t depth = ceil_div(int64_t{g.split_depth}, int64_t{chunk.splits});
  const int64_t chunks = is_backward_filter(geometry) ? ceil_div(geometry.problem.batch, chunk.images) : 1;
  return static_cast<double>(std::min<int64_t>(depth, kGemmRun) +
                             chunks * ceil_div(depth, int64_t{kGemmRun}) + chunk.splits);
}

namespace {

constexpr int64_t kMaxFloats = int64_t{1} << 31;  // of a set of planes, well inside the kernels' indices
constexpr int kMaxSplits = 8;

// A tile has kPlaneAlign lanes at least: of more tiles than that leaves room for the count itself overflows.
bool planes_fit(const Geometry& geometry, int64_t images) {
  if (images > kMaxFloats / (kPlaneAlign * geometry.tile_rows() * geometry.tile_columns())) return false;
  const PassPlanes planes = pass_planes(geometry, images);
  return std::max(planes.input.floats, planes.output.floats) <= kMaxFloats;
}

// Of those whose sums are short enough the one with the smallest workspace, whatever the cap, with more
// splits than are worth it for speed; `otherwise` where there is none.
Chunking smallest_accurate(const Geometry& geometry, double additions, const Chunking& otherwise) {
  Chunking smallest = otherwise;
  int64_t smallest_floats = INT64_MAX;
  for (int64_t images = 1; images <= geometry.problem.batch; images *= 2)
    for (int splits = 1; splits <= 4 * kMaxSplits; splits *= 2) {
      if (!planes_fit(geometry, images)) continue;
      const Chunking chunk{images, splits};
      const int64_t floats = workspace_floats(geometry, chunk);
      if (floats >= smallest_floats || longest_sum(geometry, chunk) > additions) continue;
      smallest_floats = floats;
      smallest = chunk;
    }
  return smallest;
}

}  // namespace

// The fastest by the estimate of those that fit and whose sums are short enough. Where all that fit would
// miss the accuracy gate, one that does not, even if it is over the cap; where nothing fits, one image at a
// time and no splits.
Chunking chunking(const Geometry& geometry, const DeviceInfo& device, const PlanOptions& options) {
  Machine machine;
  if (device.llc_bytes > 0) {  // the emulator has none
    machine.cores = device.cores;
    machine.cache_bytes = static_cast<double>(device.llc_bytes);
  }
  const int64_t batch = geometry.problem.batch;
  const int max_splits = is_backward_filter(geometry) ? kMaxSplits : 1;
  const double additions = max_additions(geometry);
  Chunking best;
  double best_seconds = 0, best_excess = 0;
  int64_t last = 0;
  for (int64_t chunks = 1; chunks <= batch; ++chunks) {
    const int64_t images = ceil_div(batch, chunks);
    if (images == last) continue;
    last = images;
    for (int splits = 1; splits <= max_splits; ++splits) {
      const Chunking chunk{images, splits};
      if (!planes_fit(geometry, images) || workspace_floats(geometry, chunk) > options.workspace_cap / 4)
        break;
      const double seconds =
          seconds_of_chunk(geometry, chunk, device, machine) * static_cast<double>(ceil_div(batch, images));
      const double excess = std::max(0.0, longest_sum(geometry, chunk) - additions);
      if (best_seconds == 0 || std::pair(excess, seconds) < std::pair(best_excess, best_seconds)) {
        best_seconds = seconds;
        best_excess = excess;
        best = chunk;
      }
    }
  }
  // max_additions() keeps a twentieth of the error in hand, which grows with the root of the additions.
  constexpr double kTooLong = 1.05 * 1.05 - 1;
  const bool misses_the_gate = best_excess > kTooLong * additions;
  return misses_the_gate ? smallest_accurate(geometry, additions, best) : best;
}

PlaneSet fused_filter_planes(const Geometry& geometry) {
  return plane_set(geometry, geometry.problem.groups * align_plane(geometry.output_view.lanes()),
                   align_plane(geometry.input_view.lanes()), geometry.problem.pass == Pass::backward_data);
}

}  // namespace convscope::winograd
