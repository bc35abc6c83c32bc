// D from the partial sums of a product whose depth was split: one thread an element, the splits in order.
#include "algorithms/implicit_gemm/cuda/operand_ring.hpp"

namespace convscope::CONVSCOPE_KERNELS {
namespace {

constexpr int kThreads = 256;

// Consecutive threads read consecutive partial sums, which lie along the rows. `apply` gets a sum and its
// column, counted over all groups.
template <typename Output, typename Apply>
__device__ __forceinline__ void add_splits(const IndexMap& map, const float* __restrict__ partials,
                                           Output* __restrict__ d, int splits, const Apply& apply) {
  const int64_t matrix = int64_t{map.rows} * map.columns, split = matrix * map.groups;
  const int64_t element = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (element >= split) return;
  float total = 0;
  for (int i = 0; i < splits; ++i) total += partials[i * split + element];
  const int group = static_cast<int>(element / matrix);
  const int in_matrix = static_cast<int>(element - group * matrix);
  const int column = in_matrix / map.rows, row = in_matrix - column * map.rows;
  const int offset = map.d_base + sum(decode(row, map.row_size), map.d_row) + column * map.d_column;
  d[int64_t{group} * map.d_group + offset] = static_cast<Output>(apply(total, group * map.columns + column));
}

template <typename Output>
__global__ void __launch_bounds__(kThreads)
    add_partials(const __grid_constant__ IndexMap map, const float* __restrict__ partials,
                 Output* __restrict__ d, int splits) {
  add_splits(map, partials, d, splits, [](float total, int) { return total; });
}

// Where the columns are output channels.
__global__ void __launch_bounds__(kThreads)
    add_partials_and_finish(const __grid_constant__ IndexMap map, const float* __restrict__ partials,
                            float* __restrict__ d, int splits, Finish finish) {
  add_splits(map, partials, d, splits,
             [&](float total, int channel) { return finished(total, finish, channel); });
}

unsigned blocks_for(const IndexMap& map) {
  const int64_t elements = int64_t{map.rows} * map.columns * map.groups;
  return static_cast<unsigned>(ceil_div(elements, kThreads));
}

template <typename Output>
void launch_add_partials(const implicit_gemm::Product& product, const implicit_gemm::Tensors& tensors,
                         Queue& queue) {
  launch(add_partials<Output>, blocks_for(product.map), kThreads, 0, queue, product.map, tensors.partials,
         static_cast<Output*>(tensors.d), product.tiling.splits);
}

}  // namespace

void implicit_gemm_add_partials(const implicit_gemm::Product& product, const implicit_gemm::Tensors& tensors,
                                Queue& queue) {
  if (product.epilogue != Epilogue::none)
    return launch(add_partials_and_finish, blocks_for(product.map), kThreads, 0, queue, product.map,
                  static_cast<const float*>(tensors.partials), static_cast<float*>(tensors.d),
                  product.tiling.splits, finish_of(product.epilogue, tensors.bias));
  if (product.math == MathMode::fp16) return launch_add_partials<__half>(product, tensors, queue);
  if (product.math == MathMode::bf16) return launch_add_partials<__nv_bfloat16>(product, tensors, queue);
  launch_add_partials<float>(product, tensors, queue);
}

}  // namespace convscope::CONVSCOPE_KERNELS
