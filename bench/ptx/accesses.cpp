// Checked accesses to global and shared memory, and how faults name their place.
#include <fmt/format.h>

#include "bench/ptx/machine.hpp"

namespace convscope::ptx {
namespace {

std::string thread_name(const Block& b, const Warp& w, int lane) {
  const u32 t = w.number * kLanes + static_cast<u32>(lane);
  const Dim3& n = b.launch->block;
  return fmt::format("block ({},{},{}) thread ({},{},{})", b.index.x, b.index.y, b.index.z, t % n.x,
                     t / n.x % n.y, t / n.x / n.y);
}

}  // namespace

std::string Block::place_of(u32 line) const {
  const Text& text = kernel->texts[line];
  return text.where + ": " + text.text;
}

void Block::warn(const Warp& w, const Instruction& i, int lane, const std::string& what) {
  constexpr size_t kKind = 24;  // so many characters tell one kind of warning from another
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
    fault(w, i, lane,
          fmt::format("{} {} bytes at {:#x} of shared memory, which ends at {:#x}", verb, bytes, address,
                      shared_end));
  if (address % bytes != 0) misaligned(w, i, lane, address, bytes, verb);
  for (u32 word = static_cast<u32>(address / 4); word < (address + bytes + 3) / 4; ++word) {
    if (!shadow[word].valid)
      fault(w, i, lane, fmt::format("{} between the variables of shared memory, at {:#x}", verb, address));
    if (!options->races) continue;
    const u32 part = bytes < 4 ? ((1u << bytes) - 1) << (address % 4) : 15;
    if (write)
      note_write(w, i, lane, word, true, part);
    else
      note_read(w, i, lane, word, part);
  }
  return shared.data() + address;
}

}  // namespace convscope::ptx
