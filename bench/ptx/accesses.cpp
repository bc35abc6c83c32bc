// Checked accesses to global and shared memory, how faults name their place, and races between the warps of a
// block in shared memory. Races are found by one vector clock per warp: an access is ordered when a barrier
// (bar, mbarrier) has passed the other's clock to the warp. Races between the lanes of one warp are not
// detected.
#include <fmt/format.h>

#include <algorithm>

#include "bench/ptx/machine.hpp"

namespace convscope::ptx {
namespace {

std::string thread_name(const Block& b, const Warp& w, int lane) {
  const u32 t = w.number * kLanes + static_cast<u32>(lane);
  const Dim3& n = b.launch->block;
  return fmt::format("block ({},{},{}) thread ({},{},{})", b.index.x, b.index.y, b.index.z, t % n.x,
                     t / n.x % n.y, t / n.x / n.y);
}

// Whether no barrier orders the last write of the word before an access of the warp to these bytes of it.
bool races(const Block& b, const Warp& w, const Shadow& s, u32 bytes) {
  const bool is_others = s.writer < 32 && s.writer != w.number && (s.bytes & bytes) != 0;
  return is_others && s.write_clock > b.clocks[w.number][s.writer];
}

// Messages are made apart from the checks, which run for every lane of every access and then need no stack.
[[gnu::cold, gnu::noinline]] void report_race(Block& b, const Warp& w, const Instruction& i, int lane,
                                              const Shadow& s, const char* verb) {
  b.warn(w, i, lane,
         fmt::format("race: {} a word that warp {} wrote, no barrier between, at {}", verb, s.writer,
                     b.place_of(s.write_line)));
}

[[gnu::cold, gnu::noinline]] void report_read_race(Block& b, const Warp& w, const Instruction& i, int lane,
                                                   u32 reader) {
  b.warn(w, i, lane, fmt::format("race: writes a word that warp {} read, no barrier between", reader));
}

[[gnu::cold, gnu::noinline]] void report_async_race(Block& b, const Warp& w, const Instruction& i, int lane) {
  b.warn(w, i, lane, "race: writes a word that a wgmma in flight reads");
}

[[noreturn, gnu::cold, gnu::noinline]] void fault_outside(const Block& b, const Warp& w, const Instruction& i,
                                                          int lane, const char* verb, u64 address,
                                                          u32 bytes) {
  b.fault(w, i, lane,
          fmt::format("{} {} bytes at {:#x} of shared memory, which ends at {:#x}", verb, bytes, address,
                      b.shared_end));
}

[[noreturn, gnu::cold, gnu::noinline]] void fault_between(const Block& b, const Warp& w, const Instruction& i,
                                                          int lane, const char* verb, u64 address) {
  b.fault(w, i, lane, fmt::format("{} between the variables of shared memory, at {:#x}", verb, address));
}

}  // namespace

std::string Block::place_of(u32 line) const {
  const Text& text = kernel->texts[line];
  return text.where + ": " + text.text;
}

void Block::warn(const Warp& w, const Instruction& i, int lane, const std::string& what) {
  constexpr size_t kKind = 24;  // this many characters identify a kind of warning
  if (!warned.emplace(i.line, what.substr(0, kKind)).second) return;
  options->warn({what, kernel->name + ": " + place_of(i.line), thread_name(*this, w, lane)});
}

void Block::fault(const Warp& w, const Instruction& i, int lane, const std::string& what) const {
  throw Fault(
      fmt::format("{}: {}: {} at {}", kernel->name, thread_name(*this, w, lane), what, place_of(i.line)));
}

void Block::misaligned(const Warp& w, const Instruction& i, int lane, u64 address, u32 bytes,
                       const char* verb) const {
  fault(w, i, lane, fmt::format("{} {} bytes at {:#x}, which is not aligned to them", verb, bytes, address));
}

void Block::check_global(const Warp& w, const Instruction& i, int lane, u64 address, u32 bytes,
                         const char* verb) {
  Range range{};
  for (const Range& one : allocations)
    if (address >= one.begin && address < one.end) range = one;
  if (range.end == 0 && (range = launch->allocation(address)).end != 0) allocations.push_back(range);
  cached = range;
  if (address >= range.begin && address + bytes <= range.end) return;
  const std::string where = range.end != 0 ? fmt::format("{} bytes beyond an allocation of {}",
                                                         address + bytes - range.end, range.end - range.begin)
                                           : launch->describe(address);
  fault(w, i, lane, fmt::format("{} {} bytes at {:#x}, {}", verb, bytes, address, where));
}

u8* Block::shared_at(const Warp& w, const Instruction& i, int lane, u64 address, u32 bytes, bool write) {
  const char* verb = write ? "writes" : "reads";
  if (address < kSharedStart || address + bytes > shared_end)
    fault_outside(*this, w, i, lane, verb, address, bytes);
  if ((address & (bytes - 1)) != 0) misaligned(w, i, lane, address, bytes, verb);
  for (u32 word = static_cast<u32>(address / 4); word < (address + bytes + 3) / 4; ++word) {
    if (!shadow[word].valid) fault_between(*this, w, i, lane, verb, address);
    const u32 part = bytes < 4 ? ((1u << bytes) - 1) << (address % 4) : 15;
    if (write)
      record_write(w, i, lane, word, true, part);
    else
      record_read(w, i, lane, word, part);
  }
  return shared.data() + address;
}

void join(Clock& to, const Clock& from) {
  for (size_t n = 0; n < to.size(); ++n) to[n] = std::max(to[n], from[n]);
}

// `bytes`: the accessed bytes of the word, as a bit mask.
void Block::record_read(const Warp& w, const Instruction& i, int lane, u32 word, u32 bytes) {
  const Shadow& s = shadow[word];
  if (races(*this, w, s, bytes)) report_race(*this, w, i, lane, s, "reads");
  read_clocks[word * clocks.size() + w.number] = clocks[w.number][w.number];
}

void Block::record_write(const Warp& w, const Instruction& i, int lane, u32 word, bool generic, u32 bytes) {
  Shadow& s = shadow[word];
  const Clock& clock = clocks[w.number];
  if (races(*this, w, s, bytes)) report_race(*this, w, i, lane, s, "writes");
  const u32* reads = read_clocks.data() + word * clocks.size();
  for (u32 r = 0; r < clocks.size() && r < 32; ++r)
    if (reads[r] > clock[r] && r != w.number && bytes == 15)  // which bytes were read is not recorded
      report_read_race(*this, w, i, lane, r);
  if (s.async_reads != 0) report_async_race(*this, w, i, lane);
  s.generic = generic;
  s.bytes = static_cast<u8>(bytes);
  s.writer = static_cast<u8>(w.number);
  s.write_clock = clock[w.number];
  s.write_line = i.line;
  s.fence = proxy_fences[w.number];
}

}  // namespace convscope::ptx
