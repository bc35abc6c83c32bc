// The state of a block that runs: warps, shared memory, barriers, asynchronous copies. Handlers change it;
// run.cpp runs it.
#pragma once

#include <array>
#include <deque>
#include <random>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "bench/ptx/run.hpp"
#include "bench/ptx/tensor_map.hpp"

namespace convscope::ptx {

struct Block;

// A vector clock: how much is known of what each warp did.
using Clock = std::array<u32, 32>;
void join(Clock& to, const Clock& from);

// An asynchronous copy of one thread to shared memory (cp.async).
struct Copy {
  u32 to = 0;
  u64 from = 0;
  u8 bytes = 0, valid = 0;
  const Instruction* by = nullptr;
};

struct Copies {
  std::vector<Copy> open;
  std::deque<std::vector<Copy>> groups;  // committed, oldest first
};

// What wgmma in flight may still read: chunks of 16 bytes of shared memory, and its sums.
struct Reads {
  std::vector<u32> chunks;
  std::vector<s32> accumulators;
};

struct Warp {
  Block* block = nullptr;
  u32 number = 0;
  u32* registers = nullptr;
  const u32* constants = nullptr;
  u32 launched = 0, live = 0;  // lanes
  u32 waiting = 0;             // at a barrier of the block
  u32 held = 0;                // at a collective, until the other lanes come
  u32 spun = 0;                // found an mbarrier not complete
  u32 mask = 0;                // lanes that run now
  s32 pc = 0;                  // of these; their next instruction
  s32 stop = 0;                // next instruction of the first of the other lanes
  bool reselect = false;
  std::array<s32, kLanes> lane_pc{};
  std::array<Copies, kLanes> copies;
  std::vector<u8> local;  // of all lanes
  // wgmma
  Reads open_reads;
  std::deque<Reads> reads;
  std::vector<u8> in_flight;  // accumulators by register number / 32
  u32 in_flight_count = 0;
  u64 wgmma_count = 0;
  u64 executed = 0;

  template <class T>
  T* to(const Operand& o) {
    return reinterpret_cast<T*>(registers + o.index);
  }
  template <class T>
  const T* from(const Operand& o) const {
    return reinterpret_cast<const T*>((o.constant ? constants : registers) + o.index);
  }
  u64 address(const Operand& o, int lane) const { return o.wide ? from<u64>(o)[lane] : from<u32>(o)[lane]; }
  u32 predicate(const Operand& o) const { return o.constant ? constants[o.index] : registers[o.index]; }
};

// A barrier as mbarrier.init makes it, with the clocks of those who came and of those whom it let go.
struct Mbarrier {
  u32 expected = 0;
  s64 pending = 0;
  s64 bytes = 0;
  u64 phase = 0;
  Clock arrivals{}, released{};
};

struct BlockBarrier {
  u32 arrived = 0;                         // threads, in whole warps
  u32 expected = 0;                        // 0: nobody waits
  std::vector<std::pair<u32, u32>> lanes;  // warp, lanes that wait
  Clock clock{};                           // of those who came
  // of bar.red
  u32 count = 0;
  bool any = false, all = true;
};

struct TensorCopy {
  u32 to = 0, barrier = 0;
  TensorMap map;
  s32 at[5] = {};
  u32 rank = 0;
  Clock clock{};  // of the warp that asked for it
  u32 warp = 0;
  int lane = 0;
  const Instruction* by = nullptr;
};

// Who wrote a word of shared memory and who read it, as far as it is not ordered by a barrier yet.
struct Shadow {
  u8 valid = 0;         // part of a variable
  u8 written = 0;       // by anyone
  u8 generic = 0;       // last written by st or cp.async, not by TMA
  u8 bytes = 0;         // that it wrote, as bits
  u8 writer = 0xff;     // warp
  u32 write_clock = 0;  // of that warp
  u32 write_line = 0;
  u32 fence = 0;        // number of proxy fences of the writer before the write
  u32 async_reads = 0;  // wgmmas in flight that read it
};

struct Block {
  const Launch* launch = nullptr;
  const Kernel* kernel = nullptr;
  const Options* options = nullptr;
  Dim3 index;
  u32 threads = 0;
  std::vector<Warp> warps;
  std::vector<std::vector<u32>> register_files;
  std::vector<u8> shared;
  u32 shared_end = 0;
  std::vector<Shadow> shadow;     // of each word of shared memory
  std::vector<Clock> clocks;      // of each warp
  std::vector<u32> read_clocks;   // of each word: when each warp read it
  std::vector<u32> proxy_fences;  // of each warp
  std::array<BlockBarrier, 16> barriers;
  std::unordered_map<u32, Mbarrier> mbarriers;
  std::deque<TensorCopy> tensor_copies;
  u64 events = 0;                  // counts what lets others go on
  Range cached{};                  // allocation that was reached last
  std::vector<Range> allocations;  // those reached before
  std::mt19937_64 random;
  bool host_wait = false;  // somebody read what the host may write
  Statistics statistics;
  std::set<std::pair<u32, std::string>> warned;

  [[noreturn]] void fault(const Warp& w, const Instruction& i, int lane, const std::string& what) const;
  // Host address of `bytes` of global memory, checked.
  u8* global(const Warp& w, const Instruction& i, int lane, u64 address, u32 bytes, const char* verb) {
    if (address < cached.begin || address + bytes > cached.end)
      check_global(w, i, lane, address, bytes, verb);
    if (address % bytes != 0) misaligned(w, i, lane, address, bytes, verb);
    return reinterpret_cast<u8*>(address);
  }
  // Where `bytes` of shared memory lie, checked; looks for races.
  u8* shared_at(const Warp& w, const Instruction& i, int lane, u64 address, u32 bytes, bool write);
  void check_global(const Warp& w, const Instruction& i, int lane, u64 address, u32 bytes, const char* verb);
  [[noreturn]] void misaligned(const Warp& w, const Instruction& i, int lane, u64 address, u32 bytes,
                               const char* verb) const;
  void note_read(const Warp& w, const Instruction& i, int lane, u32 word, u32 bytes = 15);
  void note_write(const Warp& w, const Instruction& i, int lane, u32 word, bool generic, u32 bytes = 15);
  // Once a place and kind.
  void warn(const Warp& w, const Instruction& i, int lane, const std::string& what);
  std::string place_of(u32 line) const;  // FILE:LINE and the instruction
  void arrive(const Warp& w, const Instruction& i, int lane, u32 address, u32 count);
  void complete_phase(u32 address);
  Mbarrier& mbarrier(const Warp& w, const Instruction& i, int lane, u64 address);
};

// False when lanes of `needed` are not here yet; then those here wait for them. Throws Fault when they cannot
// come.
bool all_here(Warp& w, const Instruction& i, u32 mask, u32 needed);

// A warp has ended: lets those go who need not wait for it any longer.
void check_barriers(Block& b);

// A tensor copy arrives in shared memory and at its mbarrier.
void land(Block& b, const TensorCopy& copy);

}  // namespace convscope::ptx
