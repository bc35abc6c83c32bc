// How the tiles of a chunk of images lie in the planes of the CUDA kernels, and the plain structs that those
// kernels take. A plane is the matrix of one pair of interpolation points, tiles by lanes. Only arithmetic on
// sizes; the kernels are in plane_transforms.cu and plane_gemm.cu. Start at TileClasses.
#pragma once

#include <array>
#include <cstdint>

#include "algorithms/winograd/geometry.hpp"

namespace convscope::winograd {

// Tiles, lanes and channels are stored in multiples of this, padded with zeros: the GEMM loads 16 bytes.
inline constexpr int kPlaneAlign = 4;
inline constexpr int kMaxResidues = 64;
inline constexpr int kMaxPlanes = 64;

template <typename Integer>
constexpr Integer align_plane(Integer count) {
  return (count + kPlaneAlign - 1) / kPlaneAlign * kPlaneAlign;
}

// The tiles of one size along one dimension: `count` of them, the first at output `start`.
struct ClassAxis {
  int start = 0, count = 1, size = 1, alpha = 1;
};
// The tiles of one height and width. Tile (n, h, w) is number first + (n * h.count + h.row) * w.count +
// w.column.
struct TileClass {
  ClassAxis h, w;
  int first = 0;        // a multiple of kPlaneAlign
  int tiles = 0;        // padded with zeros to a multiple of kPlaneAlign
  int first_block = 0;  // of the transform kernels
};

struct IndexRange {
  int begin = 0, count = 0;
};

// All tiles of some images, by class. Where tiles of a dimension have two sizes, the classes are in the order
// low and wide, high and wide, high and narrow, low and narrow, so that the tiles that have a pair of points
// are one range.
struct TileClasses {
  int count = 0;
  int tiles = 0;  // padding included
  TileClass at[4];

  IndexRange with(int point_h, int point_w) const;
};
TileClasses tile_classes(const Axis& h, const Axis& w, int64_t images);
// One tile for each of `count` filters; its "outputs" are the taps.
TileClasses filter_class(const Geometry& geometry, int64_t count);

// How a kernel finds pixel (i, j) of a lane in a tensor: element (i * step + residue - origin) of channel
// (group, lane % channels). Lanes and images are counted by channel group, each padded to `stored`; filters
// (as images) belong to a channel group, images of an activation do not. Strides in floats.
struct TensorAddressing {
  int64_t stride_n = 0, stride_c = 0, stride_h = 0, stride_w = 0;
  int h = 1, w = 1, step_h = 1, step_w = 1, origin_h = 0, origin_w = 0;
  int channels = 1;
  int lanes = 1, lanes_stored = 1, images = 1, images_stored = 1;  // of one group
  int total_lanes = 1;                                             // groups * lanes_stored, or lanes_stored
  bool reversed = false;                                           // taps counted from the last
  struct {
    uint8_t h, w;
  } residues[kMaxResidues] = {};
};
TensorAddressing activation_addressing(const TensorView& view, int64_t groups, int64_t images);
TensorAddressing filter_addressing(const Geometry& geometry);

// Where element (tile, lane) of a plane lies; the stride of tiles or of lanes is 1. Floats.
struct PlaneStrides {
  int64_t plane = 0;
  int64_t tile = 0, lane = 0;
};

// The products of the planes: C[m][n] = sum over k of A[k][m] B[k][n] for each plane and group.
struct PlaneProduct {
  int m_begin = 0, m = 0, n_begin = 0, n = 0, k_begin = 0, k = 0;
};
struct GemmArguments {
  const float* a = nullptr;
  const float* b = nullptr;
  float* c = nullptr;
  int64_t a_plane = 0, b_plane = 0, c_plane = 0;  // floats
  int64_t a_group = 0, b_group = 0, c_group = 0, c_split = 0;
  int a_row = 0, b_row = 0, c_row = 0;  // between rows: of k, or with depth_contiguous of m and n
  int planes = 1, groups = 1;
  int splits = 1, split_depth = 0;  // k is cut into `splits` parts of this many, each with its own C
  bool depth_contiguous = false;    // A[m][k] and B[n][k] instead
  bool transposed = false;          // C[n][m] instead
  bool accumulate = false;          // C += instead of C =
  bool by_tma = false;              // on a GPU of sm_90a; not with depth_contiguous
  PlaneProduct products[kMaxPlanes];
};

// The tile of C that a block of the GEMM computes, the multiple to which it pads the depth, and the depth
// that it brings to shared memory at a time.
struct GemmTile {
  int rows, columns, depth, stage;
};
inline constexpr std::array kGemmTiles{GemmTile{128, 128, 8, 8}, GemmTile{96, 128, 8, 8},
                                       GemmTile{64, 128, 8, 8}};
inline constexpr std::array kTmaGemmTiles{GemmTile{128, 64, kPlaneAlign, 16},
                                          GemmTile{96, 64, kPlaneAlign, 16},
                                          GemmTile{64, 128, kPlaneAlign, 16}};
// Products that are summed in registers before they are added to C; a multiple of the depth of a stage.
inline constexpr int kGemmRun = 512;
// The tile whose rows pad all products of `arguments` least, the first of several.
const GemmTile& gemm_tile(const GemmArguments& arguments);

}  // namespace convscope::winograd
