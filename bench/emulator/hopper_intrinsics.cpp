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

uint32_t bytes_of_element(TmaElement element) {
  return element == TmaElement::f32 || element == TmaElement::tf32 ? 4 : 2;
}

Box box_of(const TensorMapLayout& layout) {
  Box box{{1, 1, 1, 1, 1}, bytes_of_element(layout.element)};
  for (int d = 0; d < layout.rank; ++d) box.count[d] = (layout.box[d] + layout.step[d] - 1) / layout.step[d];
  return box;
}

// The largest x (d = 0) or y (d = 1) of the box of pixels.
int64_t last_of_box(const PixelMapLayout& layout, int d) {
  return static_cast<int64_t>(layout.size[d + 1]) - 1 + layout.upper[d];
}

uint32_t line_bytes(const PixelMapLayout& layout) {
  return layout.channels * bytes_of_element(layout.element);
}

// Bytes from line to line.
uint32_t pitch_of(const PixelMapLayout& layout) {
  return layout.swizzle == TmaSwizzle::bytes_128 ? 128 : line_bytes(layout);
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

std::string pixel_layout_defect(const PixelMapLayout& layout) {
  if (reinterpret_cast<uintptr_t>(layout.base) % 16) return "the base address is not a multiple of 16";
  for (int d = 0; d < 4; ++d)
    if (layout.size[d] == 0) return "size of dimension " + std::to_string(d) + " is 0";
  for (const uint64_t stride : layout.stride_bytes)
    if (stride % 16) return "stride of " + std::to_string(stride) + " bytes is not a multiple of 16";
  if (layout.channels == 0 || layout.channels > 256) return "channels are not 1 to 256";
  if (layout.pixels == 0 || layout.pixels > 1024) return "pixels are not 1 to 1024";
  for (int d = 0; d < 2; ++d) {
    const std::string dimension = d ? " of y" : " of x";
    for (const int corner : {layout.lower[d], layout.upper[d]})
      if (corner < -128 || corner > 127)
        return "corner " + std::to_string(corner) + dimension + " is not -128 to 127";
    if (last_of_box(layout, d) < layout.lower[d]) return "the box is empty in the direction" + dimension;
    if (layout.step[d] == 0 || layout.step[d] > 8) return "step" + dimension + " is not 1 to 8";
  }
  const uint32_t line = line_bytes(layout);
  if (line % 16 == 0 && line <= pitch_of(layout)) return "";
  return "the channels of a pixel have " + std::to_string(line) + " bytes";
}

uint32_t nearest_tf32(uint32_t bits) {
  if ((bits & 0x7f800000u) == 0x7f800000u) return bits;
  return (bits + 0xfffu + (bits >> 13 & 1)) & 0xffffe000u;
}

// A null `from` is an element outside the tensor.
void copy_element(unsigned char* to, const unsigned char* from, TmaElement element, uint32_t bytes) {
  if (from == nullptr) {
    std::memset(to, 0, bytes);
    return;
  }
  if (element != TmaElement::tf32) {
    std::memcpy(to, from, bytes);
    return;
  }
  uint32_t bits;
  std::memcpy(&bits, from, sizeof(bits));
  bits = nearest_tf32(bits);
  std::memcpy(to, &bits, sizeof(bits));
}

uint32_t place_of(uint32_t offset, TmaSwizzle swizzle) {
  return swizzle == TmaSwizzle::bytes_128 ? executor::swizzle_128(offset) : offset;
}

void copy_box(unsigned char* to, uint32_t to_offset, const TensorMapLayout& layout,
              const std::array<int, 5>& position) {
  const Box box = box_of(layout);
  uint32_t at = to_offset;
  const uint32_t end = to_offset + box.bytes();
  for (uint32_t step[5] = {}; at < end; at += box.element_bytes) {
    const auto* from = static_cast<const unsigned char*>(layout.base);
    bool inside = true;
    for (int d = 0; d < layout.rank; ++d) {
      const int64_t index = position[static_cast<size_t>(d)] + int64_t{step[d]} * layout.step[d];
      inside = inside && index >= 0 && static_cast<uint64_t>(index) < layout.size[d];
      if (inside) from += static_cast<uint64_t>(index) * (d ? layout.stride_bytes[d - 1] : box.element_bytes);
    }
    copy_element(to + place_of(at, layout.swizzle), inside ? from : nullptr, layout.element,
                 box.element_bytes);
    for (int d = 0; d < 5 && ++step[d] == box.count[d]; ++d) step[d] = 0;
  }
}

// The first of `channels` channels at a pixel, or null outside the images.
const unsigned char* pixel_at(const PixelMapLayout& layout, int64_t x, int64_t y, int64_t image) {
  const int64_t index[3] = {x, y, image};
  const auto* from = static_cast<const unsigned char*>(layout.base);
  for (int d = 0; d < 3; ++d) {
    if (index[d] < 0 || static_cast<uint64_t>(index[d]) >= layout.size[d + 1]) return nullptr;
    from += static_cast<uint64_t>(index[d]) * layout.stride_bytes[d];
  }
  return from;
}

void copy_pixels(unsigned char* to, uint32_t to_offset, const PixelMapLayout& layout,
                 const std::array<int, 4>& position, const std::array<int, 2>& offset) {
  const uint32_t bytes = bytes_of_element(layout.element);
  int64_t x = position[1], y = position[2], image = position[3];
  for (uint32_t pixel = 0; pixel < layout.pixels; ++pixel) {
    const unsigned char* from = pixel_at(layout, x + offset[0], y + offset[1], image);
    for (uint32_t i = 0; i < layout.channels; ++i) {
      const int64_t channel = int64_t{position[0]} + i;
      const uint32_t at = to_offset + pixel * pitch_of(layout) + i * bytes;
      const bool inside = from && channel >= 0 && static_cast<uint64_t>(channel) < layout.size[0];
      copy_element(to + place_of(at, layout.swizzle), inside ? from + channel * bytes : nullptr,
                   layout.element, bytes);
    }
    if ((x += layout.step[0]) <= last_of_box(layout, 0)) continue;
    x = layout.lower[0];
    if ((y += layout.step[1]) <= last_of_box(layout, 1)) continue;
    y = layout.lower[1];
    ++image;
  }
}

}  // namespace

TensorMap make_tensor_map(const TensorMapLayout& layout) {
  if (const std::string defect = layout_defect(layout); !defect.empty())
    throw DeviceError("make_tensor_map: " + defect);
  return TensorMap{layout};
}

TensorMap make_pixel_map(const PixelMapLayout& layout) {
  if (const std::string defect = pixel_layout_defect(layout); !defect.empty())
    throw DeviceError("make_pixel_map: " + defect);
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

// Refuses what the hardware does. `first` is the coordinate of dimension 0.
static void check_load(void* shared, uint32_t bytes, TmaElement element, TmaSwizzle swizzle, int first,
                       const uint64_t* barrier, const CallSite& site) {
  const uint32_t offset = dynamic_offset(shared);
  if (const int64_t begin = int64_t{first} * bytes_of_element(element); begin % 16 != 0)
    fail("TMA load from coordinate " + std::to_string(first) + " of dimension 0, " + std::to_string(begin) +
             " bytes, which is not a multiple of 16",
         site);
  if (offset % (swizzle == TmaSwizzle::bytes_128 ? 1024 : 128))
    fail("TMA load to offset " + std::to_string(offset) + ", which is misaligned", site);
  if (size_t{offset} + bytes > current_block->dynamic_smem_bytes)
    fail("TMA load of " + std::to_string(bytes) + " bytes to offset " + std::to_string(offset) + " of " +
             std::to_string(current_block->dynamic_smem_bytes) + " bytes of dynamic shared memory",
         site);
  if (reinterpret_cast<const BarrierState*>(barrier)->unfenced)
    fail("TMA load for an mbarrier without mbarrier_fence_init() by the thread that set it up", site);
}

void load_box(void* shared, const TensorMap& map, uint64_t* barrier, const int (&position)[5],
              const CallSite& site) {
  const auto* layout = std::get_if<TensorMapLayout>(&map.layout);
  if (!layout) fail("TMA load of a box with a map of make_pixel_map()", site);
  const uint32_t offset = dynamic_offset(shared), bytes = box_of(*layout).bytes();
  check_load(shared, bytes, layout->element, layout->swizzle, position[0], barrier, site);
  std::memset(shared, 0xff, bytes);  // who reads before the barrier gets NaN
  unsigned char* smem = current_block->dynamic_smem;
  const tsan::Unwatched unwatched;  // the copy itself is watched: it runs on a fiber of its own
  run_later([=, layout = *layout, at = std::to_array(position)] {
    copy_box(smem, offset, layout, at);
    update_barrier(barrier, 0, -static_cast<int>(bytes), site);
  });
}

void load_pixels(void* shared, const TensorMap& map, uint64_t* barrier, const int (&position)[4],
                 const int (&offset)[2], const CallSite& site) {
  const auto* layout = std::get_if<PixelMapLayout>(&map.layout);
  if (!layout) fail("TMA load of pixels with a map of make_tensor_map()", site);
  for (int d = 0; d < 2; ++d) {
    if (position[d + 1] < layout->lower[d] || position[d + 1] > last_of_box(*layout, d))
      fail("TMA load of pixels from (" + std::to_string(position[1]) + ", " + std::to_string(position[2]) +
               "), which is not in the box",
           site);
    if (offset[d] < 0 || offset[d] > 255)
      fail("TMA load of pixels with the offset " + std::to_string(offset[d]) + ", not 0 to 255", site);
  }
  const uint32_t to = dynamic_offset(shared), line = line_bytes(*layout), pitch = pitch_of(*layout);
  check_load(shared, layout->pixels * pitch, layout->element, layout->swizzle, position[0], barrier, site);
  unsigned char* smem = current_block->dynamic_smem;
  for (uint32_t pixel = 0; pixel < layout->pixels; ++pixel)
    for (uint32_t chunk = 0; chunk < line; chunk += 16)
      std::memset(smem + place_of(to + pixel * pitch + chunk, layout->swizzle), 0xff, 16);
  const tsan::Unwatched unwatched;
  run_later([=, layout = *layout, at = std::to_array(position), by = std::to_array(offset)] {
    copy_pixels(smem, to, layout, at, by);
    update_barrier(barrier, 0, -static_cast<int>(layout.pixels * line), site);
  });
}

}  // namespace executor
}  // namespace convscope::emulated
