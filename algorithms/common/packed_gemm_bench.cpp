// How close the micro-kernel comes to the machine: GFLOP/s of gemm_rows and gemm_columns, of OpenBLAS on the
// same product, and of one register block that stays in L1. Not a test; run it by hand on a quiet machine.
#include <benchmark/benchmark.h>
#include <cblas.h>

#include <memory>
#include <vector>

#include "algorithms/common/packed_gemm.hpp"

namespace convscope {
namespace {

struct Matrices {
  explicit Matrices(const benchmark::State& state)
      : rows(state.range(0)), columns(state.range(1)), depth(state.range(2)) {
    a.assign(rows * depth, 0.5f);
    b_storage.assign((columns + 64) * depth + 16, 0.25f);
    void* start = b_storage.data();
    size_t room = b_storage.size() * sizeof(float);
    b = static_cast<float*>(std::align(64, 64, start, room));
    c.assign(rows * columns, 0.0f);
  }
  void report(benchmark::State& state) const {
    state.counters["flops"] = benchmark::Counter(2.0 * static_cast<double>(rows * columns * depth),
                                                 benchmark::Counter::kIsIterationInvariantRate);
  }
  int64_t rows, columns, depth;
  std::vector<float> a, b_storage, c;
  float* b;
};

void packed(benchmark::State& state, decltype(&gemm_rows) gemm, bool transposed) {
  Matrices m(state);
  const int64_t a_stride = transposed ? m.rows : m.depth;
  for (auto _ : state)
    gemm(m.a.data(), a_stride, {m.b}, m.c.data(), m.columns, m.rows, m.columns, m.depth, GemmMode::overwrite,
         {});
  m.report(state);
}

void openblas(benchmark::State& state) {
  Matrices m(state);
  const int r = static_cast<int>(m.rows), c = static_cast<int>(m.columns), d = static_cast<int>(m.depth);
  for (auto _ : state)
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, r, c, d, 1.0f, m.a.data(), d, m.b, c, 0.0f,
                m.c.data(), c);
  m.report(state);
}

void shapes(benchmark::internal::Benchmark* one) {
  one->ArgNames({"rows", "columns", "depth"})
      ->Args({56, 384, 256})
      ->Args({64, 256, 384})
      ->Args({256, 384, 256})
      ->Args({64, 128, 64})
      ->Args({64, 96, 48})
      ->Args({256, 256, 96});
}
BENCHMARK_CAPTURE(packed, rows, gemm_rows, false)->Apply(shapes);
BENCHMARK_CAPTURE(packed, columns, gemm_columns, true)->Apply(shapes);
// Operands that never leave L1: the practical peak of the kernel's instruction sequence.
BENCHMARK_CAPTURE(packed, block, gemm_columns, true)->Args({14, 32, 128})->Args({14, 32, 256});
BENCHMARK(openblas)->Apply(shapes);

}  // namespace
}  // namespace convscope

BENCHMARK_MAIN();
