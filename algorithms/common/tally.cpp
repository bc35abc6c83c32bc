#include "algorithms/common/tally.hpp"

#if defined(CONVSCOPE_TALLY)

#include <atomic>

namespace convscope {
namespace {

// Integers: their sum does not depend on the order in which threads add.
std::atomic<int64_t> products, transforms, staged;

}  // namespace

void tally_product(int64_t flops) {
  products.fetch_add(flops, std::memory_order_relaxed);
}
void tally_transform(int64_t flops) {
  transforms.fetch_add(flops, std::memory_order_relaxed);
}
void tally_staged(int64_t bytes) {
  staged.fetch_add(bytes, std::memory_order_relaxed);
}
void reset_tally() {
  products = 0;
  transforms = 0;
  staged = 0;
}
Tally tally() {
  return {static_cast<double>(products.load()), static_cast<double>(transforms.load()),
          static_cast<double>(staged.load())};
}

}  // namespace convscope

#endif
