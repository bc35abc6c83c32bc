// mbarriers and TMA loads of the emulator. The barrier's own state is hidden from the thread sanitizer, which
// is told what the barrier orders; the copies are not hidden.
#include "bench/emulator/hopper_intrinsics.hpp"

#include <array>
#include <cstring>
#include <string>

#include "bench/device/device_error.hpp"
#include "bench/emulator/sanitizers.hpp"

namespace convscope::emulated {
namespace {

// The 64 bits of an mbarrier. Shared memory that nobody wrote is all ones: not a barrier.
struct BarrierState {
  uint32_t phase : 1, pending : 15, arrivals : 15, unfenced : 1;
  int32_t bytes;
};
static_assert(sizeof(BarrierState) == sizeof(uint64_t));

struct Box {
  uint32_t count[5];  // elements that arrive, by dimension
  uint32_t element_bytes;
  uint32_t bytes() const { return count[0] * count[1] * count[2] * count[3] * count[4] * element_bytes; }
};

Box box_of(const TensorMapLayout& layout) {
  const bool wide = layout.element == TmaElement::f32 || layout.element == TmaElement::tf32;
  Box box{{1, 1, 1, 1, 1}, wide ? 4u : 2u};
  for (int d = 0; d < layout.rank; ++d) box.count[d] = (layout.box[d] + layout.step[d] - 1) / layout.step[d];
  return box;
}

// Why the driver would refuse the layout, or an empty string.
std::string layout_defect(const TensorMapLayout& layout) {
  if (layout.rank != 2 && layout.rank != 4 && layout.rank != 5) return "rank " + std::to_string(layout.rank);
  if (reinterpret_cast<uintptr_t>(layout.base) % 16) return "the base address is not a multiple of 16";
  for (int d = 0; d < layout.rank; ++d) {
    const std::string dimension = " of dimension " + std::to_string(d);
    if (layout.size[d] == 0) return "size" + dimension + " is 0";
    if (layout.box[d] == 0 || layout.box[d] > 256) return "box" + dimension + " is not 1 to 256";
    if (layout.step[d] == 0 || layout.step[d] > 8) return "step" + dimension + " is not 1 to 8";
    if (d > 0 && layout.stride_bytes[d - 1] % 16) return "stride" + dimension + " is not a multiple of 16";
  }
  if (layout.step[0] != 1) return "step of dimension 0 is not 1";
  const Box box = box_of(layout);
  const uint32_t row = box.count[0] * box.element_bytes;
  if (layout.swizzle == TmaSwizzle::bytes_128 ? row != 128 : row % 16 != 0)
    return "a row of the box has " + std::to_string(row) + " bytes";
  return "";
}

uint32_t nearest_tf32(uint32_t bits) {
  if ((bits & 0x7f800000u) == 0x7f800000u) return bits;
  return (bits + 0xfffu + (bits >> 13 & 1)) & 0xffffe000u;
}

void copy_element(unsigned char* to, const unsigned char* from, TmaElement element, uint32_t bytes) {
  if (element != TmaElement::tf32) {
    std::memcpy(to, from, bytes);
    return;
  }
  uint32_t bits;
  std::memcpy(&bits, from, sizeof(bits));
  bits = nearest_tf32(bits);
  std::memcpy(to, &bits, sizeof(bits));
}

void copy_box(unsigned char* to, uint32_t to_offset, const TensorMapLayout& layout,
              const int (&position)[5]) {
  const Box box = box_of(layout);
  uint32_t at = to_offset;
  const uint32_t end = to_offset + box.bytes();
  for (uint32_t step[5] = {}; at < end; at += box.element_bytes) {
    const auto* from = static_cast<const unsigned char*>(layout.base);
    bool inside = true;
    for (int d = 0; d < layout.rank; ++d) {
      const int64_t index = position[d] + int64_t{step[d]} * layout.step[d];
      inside = inside && index >= 0 && static_cast<uint64_t>(index) < layout.size[d];
      if (inside) from += static_cast<uint64_t>(index) * (d ? layout.stride_bytes[d - 1] : box.element_bytes);
    }
    const uint32_t offset = layout.swizzle == TmaSwizzle::bytes_128 ? executor::swizzle_128(at) : at;
    if (inside)
      copy_element(to + offset, from, layout.element, box.element_bytes);
    else
      std::memset(to + offset, 0, box.element_bytes);
    for (int d = 0; d < 5 && ++step[d] == box.count[d]; ++d) step[d] = 0;
  }
}

}  // namespace

TensorMap make_tensor_map(const TensorMapLayout& layout) {
  if (const std::string defect = layout_defect(layout); !defect.empty())
    throw DeviceError("make_tensor_map: " + defect);
  return TensorMap{layout};
}

namespace executor {

CONVSCOPE_UNWATCHED void init_barrier(uint64_t* barrier, int arrivals, const CallSite& site) {
  if (arrivals < 1 || arrivals > 0x7ffe) fail("mbarrier for " + std::to_string(arrivals) + " arrivals", site);
  const auto count = static_cast<uint32_t>(arrivals) & 0x7fffu;
  *reinterpret_cast<BarrierState*>(barrier) = {0, count, count, 1, 0};
  remember_unfenced(barrier);
}

CONVSCOPE_UNWATCHED void fence_barriers() {
  for (uint64_t* barrier : take_unfenced()) reinterpret_cast<BarrierState*>(barrier)->unfenced = 0;
}

CONVSCOPE_UNWATCHED void update_barrier(uint64_t* barrier, int arrivals, int bytes, const CallSite& site) {
  auto* state = reinterpret_cast<BarrierState*>(barrier);
  if (state->arrivals == 0x7fff) fail("mbarrier is used before mbarrier_init()", site);
  if (arrivals && state->pending == 0)
    fail("mbarrier gets more arrivals than its " + std::to_string(state->arrivals), site);
  tsan::release(barrier);
  state->pending = (state->pending - static_cast<uint32_t>(arrivals)) & 0x7fffu;
  state->bytes += bytes;
  if (state->pending == 0 && state->bytes == 0) {
    state->phase ^= 1;
    state->pending = state->arrivals;
  }
  note_progress();
}

CONVSCOPE_UNWATCHED void wait_for_phase(uint64_t* barrier, int parity, const CallSite& site) {
  maybe_overtake();
  const auto* state = reinterpret_cast<const volatile BarrierState*>(barrier);
  if (state->arrivals == 0x7fff) fail("mbarrier is used before mbarrier_init()", site);
  while (static_cast<int>(state->phase) == parity) spin("mbarrier_wait", site);
  tsan::acquire(barrier);
}

void load_box(void* shared, const TensorMap& map, uint64_t* barrier, const int (&position)[5],
              const CallSite& site) {
  const Box box = box_of(map.layout);
  const uint32_t offset = dynamic_offset(shared), bytes = box.bytes();
  if (const int64_t first = int64_t{position[0]} * box.element_bytes; first % 16 != 0)
    fail("TMA load from coordinate " + std::to_string(position[0]) + " of dimension 0, " +
             std::to_string(first) + " bytes, which is not a multiple of 16",
         site);
  if (offset % (map.layout.swizzle == TmaSwizzle::bytes_128 ? 1024 : 128))
    fail("TMA load to offset " + std::to_string(offset) + ", which is misaligned", site);
  if (size_t{offset} + bytes > current_block->dynamic_smem_bytes)
    fail("TMA load of " + std::to_string(bytes) + " bytes to offset " + std::to_string(offset) + " of " +
             std::to_string(current_block->dynamic_smem_bytes) + " bytes of dynamic shared memory",
         site);
  if (reinterpret_cast<const BarrierState*>(barrier)->unfenced)
    fail("TMA load for an mbarrier without mbarrier_fence_init() by the thread that set it up", site);
  std::memset(shared, 0xff, bytes);  // who reads before the barrier gets NaN
  unsigned char* smem = current_block->dynamic_smem;
  const tsan::Unwatched unwatched;  // the copy itself is watched: it runs on a fiber of its own
  run_later([=, layout = map.layout, at = std::to_array(position)] {
    const int where[5] = {at[0], at[1], at[2], at[3], at[4]};
    copy_box(smem, offset, layout, where);
    update_barrier(barrier, 0, -static_cast<int>(bytes), site);
  });
}

}  // namespace executor
}  // namespace convscope::emulated
