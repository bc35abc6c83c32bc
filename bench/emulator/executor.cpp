#include "bench/emulator/executor.hpp"

#include <utility>

#include "bench/device/cuda/emulated_launch.hpp"
#include "bench/emulator/block_runner.hpp"
#include "bench/emulator/emulator_queue.hpp"
#include "bench/emulator/warp_collectives.hpp"

namespace convscope::emulated::executor {

void block_barrier(int id, unsigned threads, const char* operation, const CallSite& site) {
  BlockRunner::current().block_barrier(id, threads, operation, site);
}

void join_warp(unsigned mask, void* argument, Combine combine, bool orders_memory, const char* operation,
               const CallSite& site) {
  BlockRunner::current().join_warp(mask, argument, combine, orders_memory, operation, site);
}

unsigned ballot(unsigned mask, bool value, const char* operation, const CallSite& site) {
  struct Vote {
    unsigned in, out;
  };
  Vote mine{value, 0};
  join_warp(
      mask, &mine,
      [](void* const* lanes, unsigned present, const CallSite&) {
        unsigned result = 0;
        for (unsigned lane = 0; lane < 32; ++lane)
          if (present >> lane & 1) result |= static_cast<Vote*>(lanes[lane])->in << lane;
        for (unsigned lane = 0; lane < 32; ++lane)
          if (present >> lane & 1) static_cast<Vote*>(lanes[lane])->out = result;
      },
      false, operation, site);
  return mine.out;
}

void spin(const char* operation, const CallSite& site) {
  BlockRunner::current().spin(operation, site);
}
void note_progress() {
  BlockRunner::current().note_progress();
}
void maybe_overtake() {
  BlockRunner::current().maybe_overtake();
}
void run_later(std::function<void()> work) {
  BlockRunner::current().run_later(std::move(work));
}

void issue_copy(const Copy& copy) {
  const tsan::Unwatched unwatched;
  BlockRunner::current().fiber().copies.issue(copy);
}
void commit_copies() {
  const tsan::Unwatched unwatched;
  BlockRunner::current().fiber().copies.commit();
}
const std::vector<Copy>& finish_copies(unsigned keep_groups) {
  const tsan::Unwatched unwatched;
  return BlockRunner::current().fiber().copies.finish(keep_groups);
}

void fence_products() {
  BlockRunner::current().fiber().products_fenced = true;
}
void issue_product(const WarpgroupProduct& product) {
  const tsan::Unwatched unwatched;
  join_warp(~0u, nullptr, nullptr, false, "wgmma", product.site);
  BlockRunner::Fiber& fiber = BlockRunner::current().fiber();
  if (!fiber.products_fenced)
    fail("wgmma without wgmma_fence() before the first one of its group", product.site);
  fiber.products.issue(product);
}
void commit_products() {
  const tsan::Unwatched unwatched;
  BlockRunner::Fiber& fiber = BlockRunner::current().fiber();
  fiber.products.commit();
  fiber.products_fenced = false;
}
const std::vector<WarpgroupProduct>& finish_products(unsigned keep_groups) {
  const tsan::Unwatched unwatched;
  return BlockRunner::current().fiber().products.finish(keep_groups);
}

void remember_unfenced(uint64_t* barrier) {
  const tsan::Unwatched unwatched;
  BlockRunner::current().fiber().unfenced_barriers.push_back(barrier);
}
std::vector<uint64_t*> take_unfenced() {
  const tsan::Unwatched unwatched;
  return std::exchange(BlockRunner::current().fiber().unfenced_barriers, {});
}

void run(const void* kernel, const LaunchGrid<dim3>& grid, dim3 block, size_t smem_bytes, Queue& queue,
         std::span<const void* const> pointers, const std::function<void()>& body) {
  if (auto* own = dynamic_cast<EmulatorQueue*>(&queue))
    return own->launch(grid, block, smem_bytes, pointers, body);
  const dim3 blocks = grid.blocks;
  cuda::launch_emulated({.kernel = kernel,
                         .site = grid.site,
                         .grid = {blocks.x, blocks.y, blocks.z},
                         .block = {block.x, block.y, block.z},
                         .smem_bytes = smem_bytes,
                         .pointers = {pointers.begin(), pointers.end()},
                         .run = [=] { return run_grid(blocks, block, smem_bytes, body); }},
                        queue);
}

}  // namespace convscope::emulated::executor
