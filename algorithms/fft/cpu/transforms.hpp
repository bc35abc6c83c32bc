// The two-dimensional transforms of batches of tiles, one tile a lane: from a tensor to spectra and back. The
// instruction set is chosen at run time, once a call. Not here: which tile lies where (geometry) and what is
// done with spectra (product). Works on the calling thread.
#pragma once

#include <cstdint>
#include <span>

#include "algorithms/fft/geometry.hpp"

namespace convscope::fft {

// A real size x size tile has size * size / 2 + 2 independent complex bins: two real columns of
// size / 2 + 1 bins, first and middle one, and size / 2 - 1 complex columns of `size` bins.
constexpr int64_t bins(int size) {
  return int64_t{size} * size / 2 + 2;
}

// How many tiles are transformed at once: the floats of a vector.
int vector_lanes();

// What a call needs as scratch, aligned to 64 bytes: about half of an L2.
int64_t scratch_bytes(int size);

// `count` <= vector_lanes() planes of an operand: lanes[0 .. count-1] with one `other`. Lanes that are not
// used hold some other lane's values in spectra and are never written to tensors.
struct LanePlanes {
  const Operand* operand = nullptr;
  const Item* lanes = nullptr;
  const Item* other = nullptr;
  int count = 0;
};

// Bin i of the lanes is at real + i * bin_stride and imaginary + i * bin_stride, vector_lanes() floats each,
// aligned to the vector.
struct SplitSpectra {
  float* real = nullptr;
  float* imaginary = nullptr;
  int64_t bin_stride = 0;
  bool stream = false;  // write past the caches: for areas that do not fit them anyway
};

struct Batch {
  LanePlanes planes;
  SplitSpectra spectra;
};

// How many batches of an operand one call can take. Several at once visit the spectra bin by bin, so that
// batches whose spectra are neighbours in memory share pages and lines; up to kMaxBatches.
inline constexpr int kMaxBatches = 128;
int max_batches(int size, const Operand& operand);

// Reads the planes, zero outside the tensor, and writes their spectra. `size` is 16 or 32; all batches are of
// one operand.
void transform_tiles(int size, std::span<const Batch> batches, const float* tensor, float* scratch);

// Writes the samples of the operand's window that lie inside the tensor, times 1 / size^2.
void invert_tiles(int size, std::span<const Batch> batches, float* tensor, float* scratch);

// Small windows (filters) have variants of their own that leave out work on zeros and on unwanted results.
inline bool has_small_window(int size, const Operand& operand) {
  return operand.h.window <= size / 4 && operand.w.window <= size / 4;
}

// Floating-point operations of one real or complex transform by split radix (codelets-inl.hpp). Variants that
// leave out zeros do fewer and are counted alike.
constexpr int64_t real_flops(int size) {
  const int64_t log2 = size == 16 ? 4 : 5;
  return 2 * size * log2 - 4 * size + 6;
}
constexpr int64_t complex_flops(int size) {
  const int64_t log2 = size == 16 ? 4 : 5;
  return 4 * size * log2 - 6 * size + 8;
}

// Operations of transforming or inverting these planes, unused lanes included: rows that lie inside the
// tensor for any lane, then all columns.
int64_t transform_flops(int size, const LanePlanes& planes);

}  // namespace convscope::fft
