#include "bench/emulator/emulator_queue.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <numeric>
#include <thread>
#include <vector>

#include "bench/device/device_error.hpp"

namespace convscope::emulated {
namespace {

std::string text(const dim3& size) {
  return "(" + std::to_string(size.x) + "," + std::to_string(size.y) + "," + std::to_string(size.z) + ")";
}

// Why a GPU would refuse the launch, or an empty string. The limits are those of every GPU since sm_75,
// shared memory that of sm_90.
std::string launch_defect(const dim3& grid, const dim3& block, size_t smem_bytes) {
  constexpr size_t max_threads = 1024, max_smem = size_t{227} << 10;
  const size_t threads = size_t{block.x} * block.y * block.z;
  if (threads == 0 || threads > max_threads || block.z > 64) return "block " + text(block);
  if (grid.x == 0 || grid.y == 0 || grid.z == 0 || grid.x > 0x7fffffffu || grid.y > 65535 || grid.z > 65535)
    return "grid " + text(grid);
  if (smem_bytes > max_smem)
    return std::to_string(smem_bytes) + " bytes of dynamic shared memory, more than " +
           std::to_string(max_smem);
  return "";
}

std::vector<size_t> forward_order(size_t blocks) {
  std::vector<size_t> order(blocks);
  std::iota(order.begin(), order.end(), size_t{0});
  return order;
}

void run_blocks(executor::Launch& launch, const std::vector<size_t>& blocks) {
  executor::BlockRunner& runner = executor::BlockRunner::of_this_thread();
  executor::tsan::release(&launch.started);
  for (const size_t block : blocks) {
    if (!launch.error.empty()) break;
    if constexpr (executor::tsan::kActive)  // a thread of its own, and so static shared memory of its own
      std::thread([&] {
        const executor::tsan::Unwatched unwatched;
        runner.run(launch, block);
      }).join();
    else
      runner.run(launch, block);
  }
  executor::tsan::acquire(&launch.finished);
  runner.end_launch();
}

}  // namespace

std::string run_grid(dim3 grid, dim3 block, size_t smem_bytes, const std::function<void()>& body) {
  executor::Launch run{.grid = grid, .block = block, .smem_bytes = smem_bytes, .body = body};
  run_blocks(run, forward_order(run.blocks()));
  return run.error;
}

EmulatorQueue& EmulatorQueue::of(Queue& queue, const char* who) {
  auto* own = dynamic_cast<EmulatorQueue*>(&queue);
  if (own == nullptr) throw DeviceError(std::string(who) + ": the queue is not the emulator's");
  return *own;
}

void EmulatorQueue::launch(const LaunchGrid<dim3>& grid, dim3 block, size_t smem_bytes,
                           std::span<const void* const> pointers, const std::function<void()>& body) {
  const std::string where = "launch at " + grid.site.text();
  if (const std::string defect = launch_defect(grid.blocks, block, smem_bytes); !defect.empty())
    throw DeviceError(where + ": invalid configuration: " + defect);
  for (const void* pointer : pointers)
    if (pointer != nullptr && !memory_.contains(pointer, 0))
      throw DeviceError(where + ": a pointer argument is not device memory");
  executor::Launch run{
      .grid = grid.blocks, .block = block, .smem_bytes = smem_bytes, .options = options_, .body = body};
  {
    const DeviceMemory::Access access(memory_);
    run_blocks(run, watch_ != nullptr ? watch_->blocks(grid.site, grid.blocks) : block_order(run.blocks()));
  }
  if (!run.error.empty()) throw DeviceError(where + ": " + run.error);
}

void EmulatorQueue::copy_rows(void* to, size_t to_step, const void* from, size_t from_step, size_t bytes,
                              size_t rows) {
  if (rows == 0 || bytes == 0) return;
  if (!memory_.contains(to, (rows - 1) * to_step + bytes) ||
      !memory_.contains(from, (rows - 1) * from_step + bytes))
    throw DeviceError("emulator: copy within device memory reaches outside an allocation");
  const DeviceMemory::Access access(memory_);
  for (size_t row = 0; row < rows; ++row)
    std::memcpy(static_cast<std::byte*>(to) + row * to_step,
                static_cast<const std::byte*>(from) + row * from_step, bytes);
}

std::vector<size_t> EmulatorQueue::block_order(size_t blocks) const {
  std::vector<size_t> order = forward_order(blocks);
  if (options_.order == EmulatorOrder::reverse) std::reverse(order.begin(), order.end());
  if (options_.order == EmulatorOrder::random)
    std::shuffle(order.begin(), order.end(), std::minstd_rand(options_.seed));
  return order;
}

}  // namespace convscope::emulated
