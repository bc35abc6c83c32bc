// Kernels for hopper_test.cpp and pixel_load_test.cpp. The product is the smallest that has all parts of a
// warp-specialised Hopper GEMM.
#include <type_traits>

#include "bench/device/device_error.hpp"
#include "bench/device/kernel/hopper.hpp"
#include "bench/emulator/test_kernels/hopper.hpp"

namespace convscope::CONVSCOPE_KERNELS {
namespace {

// One TMA load of `expected` bytes, load(smem, barrier), and `bytes` of shared memory after it.
template <typename Load>
__device__ void dump(uint32_t* to, int bytes, int expected, Load load) {
  unsigned char* smem = dynamic_smem<unsigned char>();
  auto* barrier = reinterpret_cast<uint64_t*>(smem + (bytes + 15) / 16 * 16);
  if (threadIdx.x == 0) {
    mbarrier_init(barrier, 1);
    mbarrier_fence_init();
  }
  for (int i = static_cast<int>(threadIdx.x); i < bytes / 4; i += 32)
    reinterpret_cast<uint32_t*>(smem)[i] = kUntouched * 0x10001u;
  fence_proxy_async();
  __syncthreads();
  if (threadIdx.x == 0) {
    mbarrier_arrive_expect_tx(barrier, expected);
    load(smem, barrier);
  }
  mbarrier_wait(barrier, 0);
  for (int i = static_cast<int>(threadIdx.x); i < bytes / 4; i += 32)
    to[i] = reinterpret_cast<const uint32_t*>(smem)[i];
}

__global__ void dump_box(const __grid_constant__ TensorMap map, int4 position, int fifth, int rank,
                         uint32_t* to, int bytes) {
  if constexpr (kHopperInstructions) {
    dump(to, bytes, bytes, [&](unsigned char* smem, uint64_t* barrier) {
      if (rank == 2)
        tma_load_2d(smem, &map, barrier, position.x, position.y);
      else if (rank == 4)
        tma_load_4d(smem, &map, barrier, position.x, position.y, position.z, position.w);
      else
        tma_load_5d(smem, &map, barrier, position.x, position.y, position.z, position.w, fifth);
    });
  }
}

__global__ void dump_pixels(const __grid_constant__ TensorMap map, int4 position, int2 offset, uint32_t* to,
                            int bytes, int expected) {
  if constexpr (kHopperInstructions) {
    dump(to, bytes, expected, [&](unsigned char* smem, uint64_t* barrier) {
      tma_load_pixels(smem, &map, barrier, position.x, position.y, position.z, position.w,
                      static_cast<uint16_t>(offset.x), static_cast<uint16_t>(offset.y));
    });
  }
}

size_t smem_of_dump(size_t bytes) {
  return (bytes + 15) / 16 * 16 + sizeof(uint64_t);
}

void load_box(const TensorMapLayout& layout, const int (&position)[5], void* to, size_t bytes, Queue& queue) {
  launch(dump_box, 1, 32, smem_of_dump(bytes), queue, make_tensor_map(layout),
         make_int4(position[0], position[1], position[2], position[3]), position[4], layout.rank,
         static_cast<uint32_t*>(to), static_cast<int>(bytes));
}

void load_pixels(const PixelMapLayout& layout, const int (&position)[4], const int (&offset)[2], void* to,
                 size_t bytes, Queue& queue) {
  const bool wide = layout.element == TmaElement::f32 || layout.element == TmaElement::tf32;
  launch(dump_pixels, 1, 32, smem_of_dump(bytes), queue, make_pixel_map(layout),
         make_int4(position[0], position[1], position[2], position[3]), make_int2(offset[0], offset[1]),
         static_cast<uint32_t*>(to), static_cast<int>(bytes),
         static_cast<int>(layout.pixels * layout.channels * (wide ? 4 : 2)));
}

void load_with_the_other_map(const TensorMapLayout& box, const PixelMapLayout& run, bool pixels, void* to,
                             size_t bytes, Queue& queue) {
  auto* words = static_cast<uint32_t*>(to);
  const int count = static_cast<int>(bytes);
  if (pixels)
    launch(dump_pixels, 1, 32, smem_of_dump(bytes), queue, make_tensor_map(box), make_int4(0, 0, 0, 0),
           make_int2(0, 0), words, count, count);
  else
    launch(dump_box, 1, 32, smem_of_dump(bytes), queue, make_pixel_map(run), make_int4(0, 0, 0, 0), 0, 4,
           words, count);
}

template <typename ElementType, int ColumnCount, Major MajorIndex = Major::k>
struct Tile {
  using Element = ElementType;
  static constexpr Major kMajor = MajorIndex;
  static constexpr int kRows = 64, kColumns = ColumnCount, kStages = 3;
  static constexpr int kElementBytes = std::is_same_v<Element, Tf32> ? 4 : 2;
  static constexpr int kDepth = 128 / kElementBytes;  // one swizzled row, or as many lines of 64 rows
  static constexpr int kABytes = kRows * 128, kBBytes = kColumns * 128, kStageBytes = kABytes + kBBytes;
  static constexpr size_t kSmemBytes = size_t{kStages} * kStageBytes + 2 * kStages * sizeof(uint64_t);
};

// Producer: waits until a stage is empty, then asks for its two boxes.
template <typename T, HopperFault Fault>
__device__ void load_tiles(unsigned char* smem, const TensorMap* map_a, const TensorMap* map_b,
                           uint64_t* full, uint64_t* empty, int steps, int m0, int n0) {
  for (int step = 0; step < steps; ++step) {
    const int stage = step % T::kStages;
    if (step >= T::kStages) mbarrier_wait(&empty[stage], (step / T::kStages - 1) & 1);
    mbarrier_arrive_expect_tx(&full[stage],
                              Fault == HopperFault::too_few_bytes_expected ? 128 : T::kStageBytes);
    if (Fault == HopperFault::one_arrival_too_many)
      mbarrier_arrive(&full[stage]), mbarrier_arrive(&full[stage]);
    unsigned char* to = smem + stage * T::kStageBytes;
    if constexpr (T::kMajor == Major::k) {
      tma_load_2d(to, map_a, &full[stage], step * T::kDepth, m0);
      tma_load_2d(to + T::kABytes - (Fault == HopperFault::misaligned_box ? 128 : 0), map_b, &full[stage],
                  step * T::kDepth, n0);
    } else {
      for (int row = 0; row < T::kRows; row += 64)
        tma_load_2d(to + row * 128, map_a, &full[stage], m0 + row, step * T::kDepth);
      for (int column = 0; column < T::kColumns; column += 64)
        tma_load_2d(to + T::kABytes + column * 128, map_b, &full[stage], n0 + column, step * T::kDepth);
    }
  }
}

template <Major M>
__device__ uint64_t descriptor(const unsigned char* operand) {
  if constexpr (M == Major::k)
    return wgmma_descriptor(operand);
  else
    return wgmma_descriptor_mn(operand, 64 * 128);
}

template <typename T, HopperFault Fault>
__device__ void multiply_tiles(float (&sums)[T::kColumns / 2], const unsigned char* smem, uint64_t* full,
                               uint64_t* empty, int steps) {
  constexpr int next = T::kMajor == Major::k ? 2 : 128;  // from one k step's descriptor to the next's
  for (int step = 0; step < steps; ++step) {
    const int stage = step % T::kStages;
    mbarrier_wait(&full[stage], step / T::kStages & 1);
    const uint64_t no_swizzle = Fault == HopperFault::no_swizzle ? uint64_t(1) << 62 : 0;
    const uint64_t a = descriptor<T::kMajor>(smem + stage * T::kStageBytes) ^ no_swizzle;
    const uint64_t b = descriptor<T::kMajor>(smem + stage * T::kStageBytes + T::kABytes);
    if (Fault != HopperFault::no_product_fence) wgmma_fence();
    UNROLL
    for (int i = 0; i < 4; ++i)  // 8 tf32 or 16 other depths each
      wgmma<typename T::Element, T::kColumns, T::kMajor>(sums, a + i * next, b + i * next, step + i != 0);
    if (Fault != HopperFault::no_product_commit) wgmma_commit_group();
    if (Fault != HopperFault::no_product_wait) wgmma_wait_group<0>();
    mbarrier_arrive(&empty[stage]);
  }
}

template <typename T, HopperFault Fault>
__global__ void __launch_bounds__(160, 1)
    multiply_block(const __grid_constant__ TensorMap map_a, const __grid_constant__ TensorMap map_b, float* c,
                   int m, int n, int k) {
  if constexpr (kHopperInstructions) {
    unsigned char* smem = dynamic_smem<unsigned char>();
    auto* full = reinterpret_cast<uint64_t*>(smem + T::kStages * T::kStageBytes);
    uint64_t* empty = full + T::kStages;
    const int m0 = static_cast<int>(blockIdx.y) * T::kRows, n0 = static_cast<int>(blockIdx.x) * T::kColumns;
    const int steps = (k + T::kDepth - 1) / T::kDepth, thread = static_cast<int>(threadIdx.x);
    if (thread == 0 && Fault != HopperFault::no_barrier_init) {
      for (int stage = 0; stage < T::kStages; ++stage) {
        mbarrier_init(&full[stage], 1);
        mbarrier_init(&empty[stage], 128);
      }
      if (Fault != HopperFault::no_barrier_fence) mbarrier_fence_init();
    }
    __syncthreads();
    if (thread >= 128) {
      if (elect_lane()) load_tiles<T, Fault>(smem, &map_a, &map_b, full, empty, steps, m0, n0);
      return;
    }
    float sums[T::kColumns / 2];
    multiply_tiles<T, Fault>(sums, smem, full, empty, steps);
    UNROLL
    for (int i = 0; i < T::kColumns / 2; ++i) {
      const int row = m0 + thread / 32 * 16 + thread % 32 / 4 + i / 2 % 2 * 8;
      const int column = n0 + i / 4 * 8 + thread % 4 * 2 + i % 2;
      if (row < m && column < n) c[row * n + column] = sums[i];
    }
  }
}

// A dense matrix, `lines` times `width`, and boxes of `box_lines` times 128 bytes.
template <typename T>
TensorMap operand_map(const void* data, int lines, int width, int box_lines) {
  TensorMapLayout layout;
  layout.element = std::is_same_v<typename T::Element, Tf32>     ? TmaElement::tf32
                   : std::is_same_v<typename T::Element, __half> ? TmaElement::f16
                                                                 : TmaElement::bf16;
  layout.base = data;
  layout.size[0] = static_cast<uint64_t>(width);
  layout.size[1] = static_cast<uint64_t>(lines);
  layout.stride_bytes[0] = static_cast<uint64_t>(width) * T::kElementBytes;
  layout.box[0] = 128 / T::kElementBytes;
  layout.box[1] = static_cast<uint32_t>(box_lines);
  return make_tensor_map(layout);
}

template <typename T, HopperFault Fault>
void multiply_all(const void* a, const void* b, float* c, int m, int n, int k, Queue& queue) {
  const dim3 grid((n + T::kColumns - 1) / T::kColumns, (m + T::kRows - 1) / T::kRows);
  const bool transposed = T::kMajor == Major::mn;
  const TensorMap map_a = transposed ? operand_map<T>(a, k, m, T::kDepth) : operand_map<T>(a, m, k, T::kRows);
  const TensorMap map_b =
      transposed ? operand_map<T>(b, k, n, T::kDepth) : operand_map<T>(b, n, k, T::kColumns);
  launch(multiply_block<T, Fault>, grid, 160, T::kSmemBytes, queue, map_a, map_b, c, m, n, k);
}

// Only for the emulator: on a GPU most of them hang.
template <HopperFault... Faults>
void multiply_with_fault([[maybe_unused]] HopperFault fault, [[maybe_unused]] auto&... arguments) {
#if defined(__CUDACC__)
  throw DeviceError("faulty kernels are for the emulator only");
#else
  using T = Tile<__nv_bfloat16, 64>;
  ((Faults == fault ? multiply_all<T, Faults>(arguments...) : void()), ...);
#endif
}

void multiply(TensorElement element, int columns, HopperFault fault, const void* a, const void* b, float* c,
              int m, int n, int k, Queue& queue) {
  using enum HopperFault;
  if (fault != none)
    return multiply_with_fault<no_barrier_fence, no_barrier_init, one_arrival_too_many,
                               too_few_bytes_expected, no_product_fence, no_product_wait, no_product_commit,
                               no_swizzle, misaligned_box>(fault, a, b, c, m, n, k, queue);
  const auto run = [&]<typename Element>(Element) {
    if (columns == 64) multiply_all<Tile<Element, 64>, none>(a, b, c, m, n, k, queue);
    if (columns == 96) multiply_all<Tile<Element, 96>, none>(a, b, c, m, n, k, queue);
    if (columns == 128) multiply_all<Tile<Element, 128>, none>(a, b, c, m, n, k, queue);
    if (columns == 192) multiply_all<Tile<Element, 192>, none>(a, b, c, m, n, k, queue);
  };
  switch (element) {
    case TensorElement::tf32:
      return run(Tf32{});
    case TensorElement::f16:
      return run(__half{});
    case TensorElement::bf16:
      return run(__nv_bfloat16{});
  }
}

void multiply_transposed(TensorElement element, int columns, const void* a, const void* b, float* c, int m,
                         int n, int k, Queue& queue) {
  const auto run = [&]<typename Element>(Element) {
    if (columns == 64)
      multiply_all<Tile<Element, 64, Major::mn>, HopperFault::none>(a, b, c, m, n, k, queue);
    else
      multiply_all<Tile<Element, 128, Major::mn>, HopperFault::none>(a, b, c, m, n, k, queue);
  };
  if (element == TensorElement::tf32) throw DeviceError("wgmma has no MN-major operands of tf32");
  if (element == TensorElement::f16) return run(__half{});
  run(__nv_bfloat16{});
}

}  // namespace

HopperKernels hopper_kernels() {
  return {load_box, load_pixels, load_with_the_other_map, multiply, multiply_transposed};
}

}  // namespace convscope::CONVSCOPE_KERNELS
