// Plain C++ twins of bench/device/cuda/hopper_intrinsics.cuh, where each function is described: mbarriers and
// TMA loads. A TMA load lands while somebody waits. Reached through bench/device/kernel/hopper.hpp.
#pragma once

#include <cstdint>
#include <variant>

#include "bench/device/kernel/tensor_map_layout.hpp"
#include "bench/emulator/executor.hpp"

namespace convscope::emulated {

inline constexpr bool kHopperInstructions = true;

struct TensorMap {
  std::variant<TensorMapLayout, PixelMapLayout> layout;
};
// Throw DeviceError where the driver refuses the layout.
TensorMap make_tensor_map(const TensorMapLayout& layout);
TensorMap make_pixel_map(const PixelMapLayout& layout);

namespace executor {

// Offset in dynamic shared memory, the only shared memory that descriptors and TMA can name here.
inline uint32_t dynamic_offset(const void* pointer) {
  return static_cast<uint32_t>(static_cast<const unsigned char*>(pointer) - current_block->dynamic_smem);
}
// The 128-byte swizzle of an offset: the 16-byte chunk within 128 bytes, xor the number of the 128 bytes
// within 1024.
constexpr uint32_t swizzle_128(uint32_t offset) {
  return offset ^ (offset >> 7 & 7) << 4;
}
void init_barrier(uint64_t* barrier, int arrivals, const CallSite& site);
void fence_barriers();
void update_barrier(uint64_t* barrier, int arrivals, int bytes, const CallSite& site);
void wait_for_phase(uint64_t* barrier, int parity, const CallSite& site);
void load_box(void* shared, const TensorMap& map, uint64_t* barrier, const int (&position)[5],
              const CallSite& site);
// position: channel, x, y, image.
void load_pixels(void* shared, const TensorMap& map, uint64_t* barrier, const int (&position)[4],
                 const int (&offset)[2], const CallSite& site);

}  // namespace executor

inline bool elect_lane() {
  return executor::current_thread->linear % 32 == 0;
}
inline void mbarrier_init(uint64_t* barrier, int arrivals, CallSite site = CallSite::current()) {
  executor::init_barrier(barrier, arrivals, site);
}
inline void mbarrier_fence_init() {
  executor::fence_barriers();
}
inline void mbarrier_arrive(uint64_t* barrier, CallSite site = CallSite::current()) {
  executor::update_barrier(barrier, 1, 0, site);
}
inline void mbarrier_arrive_expect_tx(uint64_t* barrier, int bytes, CallSite site = CallSite::current()) {
  executor::update_barrier(barrier, 1, bytes, site);
}
inline void mbarrier_wait(uint64_t* barrier, int parity, CallSite site = CallSite::current()) {
  executor::wait_for_phase(barrier, parity, site);
}
inline void tma_load_2d(void* shared, const TensorMap* map, uint64_t* barrier, int x, int y,
                        CallSite site = CallSite::current()) {
  executor::load_box(shared, *map, barrier, {x, y, 0, 0, 0}, site);
}
inline void tma_load_4d(void* shared, const TensorMap* map, uint64_t* barrier, int x, int y, int z, int w,
                        CallSite site = CallSite::current()) {
  executor::load_box(shared, *map, barrier, {x, y, z, w, 0}, site);
}
inline void tma_load_5d(void* shared, const TensorMap* map, uint64_t* barrier, int x, int y, int z, int w,
                        int v, CallSite site = CallSite::current()) {
  executor::load_box(shared, *map, barrier, {x, y, z, w, v}, site);
}

inline void tma_load_pixels(void* shared, const TensorMap* map, uint64_t* barrier, int channel, int x, int y,
                            int image, uint16_t offset_x, uint16_t offset_y,
                            CallSite site = CallSite::current()) {
  executor::load_pixels(shared, *map, barrier, {channel, x, y, image}, {offset_x, offset_y}, site);
}

// Nothing to do here: one memory.
inline void fence_proxy_async() {}

}  // namespace convscope::emulated
