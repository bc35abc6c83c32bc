// How close the micro-kernel comes to the machine: GFLOP/s of gemm_packed and gemm_rows, of OpenBLAS on the
// same product, and of bare multiply-adds in registers. Not a test; run it by hand on a quiet machine.
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
    const int64_t panel = gemm_shape().rows_per_panel;
    a.assign((rows + panel) * depth, 0.5f);
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

void packed(benchmark::State& state) {
  Matrices m(state);
  for (auto _ : state)
    gemm_packed(m.a.data(), m.b, m.c.data(), m.columns, m.rows, m.columns, m.depth, GemmMode::overwrite);
  m.report(state);
}

void rows(benchmark::State& state) {
  Matrices m(state);
  for (auto _ : state)
    gemm_rows(m.a.data(), m.depth, m.b, m.c.data(), m.columns, m.rows, m.columns, m.depth,
              GemmMode::overwrite);
  m.report(state);
}

void columns(benchmark::State& state) {
  Matrices m(state);
  for (auto _ : state)
    gemm_columns(m.a.data(), m.rows, m.b, m.c.data(), m.columns, m.rows, m.columns, m.depth,
                 GemmMode::overwrite);
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

// The kernel on operands that never leave L1: the practical peak of its instruction sequence.
void peak(benchmark::State& state) {
  Matrices m(state);
  for (auto _ : state)
    gemm_block(m.a.data(), m.b, m.c.data(), m.columns, m.rows, m.columns, m.depth, GemmMode::overwrite);
  m.report(state);
}

void shapes(benchmark::internal::Benchmark* one) {
  one->ArgNames({"rows", "columns", "depth"})
      ->Args({56, 384, 256})
      ->Args({64, 256, 384})
      ->Args({256, 384, 256})
      ->Args({64, 96, 48})
      ->Args({256, 256, 96});
}
BENCHMARK(peak)->Args({14, 32, 128})->Args({14, 32, 256});
BENCHMARK(packed)->Apply(shapes);
BENCHMARK(rows)->Apply(shapes);
BENCHMARK(columns)->Apply(shapes);
BENCHMARK(openblas)->Apply(shapes);

}  // namespace
}  // namespace convscope

BENCHMARK_MAIN();
