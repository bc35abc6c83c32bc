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

// A vector clock: for each warp, how many of its events are known.
using Clock = std::array<u32, 32>;
void join(Clock& to, const Clock& from);

// A cp.async of one thread.
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

// The operands of wgmmas in flight: chunks of 16 bytes of shared memory, and accumulators.
struct PendingReads {
  std::vector<u32> chunks;
  std::vector<s32> accumulators;
};

struct Warp {
  Block* block = nullptr;
  u32 number = 0;
  u32* registers = nullptr;
  const u32* constants = nullptr;
  u32 launched = 0, live = 0;  // lanes
  u32 waiting = 0;             // lanes at a barrier of the block
  u32 held = 0;                // lanes at a collective, until the others arrive
  u32 spun = 0;                // lanes that found an mbarrier incomplete
  u32 mask = 0;                // lanes that run now
  s32 pc = 0;                  // their next instruction
  s32 stop = 0;                // the smallest next instruction of the other lanes beyond pc
  bool reselect = false;
  std::array<s32, kLanes> lane_pc{};
  std::array<Copies, kLanes> copies;
  std::vector<u8> local;  // local memory of all lanes
  // wgmma
  PendingReads open_reads;
  std::deque<PendingReads> reads;
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

// An mbarrier, with the joined clocks of arrivals in this phase and of completed phases.
struct Mbarrier {
  u32 expected = 0;
  s64 pending = 0;
  s64 bytes = 0;
  u64 phase = 0;
  Clock arrivals{}, released{};
};

struct BlockBarrier {
  u32 arrived = 0;                         // threads, counted in whole warps
  u32 expected = 0;                        // threads; 0: all of the block
  std::vector<std::pair<u32, u32>> lanes;  // warp, waiting lanes
  Clock clock{};                           // joined clocks of the arrivals
};

struct TensorCopy {
  u32 to = 0, barrier = 0;
  TensorMap map;
  s32 at[5] = {};
  u32 rank = 0;
  u16 offset[3] = {};  // of im2col mode, of dimensions 1 to rank - 2
  Clock clock{};       // of the issuing warp
  u32 warp = 0;
  int lane = 0;
  const Instruction* by = nullptr;
};

// The last write to a word of shared memory, for the detection of races.
struct Shadow {
  u8 valid = 0;         // part of a variable
  u8 generic = 0;       // last written by st or cp.async, not by TMA
  u8 bytes = 0;         // written bytes, as a bit mask
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
  u64 events = 0;                  // counted whenever other warps may be able to continue
  Range cached{};                  // the allocation accessed last
  std::vector<Range> allocations;  // all allocations accessed so far
  std::mt19937_64 random;
  bool host_wait = false;  // a volatile load read what the host may write
  Statistics statistics;
  std::set<std::pair<u32, std::string>> warned;

  [[noreturn]] void fault(const Warp& w, const Instruction& i, int lane, const std::string& what) const;
  // Host address of `bytes` of global memory, a power of two, checked.
  u8* global(const Warp& w, const Instruction& i, int lane, u64 address, u32 bytes, const char* verb) {
    if (address < cached.begin || address + bytes > cached.end)
      check_global(w, i, lane, address, bytes, verb);
    if ((address & (bytes - 1)) != 0) misaligned(w, i, lane, address, bytes, verb);
    return reinterpret_cast<u8*>(address);
  }
  // Host address of `bytes` of shared memory, a power of two, checked, also for races.
  u8* shared_at(const Warp& w, const Instruction& i, int lane, u64 address, u32 bytes, bool write);
  void check_global(const Warp& w, const Instruction& i, int lane, u64 address, u32 bytes, const char* verb);
  [[noreturn]] void misaligned(const Warp& w, const Instruction& i, int lane, u64 address, u32 bytes,
                               const char* verb) const;
  void record_read(const Warp& w, const Instruction& i, int lane, u32 word, u32 bytes = 15);
  void record_write(const Warp& w, const Instruction& i, int lane, u32 word, bool generic, u32 bytes = 15);
  // Once per instruction and kind.
  void warn(const Warp& w, const Instruction& i, int lane, const std::string& what);
  std::string place_of(u32 line) const;  // FILE:LINE and the instruction
  void arrive(const Warp& w, const Instruction& i, int lane, u32 address, u32 count);
  void complete_phase(u32 address);
  Mbarrier& mbarrier(const Warp& w, const Instruction& i, int lane, u64 address);
};

// Whether all lanes of `needed` have arrived; otherwise those of `mask` wait. Throws Fault when the missing
// lanes cannot arrive.
bool all_here(Warp& w, const Instruction& i, u32 mask, u32 needed);

// After the end of a warp: releases barriers that waited for it.
void check_barriers(Block& b);

// Completes a tensor copy: writes shared memory and signals its mbarrier.
void land(Block& b, const TensorCopy& copy);

}  // namespace convscope::ptx
