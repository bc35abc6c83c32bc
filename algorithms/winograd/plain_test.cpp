// The plain version against the definition, and the fast variants of the same tiles against the plain
// version.
#include "algorithms/winograd/plain.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "algorithms/winograd/odd_problems_test.hpp"
#include "algorithms/winograd/winograd.hpp"
#include "bench/device/cpu/cpu_device.hpp"
#include "bench/emulator/emulator_device.hpp"
#include "bench/verify/fast_reference.hpp"
#include "bench/verify/verification.hpp"

namespace convscope {
namespace {

template <int Size, int Taps>
std::vector<double> plain_result(const ConvProblem& problem, const float* x, const float* filter) {
  std::vector<double> y(static_cast<size_t>(problem.elements(Role::output)), NAN);
  winograd::plain::forward<Size, Taps>(problem, x, filter, [&](int64_t at, double value) { y[at] = value; });
  return y;
}

ConvProblem forward_problem(OddProblems& problems, int64_t taps) {
  ConvProblem problem = problems.next({taps, taps}, {1, 1});
  problem.pass = Pass::forward;
  return problem;
}

template <int Size, int Taps>
void expect_definition() {
  OddProblems problems(21);
  CpuDevice device;
  for (int i = 0; i < 3; ++i) {
    const ConvProblem problem = forward_problem(problems, Taps);
    SCOPED_TRACE(to_line(problem));
    Operands operands = make_operands(problem, device, DataKind::uniform, 5);
    const auto* const x = operands.input.as<float>();
    const auto* const filter = operands.filter.as<float>();
    const std::vector<double> y = plain_result<Size, Taps>(problem, x, filter);
    const TensorShape shape = problem.shape(Role::output);
    for (int64_t n = 0; n < shape.size[0]; ++n)
      for (int64_t k = 0; k < shape.size[1]; ++k)
        for (int64_t h = 0; h < shape.size[2]; ++h)
          for (int64_t w = 0; w < shape.size[3]; ++w)
            ASSERT_NEAR(y[shape.offset(n, k, h, w)],
                        reference_element(problem, x, filter, nullptr, {n, k, h, w}), 1e-10);
  }
}

TEST(PlainWinograd, IsTheDefinition) {
  expect_definition<2, 3>();
  expect_definition<4, 3>();
  expect_definition<6, 3>();
  expect_definition<1, 5>();
  expect_definition<4, 5>();
}

// The host cannot read the memory of every device.
std::vector<float> downloaded(const Buffer& buffer) {
  std::vector<float> values(buffer.bytes() / sizeof(float));
  buffer.download(values.data(), buffer.bytes());
  return values;
}

// The variant's result on the device, element by element against the plain one.
template <int Size, int Taps>
void expect_plain(const std::string& id, Device& device) {
  Registry registry;
  add_winograd(registry);
  const Algorithm& algorithm = *registry.find(id);
  OddProblems problems(22);
  const auto queue = device.make_queue();
  for (int i = 0; i < 3; ++i) {
    const ConvProblem problem = forward_problem(problems, Taps);
    SCOPED_TRACE(id + " on " + to_line(problem));
    Operands operands = make_operands(problem, device, DataKind::uniform, 5);
    const std::vector<double> expected = plain_result<Size, Taps>(problem, downloaded(operands.input).data(),
                                                                  downloaded(operands.filter).data());
    const auto plan = algorithm.plan(problem, device, {});
    Buffer workspace(device, static_cast<size_t>(plan->workspace_bytes()));
    const ConvArgs args = operands.args(workspace.data());
    plan->prepare(args, *queue);
    plan->run(args, *queue);
    queue->synchronize();
    const std::vector<float> y = downloaded(operands.output);
    double squares = 0, squared_errors = 0;
    for (size_t at = 0; at < expected.size(); ++at) {
      const double error = y[at] - expected[at];
      squares += expected[at] * expected[at];
      squared_errors += error * error;
    }
    EXPECT_LT(std::sqrt(squared_errors / squares), 2e-5);
  }
}

TEST(PlainWinograd, IsWhatEveryVariantOfItsTilesComputes) {
  CpuDevice cpu;
  expect_plain<2, 3>("winograd.f2x2_3x3.cpu", cpu);
  expect_plain<4, 3>("winograd.f4x4_3x3.cpu", cpu);
  expect_plain<6, 3>("winograd.f6x6_3x3.cpu", cpu);
  expect_plain<3, 5>("winograd.f3x3_5x5.cpu", cpu);
  EmulatorDevice emulator;
  expect_plain<4, 3>("winograd.f4x4_3x3.cuda", emulator);
  expect_plain<2, 3>("winograd.f2x2_3x3.fused.cuda", emulator);
  expect_plain<4, 3>("winograd.f4x4_3x3.fused.cuda", emulator);
  expect_plain<4, 5>("winograd.f4x4_5x5.cuda", emulator);
}

}  // namespace
}  // namespace convscope
