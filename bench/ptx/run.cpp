// Runs a launch block after block: a block's initial state, the schedule of its warps, the checks at its end.
#include "bench/ptx/run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <map>
#include <numeric>
#include <thread>

#include "bench/ptx/lanes.hpp"

namespace convscope::ptx {
namespace {

// The value of a special register in thread t of the block. Throws Fault for an unknown register.
u32 special_value(const Block& b, const std::string& name, u32 t) {
  const Dim3& block = b.launch->block;
  const Dim3& grid = b.launch->grid;
  const auto axis = [&](const Dim3& d) { return name.back() == 'x' ? d.x : name.back() == 'y' ? d.y : d.z; };
  if (name.starts_with("%tid.")) return axis({t % block.x, t / block.x % block.y, t / block.x / block.y});
  if (name.starts_with("%ntid.")) return axis(block);
  if (name.starts_with("%ctaid.")) return axis(b.index);
  if (name.starts_with("%nctaid.")) return axis(grid);
  if (name == "%laneid") return t % kLanes;
  if (name == "%warpid") return t / kLanes;
  throw Fault("PTX: " + b.kernel->name + ": special register not known: " + name);
}

void start_warp(Warp& w, Block& b, u32 number, std::vector<u32>& file) {
  const Kernel& k = *b.kernel;
  w = Warp();
  w.block = &b;
  w.number = number;
  file.assign(k.register_words, 0xffffffffu);  // NaN until written
  w.registers = file.data();
  w.constants = k.constants.data();
  const u32 lanes = std::min<u32>(kLanes, b.threads - number * kLanes);
  w.launched = w.live = lanes == kLanes ? ~u32{0} : (u32{1} << lanes) - 1;
  w.local.assign(size_t{k.local_bytes} * kLanes, 0xff);
  w.in_flight.assign(k.has_wgmma ? k.register_words / kLanes : 0, 0);
  for (const auto& [name, at] : k.special) {
    if (name == "%globaltimer") continue;  // set at each turn of the warp
    for (u32 l = 0; l < kLanes; ++l)
      file[static_cast<size_t>(at) + l] = special_value(b, name, number * kLanes + l);
  }
}

void start_block(Block& b) {
  const Kernel& k = *b.kernel;
  b.shared_end = k.static_shared + b.launch->dynamic_shared;
  b.shared.assign(b.shared_end + 16, 0xff);
  b.shadow.assign(b.shared_end / 4 + 4, Shadow());
  for (const Variable& v : k.shared) {
    const u32 end = v.dynamic ? b.shared_end : v.offset + v.size;
    for (u32 a = v.offset / 4; a < (end + 3) / 4; ++a) b.shadow[a].valid = 1;
  }
  const size_t warps = (b.threads + kLanes - 1) / kLanes;
  b.clocks.assign(warps, Clock{});
  for (size_t w = 0; w < warps; ++w) b.clocks[w][w] = 1;
  b.read_clocks.assign(b.shadow.size() * warps, 0);
  b.proxy_fences.assign(warps, 1);
  b.barriers = {};
  b.mbarriers.clear();
  b.tensor_copies.clear();
  b.warps.resize(warps);
  b.register_files.resize(warps);
  for (u32 w = 0; w < warps; ++w) start_warp(b.warps[w], b, w, b.register_files[w]);
}

u64 nanoseconds() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<u64>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

// Selects, of the lanes that can run, those with the smallest pc; false when none can run.
bool select(Warp& w) {
  constexpr s32 kNever = 0x7fffffff;
  u32 ready = w.live & ~w.waiting & ~w.held & ~w.spun;
  if (ready == 0) {
    if (w.spun & w.live) {
      w.spun = 0;  // the other warps run before these lanes poll again
      return false;
    }
    ready = w.held & w.live;
    if (ready == 0) return false;
  }
  s32 first = kNever;
  for (u32 k = ready; k != 0; k &= k - 1)
    first = std::min(first, w.lane_pc[static_cast<size_t>(std::countr_zero(k))]);
  w.mask = 0;
  w.stop = kNever;
  for (u32 k = w.live & ~w.waiting; k != 0; k &= k - 1) {
    const int l = std::countr_zero(k);
    const s32 pc = w.lane_pc[static_cast<size_t>(l)];
    if (pc == first)
      w.mask |= u32{1} << l;
    else if (pc > first)
      w.stop = std::min(w.stop, pc);
  }
  // Lanes before the first ready one are held or spin; lanes that branch back to their pc reconverge with
  // them.
  w.spun &= ~w.mask;
  w.pc = first;
  w.reselect = false;
  return true;
}

void check_in_flight(Warp& w, const Instruction& i) {
  const auto check = [&](const Operand& o) {
    if (o.index < static_cast<s32>(w.block->kernel->predicates) || o.constant) return;
    const size_t n = static_cast<size_t>(o.index) / kLanes;
    if (n < w.in_flight.size() && w.in_flight[n])
      w.block->warn(w, i, std::countr_zero(w.mask), "uses a sum of a wgmma in flight");
  };
  for (const auto& o : i.o) check(o);
  for (const auto& o : i.more) check(o);
}

// Runs the selected lanes until they wait, diverge or reach the pc of others.
u64 run_lanes(Warp& w) {
  const Instruction* code = w.block->kernel->code.data();
  for (u64 executed = 0;;) {
    if (w.pc >= w.stop) {
      set_pc(w, w.mask, w.pc);
      return executed;
    }
    const Instruction& i = code[w.pc++];
    ++executed;
    u32 mask = w.mask;
    if (i.guard >= 0) {
      const u32 p = w.registers[i.guard];
      mask &= i.guard_negated ? ~p : p;
      if (mask == 0) continue;
    }
    ++w.block->statistics.runs[static_cast<size_t>(&i - code)];
    if (w.in_flight_count != 0 && i.more.empty()) check_in_flight(w, i);
    i.run(w, i, mask);
    if (w.reselect) return executed;
  }
}

void run_warp(Warp& w) {
  const auto timer = w.block->kernel->special.find("%globaltimer");
  if (timer != w.block->kernel->special.end()) std::fill_n(w.to<u64>({timer->second}), kLanes, nanoseconds());
  while (select(w)) w.executed += run_lanes(w);
}

[[noreturn]] void deadlock(const Block& b) {
  std::string what =
      fmt::format("{}: block ({},{},{}): nobody can go on:", b.kernel->name, b.index.x, b.index.y, b.index.z);
  for (const Warp& w : b.warps) {
    std::map<std::string, u32> places;
    for (u32 k = w.live; k != 0; k &= k - 1) {
      const int l = std::countr_zero(k);
      const s32 pc = std::max(0, w.lane_pc[static_cast<size_t>(l)] - 1);
      places[b.place_of(b.kernel->code[static_cast<size_t>(pc)].line)] |= u32{1} << l;
    }
    for (const auto& [where, lanes] : places)
      what += fmt::format("\n  warp {} lanes {:#x} at {}", w.number, lanes, where);
  }
  throw Fault(what);
}

// Called when no warp could continue in two rounds: completes a tensor copy, or waits for the host.
void wait_for_progress(Block& b) {
  if (!b.tensor_copies.empty()) {
    const size_t n = b.options->order == Order::random ? b.random() % b.tensor_copies.size() : 0;
    const TensorCopy copy = b.tensor_copies[n];
    b.tensor_copies.erase(b.tensor_copies.begin() + static_cast<std::ptrdiff_t>(n));
    land(b, copy);
  } else if (b.host_wait) {
    b.statistics.waited_for_host = true;
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  } else {
    deadlock(b);
  }
}

void check_end(const Block& b) {
  const std::string& name = b.kernel->name;
  if (!b.tensor_copies.empty()) throw Fault(name + ": the block ends before a TMA copy has landed");
  for (const Warp& w : b.warps) {
    if (!w.reads.empty() || !w.open_reads.chunks.empty())
      throw Fault(name + ": the block ends before a wgmma is waited for");
    if (w.wgmma_count != b.warps[w.number / 4 * 4].wgmma_count)
      throw Fault(name + ": the warps of a warpgroup run different numbers of wgmma");
  }
}

void run_block(Block& b) {
  start_block(b);
  std::vector<u32> order(b.warps.size());
  std::iota(order.begin(), order.end(), 0);
  if (b.options->order == Order::reverse) std::reverse(order.begin(), order.end());
  for (int idle = 0;;) {
    if (b.options->order == Order::random) std::shuffle(order.begin(), order.end(), b.random);
    const u64 before = b.events;
    b.host_wait = false;
    for (const u32 w : order)
      if (b.warps[w].live != 0) run_warp(b.warps[w]);
    if (std::all_of(b.warps.begin(), b.warps.end(), [](const Warp& w) { return w.live == 0; })) break;
    if (b.events != before) {
      idle = 0;
    } else if (++idle == 2) {
      wait_for_progress(b);
      idle = b.host_wait ? 1 : 0;
    }
  }
  check_end(b);
}

}  // namespace

bool all_here(Warp& w, const Instruction& i, u32 mask, u32 needed) {
  const u32 missing = needed & w.live & ~mask;
  w.held &= ~mask;
  if (missing == 0) return true;
  if ((w.live & ~mask & ~w.waiting & ~w.held) == 0)
    w.block->fault(w, i, std::countr_zero(missing), "is missing in a collective of its warp, which waits");
  set_pc(w, mask, w.pc - 1);
  set_pc(w, w.mask & ~mask, w.pc);
  w.held |= mask;
  w.reselect = true;
  return false;
}

Statistics run(const Launch& launch, const Options& options) {
  const Kernel& k = *launch.kernel;
  Block b;
  b.launch = &launch;
  b.kernel = &k;
  b.options = &options;
  b.threads = launch.block.x * launch.block.y * launch.block.z;
  b.random.seed(options.seed);
  if (k.max_threads != 0 && b.threads > k.max_threads)
    throw Fault(
        fmt::format("{}: launched with {} threads, its .maxntid says {}", k.name, b.threads, k.max_threads));
  if (launch.parameters.size() != k.parameter_bytes)
    throw Fault(fmt::format("{}: launched with {} bytes of parameters, it has {}", k.name,
                            launch.parameters.size(), k.parameter_bytes));
  b.statistics.runs.resize(k.code.size());
  for (u32 z = 0; z < launch.grid.z; ++z)
    for (u32 y = 0; y < launch.grid.y; ++y)
      for (u32 x = 0; x < launch.grid.x; ++x) {
        b.index = {x, y, z};
        run_block(b);
        for (const Warp& w : b.warps) b.statistics.warp_instructions += w.executed;
      }
  return std::move(b.statistics);
}

}  // namespace convscope::ptx
