// Trial: one candidate on one kind of data. It runs the plan and finds every fault but wrong values, which
// are for Expectation: elements left unwritten, reads of what the output held, writes outside the buffers or
// into tensors that are read, runs that disagree. On a GPU the tensors stay there unless a fault must be
// described (device_comparison.hpp).
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "bench/verify/expectation.hpp"
#include "bench/verify/verification.hpp"

namespace convscope {

// What the written tensor holds before a run.
enum class Before { nan, old_result, constant };

// The two tensors that the pass reads, by role, on the host, and the epilogue's bias; the written one is
// empty. Made once a problem.
struct ReadTensors {
  ReadTensors(const ConvProblem& problem, DataKind kind, uint64_t seed);
  std::array<std::vector<float>, 3> values;
  std::vector<float> bias;
};

class DeviceComparison;

// Where results are compared on the device: with what, and against which bounds.
struct OnDevice {
  DeviceComparison* comparison = nullptr;  // null: on the host
  ErrorBounds bounds;
};

class Trial {
 public:
  // Uploads `read` (which outlives the trial, as `workspace` does), NaN-fills the output and the workspace
  // and prepares the plan.
  Trial(const ConvProblem& problem, const ReadTensors& read, Plan& plan, Buffer& workspace, Device& device,
        Queue& queue, const OnDevice& on_device);

  // The first fault of a run that does not need expected values, or nothing.
  std::optional<std::string> run(Before before);
  // False once a run wrote outside its output and workspace.
  bool contained() const { return contained_; }
  // What comparing the last run's result on the device found; null where the host compares.
  const std::optional<Findings>& findings() const { return findings_; }
  // The tensor written by the last run, on the host.
  const std::vector<float>& result() const;
  // The tensor written by the first run. On a device, only before the run after the second.
  std::vector<float> first_result() const;
  // Where two results differ by more than `tolerance`, as a sentence. Only for results without NaN.
  std::optional<std::string> difference(const std::vector<float>& earlier, double tolerance) const;
  // True when running on top of an old result gives another result than running on NaN does.
  bool depends_on_output(const std::vector<float>& right, double tolerance);

 private:
  void prepare();
  void execute(Before before);
  std::optional<std::string> broken_guard() const;
  std::optional<std::string> changed_tensor() const;
  std::optional<std::string> changed_bias() const;
  bool is_changed(Role role) const;
  std::optional<int64_t> first_not_finite();
  std::string explain_not_finite(int64_t offset);
  std::string element(int64_t offset) const;
  Buffer& tensor(Role role);
  const Buffer& tensor(Role role) const { return const_cast<Trial*>(this)->tensor(role); }

  ConvProblem problem_;
  Role written_;
  DataType storage_;
  const ReadTensors& read_;
  Plan& plan_;
  Buffer& workspace_;
  Queue& queue_;
  OnDevice on_device_;
  Operands operands_;
  int runs_ = 0;  // by run()
  std::optional<Findings> findings_;
  mutable std::vector<float> result_;
  mutable bool is_downloaded_ = false;  // result_ is that of the last run
  bool contained_ = true;
};

}  // namespace convscope
