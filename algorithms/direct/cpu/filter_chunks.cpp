#include "algorithms/direct/cpu/filter_chunks.hpp"

#include <algorithm>

namespace convscope::direct {

Range input_rows_of(const Axis& axis, Range rows) {
  if (axis.taps.empty()) return {};  // all on padding
  return {rows.begin * axis.step + axis.taps.front().offset,
          (rows.end - 1) * axis.step + axis.taps.back().offset + 1};
}

std::vector<std::vector<Chunk>> sliced_chunks(const Axis& axis, int64_t images, int64_t slices,
                                              int64_t chunk_rows) {
  std::vector<std::vector<Chunk>> chunks(static_cast<size_t>(slices));
  const int64_t all = images * axis.count;
  for (int64_t slice = 0; slice < slices; ++slice) {
    const int64_t end = (slice + 1) * all / slices;
    for (int64_t row = slice * all / slices; row < end;) {
      const int64_t p = row % axis.count, most = std::min(chunk_rows, end - row);
      const Range rows{p, std::min(p + most, axis.count)};
      const int64_t whole = p == 0 ? std::max<int64_t>(1, most / axis.count) : 1;
      chunks[static_cast<size_t>(slice)].push_back(
          {row / axis.count, whole, rows, input_rows_of(axis, rows)});
      row += whole * rows.size();
    }
  }
  return chunks;
}

}  // namespace convscope::direct
