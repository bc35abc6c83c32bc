// Each thread goes over elements a grid apart; a block adds up its threads' findings in a fixed tree, so that
// sums in f64 come out the same in every run. The formulas are those of Expectation::compare.
#include <cfloat>

#include "bench/device/kernel/kernel.hpp"
#include "bench/verify/device_comparison.hpp"

namespace convscope::CONVSCOPE_KERNELS {
namespace {

constexpr int kThreads = 256;

__device__ inline Findings nothing_found() {
  return {0, 0, 0, 0, Findings::kNone, Findings::kNone};
}

__device__ inline void add(Findings& to, const Findings& from) {
  to.compared += from.compared;
  to.squares += from.squares;
  to.max_abs = fmax(to.max_abs, from.max_abs);
  to.worst_excess = fmax(to.worst_excess, from.worst_excess);
  if (from.first_not_finite < to.first_not_finite) to.first_not_finite = from.first_not_finite;
  if (from.first_difference < to.first_difference) to.first_difference = from.first_difference;
}

__device__ inline void collect(const Findings& own, Findings* partial) {
  __shared__ Findings all[kThreads];
  const unsigned self = threadIdx.x;
  all[self] = own;
  for (unsigned half = kThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (self < half) add(all[self], all[self + half]);
  }
  if (self == 0) partial[blockIdx.x] = all[0];
}

template <typename Element>
__global__ void __launch_bounds__(kThreads) compare_kernel(ComparisonArgs args) {
  const auto* written = static_cast<const Element*>(args.written);
  const auto* earlier = static_cast<const Element*>(args.earlier);
  auto* copy = static_cast<Element*>(args.copy);
  const ErrorBounds& bounds = args.bounds;
  Findings found = nothing_found();
  const int64_t threads = static_cast<int64_t>(gridDim.x) * kThreads;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < args.count; i += threads) {
    const Element element = written[i];
    if (copy != nullptr) copy[i] = element;
    const auto value = static_cast<float>(element);
    ++found.compared;
    if (!(fabsf(value) <= FLT_MAX)) {
      if (i < found.first_not_finite) found.first_not_finite = i;
      continue;
    }
    const double error = fabs(static_cast<double>(value) - static_cast<double>(args.expected[i]));
    double bound = 0;
    if (!bounds.exact) {
      const double magnitude = bounds.has_one_magnitude ? bounds.one_magnitude : args.magnitudes[i];
      bound = fmin(bounds.relative * magnitude, bounds.max);
    }
    found.squares += error * error;
    found.max_abs = fmax(found.max_abs, error);
    found.worst_excess = fmax(found.worst_excess, error - bound);
    if (earlier == nullptr) continue;
    const double change =
        fabs(static_cast<double>(value) - static_cast<double>(static_cast<float>(earlier[i])));
    if (!(change <= bounds.repeat_tolerance) && i < found.first_difference) found.first_difference = i;
  }
  collect(found, args.partial);
}

template <typename Word>
__global__ void __launch_bounds__(kThreads)
    compare_bits_kernel(const Word* now, const Word* before, int64_t count, Findings* partial) {
  Findings found = nothing_found();
  const int64_t threads = static_cast<int64_t>(gridDim.x) * kThreads;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < count; i += threads) {
    ++found.compared;
    if (now[i] != before[i] && i < found.first_difference) found.first_difference = i;
  }
  collect(found, partial);
}

template <typename Word>
__global__ void __launch_bounds__(kThreads) copy_kernel(Word* to, const Word* from, int64_t count) {
  const int64_t threads = static_cast<int64_t>(gridDim.x) * kThreads;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < count; i += threads)
    to[i] = from[i];
}

}  // namespace

void enqueue_comparison(const ComparisonArgs& args, DataType storage, unsigned blocks, Queue& queue) {
  const auto kernel = storage == DataType::f32    ? compare_kernel<float>
                      : storage == DataType::bf16 ? compare_kernel<__nv_bfloat16>
                                                  : compare_kernel<__half>;
  launch(kernel, blocks, kThreads, 0, queue, args);
}

void enqueue_bit_comparison(const void* now, const void* before, DataType storage, int64_t count,
                            Findings* partial, unsigned blocks, Queue& queue) {
  if (storage == DataType::f32)
    launch(compare_bits_kernel<uint32_t>, blocks, kThreads, 0, queue, static_cast<const uint32_t*>(now),
           static_cast<const uint32_t*>(before), count, partial);
  else
    launch(compare_bits_kernel<uint16_t>, blocks, kThreads, 0, queue, static_cast<const uint16_t*>(now),
           static_cast<const uint16_t*>(before), count, partial);
}

void enqueue_copy(void* to, const void* from, DataType storage, int64_t count, unsigned blocks,
                  Queue& queue) {
  if (storage == DataType::f32)
    launch(copy_kernel<uint32_t>, blocks, kThreads, 0, queue, static_cast<uint32_t*>(to),
           static_cast<const uint32_t*>(from), count);
  else
    launch(copy_kernel<uint16_t>, blocks, kThreads, 0, queue, static_cast<uint16_t*>(to),
           static_cast<const uint16_t*>(from), count);
}

}  // namespace convscope::CONVSCOPE_KERNELS
