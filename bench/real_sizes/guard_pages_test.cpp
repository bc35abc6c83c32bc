// Some blocks of every launch of shipped layers at their real sizes, with all memory between inaccessible
// pages and the tensors that are read write-protected: indices that overflow or reach too far fault. Values
// are not compared. Each case is a process of its own.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <map>
#include <random>
#include <set>

#include "algorithms/catalog.hpp"
#include "bench/core/sanitized_test.hpp"
#include "bench/real_sizes/guarded_memory.hpp"
#include "bench/real_sizes/shipped_cases.hpp"
#include "bench/real_sizes/watched_device.hpp"
#include "bench/verify/tensor_data.hpp"

namespace convscope::real_sizes {
namespace {

// The corners of the grid, its middle and two random blocks of each of the first launches; the last block of
// some of those behind, which only differ in where their chunk lies.
class Sampler final : public emulated::LaunchWatch {
 public:
  std::vector<size_t> blocks(const CallSite&, const emulated::dim3& grid) override {
    constexpr int kFully = 12, kBriefly = 40, kThen = 64;
    const size_t count = size_t{grid.x} * grid.y * grid.z;
    const int launch = launches_++;
    if (launch >= kBriefly && launch % kThen != 0) return {};
    std::set<size_t> picked{count - 1};
    if (launch < kFully) {
      for (const size_t x : {size_t{0}, size_t{grid.x} - 1})
        for (const size_t y : {size_t{0}, size_t{grid.y} - 1})
          for (const size_t z : {size_t{0}, size_t{grid.z} - 1}) picked.insert((z * grid.y + y) * grid.x + x);
      picked.insert(count / 2);
      for (int i = 0; i < 2; ++i) picked.insert(std::uniform_int_distribution<size_t>(0, count - 1)(random_));
    }
    return {picked.begin(), picked.end()};
  }
  bool computes(const char*) override { return false; }
  void waited() override {}

 private:
  int launches_ = 0;
  std::minstd_rand random_{7};
};

// Of the child process; its signal handler has no other way to them.
const GuardedMemory* guarded = nullptr;
int report = -1;

void tell(const char* text, size_t length) {
  [[maybe_unused]] const ssize_t written = write(report, text, length);
}

void on_fault(int, siginfo_t* info, void*) {
  char text[200];
  tell(text, guarded->describe(info->si_addr, text, sizeof text));
  _exit(1);
}

void catch_faults() {
  static char stack[1 << 16];
  const stack_t alternative{.ss_sp = stack, .ss_flags = 0, .ss_size = sizeof stack};
  sigaltstack(&alternative, nullptr);
  struct sigaction action {};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigaction(SIGSEGV, &action, nullptr);
  sigaction(SIGBUS, &action, nullptr);
}

// What went wrong, or an empty string; in a child process, as what went wrong cannot be undone.
std::string run_apart(const Case& what, Plan& plan, GuardedMemory& memory, WatchedDevice& device,
                      int64_t workspace_bytes) {
  constexpr unsigned kSeconds = 120;
  int ends[2];
  if (pipe(ends) != 0) return "no pipe";
  const pid_t child = fork();
  if (child < 0) return "no process";
  if (child == 0) {
    guarded = &memory;
    report = ends[1];
    catch_faults();
    alarm(kSeconds);
    try {
      ConvArgs args;
      args.input = device.allocate(static_cast<size_t>(what.problem.bytes(Role::input)));
      args.filter = device.allocate(static_cast<size_t>(what.problem.bytes(Role::filter)));
      args.output = device.allocate(static_cast<size_t>(what.problem.bytes(Role::output)));
      args.workspace = device.allocate(static_cast<size_t>(workspace_bytes));
      for (const Role role : read_roles(what.problem.pass)) memory.make_read_only(args.tensor(role));
      const auto queue = device.make_queue();
      if (plan.has_prepare()) plan.prepare(args, *queue);
      plan.run(args, *queue);
    } catch (const std::exception& error) {
      const std::string text = error.what();
      tell(text.data(), std::min<size_t>(text.size(), 1000));
      _exit(1);
    }
    _exit(0);
  }
  close(ends[1]);
  char text[1000];
  const ssize_t length = read(ends[0], text, sizeof text);
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return "";
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM) return "not done in two minutes";
  return length > 0 ? std::string(text, static_cast<size_t>(length)) : "status " + std::to_string(status);
}

class GuardPages : public ::testing::Test {
 protected:
  void SetUp() override {
    if (kSanitized) GTEST_SKIP() << "sanitizers want the address space and the signals for themselves";
    register_all(registry_);
  }
  // Left out is what takes the emulator many seconds for one block: a long sum that no workspace splits, and
  // on tensor cores, which are slow here, one that is not quite short.
  static bool affordable(const Case& what) {
    const ConvProblem& p = what.problem;
    const Extent2 output = p.output();
    const int64_t depth = p.pass == Pass::backward_filter
                              ? p.batch * output.h * output.w
                              : std::max(p.in_channels, p.out_channels) * p.filter.h * p.filter.w;
    const std::string& id = what.algorithm->info().id;
    const bool tensor_cores =
        id.find("tensor") != std::string::npos || id.find("hopper") != std::string::npos;
    return depth <= (tensor_cores ? 3'000 : what.cap == 0 ? 20'000 : 400'000);
  }
  // Every so many-th case of each row, in all its math modes.
  void for_each_case(size_t every, const std::function<void(const Case&, Plan&)>& look) {
    std::map<const Algorithm*, size_t> numbers;
    for (const ShippedProblem& shipped : shipped_problems(DeviceKind::cuda))
      for (const Algorithm* algorithm : own_algorithms(registry_, DeviceKind::cuda))
        for (const MathMode math : kMathModes) {
          ConvProblem problem = shipped.problem;
          problem.math = math;
          if (!algorithm->supports(problem, device_.info()) || ++numbers[algorithm] % every != 0) continue;
          for_each_plan(shipped, problem, *algorithm, device_, 1, [&](const Case& what, Plan& plan) {
            if (affordable(what)) look(what, plan);
          });
        }
  }

  Registry registry_;
  GuardedMemory memory_;
  Sampler sampler_;
  WatchedDevice device_{memory_, sampler_};
};

TEST_F(GuardPages, SampledBlocksOfShippedLayersStayInsideTheirBuffers) {
  size_t cases = 0;
  std::map<std::string, std::pair<size_t, std::string>> faults;  // by row
  for_each_case(stride(587), [&](const Case& what, Plan& plan) {
    ++cases;
    const std::string fault = run_apart(what, plan, memory_, device_, plan.workspace_bytes());
    if (fault.empty()) return;
    auto& [count, first] = faults[what.algorithm->info().id];
    if (++count == 1) first = what.text() + ": " + fault;
  });
  for (const auto& [id, count_and_first] : faults)
    ADD_FAILURE() << count_and_first.first << " cases, the first " << count_and_first.second;
  EXPECT_GT(cases, 20u);
}

// The control: what this test is for is seen.
TEST_F(GuardPages, AWorkspaceThatIsTooShortFaults) {
  constexpr int64_t kShort = 8192;
  size_t cases = 0, faults = 0;
  for_each_case(797, [&](const Case& what, Plan& plan) {
    if (plan.workspace_bytes() <= 2 * kShort || what.algorithm->info().provider != "convscope") return;
    ++cases;
    const std::string fault = run_apart(what, plan, memory_, device_, plan.workspace_bytes() - kShort);
    faults += fault.find("behind its end") != std::string::npos ? 1 : 0;
  });
  EXPECT_GT(cases, 4u);
  EXPECT_GE(2 * faults, cases) << "of " << cases;
}

// In a process whose faults are described on its standard error.
template <typename Access>
void touch(const GuardedMemory& memory, const Access& access) {
  guarded = &memory;
  report = 2;
  catch_faults();
  access();
}

TEST_F(GuardPages, AWriteToATensorThatIsReadAndAReadBehindItFault) {
  void* const data = memory_.allocate(5000);
  auto* const bytes = static_cast<volatile char*>(data);
  bytes[4999] = 1;
  memory_.make_read_only(data);
  EXPECT_EXIT(touch(memory_, [&] { bytes[0] = 1; }), ::testing::ExitedWithCode(1), "may only be read");
  EXPECT_EXIT(touch(memory_, [&] { static_cast<void>(bytes[5120]); }), ::testing::ExitedWithCode(1),
              "behind its end");  // which is rounded up to 256 bytes
  memory_.release(data);
}

}  // namespace
}  // namespace convscope::real_sizes
