// Races between the warps of a block in shared memory, by a vector clock a warp: an access is ordered when a
// barrier (bar, mbarrier) has told the warp of the other's clock. Races between the lanes of one warp are not
// looked for.
#include <fmt/format.h>

#include <algorithm>

#include "bench/ptx/machine.hpp"

namespace convscope::ptx {

void join(Clock& to, const Clock& from) {
  for (size_t n = 0; n < to.size(); ++n) to[n] = std::max(to[n], from[n]);
}

// `bytes`: those of the word that are meant, as bits.
void Block::note_read(const Warp& w, const Instruction& i, int lane, u32 word, u32 bytes) {
  Shadow& s = shadow[word];
  const Clock& clock = clocks[w.number];
  if (s.writer < 32 && s.writer != w.number && (s.bytes & bytes) && s.write_clock > clock[s.writer])
    warn(w, i, lane,
         fmt::format("race: reads a word that warp {} wrote, no barrier between, at {}", s.writer,
                     place_of(s.write_line)));
  if (!s.written && options->report_uninitialised) warn(w, i, lane, "reads shared memory that nobody wrote");
  read_clocks[word * warps.size() + w.number] = clock[w.number];
}

void Block::note_write(const Warp& w, const Instruction& i, int lane, u32 word, bool generic, u32 bytes) {
  Shadow& s = shadow[word];
  const Clock& clock = clocks[w.number];
  if (s.writer < 32 && s.writer != w.number && (s.bytes & bytes) && s.write_clock > clock[s.writer])
    warn(w, i, lane,
         fmt::format("race: writes a word that warp {} wrote, no barrier between, at {}", s.writer,
                     place_of(s.write_line)));
  const u32* reads = read_clocks.data() + word * warps.size();
  for (u32 r = 0; r < warps.size() && r < 32; ++r)
    if (reads[r] > clock[r] && r != w.number && bytes == 15)  // who read which bytes is not kept
      warn(w, i, lane, fmt::format("race: writes a word that warp {} read, no barrier between", r));
  if (s.async_reads != 0) warn(w, i, lane, "race: writes a word that a wgmma in flight reads");
  s.written = 1;
  s.generic = generic;
  s.bytes = static_cast<u8>(bytes);
  s.writer = static_cast<u8>(w.number);
  s.write_clock = clock[w.number];
  s.write_line = i.line;
  s.fence = proxy_fences[w.number];
}

}  // namespace convscope::ptx
