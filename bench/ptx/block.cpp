// The state that a block of threads begins with.
#include <algorithm>

#include "bench/ptx/machine.hpp"

namespace convscope::ptx {
namespace {

// What the hardware says in a special register to thread t of the block. Throws Fault for a register not
// known.
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
    if (name == "%globaltimer") continue;  // read again at each of the warp's turns
    for (u32 l = 0; l < kLanes; ++l)
      file[static_cast<size_t>(at) + l] = special_value(b, name, number * kLanes + l);
  }
}

}  // namespace

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
  if (b.options->races) b.read_clocks.assign(b.shadow.size() * warps, 0);
  b.proxy_fences.assign(warps, 1);
  b.barriers = {};
  b.mbarriers.clear();
  b.tensor_copies.clear();
  b.warps.resize(warps);
  b.register_files.resize(warps);
  for (u32 w = 0; w < warps; ++w) start_warp(b.warps[w], b, w, b.register_files[w]);
}

}  // namespace convscope::ptx
