// What `choose` makes of a GPU: over kept runs, with the counts of the plans as they are now (those in a file
// are those of the program that measured it), made on the emulator and not run. The times are the runs' own.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "algorithms/catalog.hpp"
#include "bench/device/forwarding_device_test.hpp"
#include "bench/emulator/emulator_device.hpp"
#include "bench/ranking/contest.hpp"
#include "bench/ranking/ranking.hpp"
#include "bench/record/result_files.hpp"
#include "bench/select/cost_model.hpp"
#include "bench/select/judgement.hpp"

namespace convscope::real_sizes {
namespace {

struct Kept {
  std::string file;           // below results/
  double of_all, of_own = 0;  // regret at most: of the best, of the best of ours
};

// As a test's name.
std::string label(const ::testing::TestParamInfo<Kept>& kept) {
  std::string text = kept.param.file.substr(0, kept.param.file.find('.'));
  for (char& letter : text)
    if (std::isalnum(static_cast<unsigned char>(letter)) == 0) letter = '_';
  return text;
}

// The emulator with what plans ask of a GPU besides its kind: multiprocessors and L2.
class SizedEmulator final : public testing::ForwardingDevice {
 public:
  SizedEmulator(EmulatorDevice& emulator, const DeviceInfo& of)
      : ForwardingDevice(emulator), info_(emulator.info()) {
    info_.cores = of.cores;
    info_.llc_bytes = of.llc_bytes;
  }
  const DeviceInfo& info() const override { return info_; }

 private:
  DeviceInfo info_;
};

// With the counts of the plans as they are now, and without those that cannot be chosen.
std::vector<ResultRecord> planned_again(std::vector<ResultRecord> records, const Registry& registry) {
  EmulatorDevice emulator;
  SizedEmulator device(emulator, records.front().device);
  std::erase_if(records, [&](ResultRecord& record) {
    const Algorithm* algorithm = registry.find(record.key.algorithm);
    if (!counts_are_known(record.algorithm)) return false;  // a library's
    if (!is_timed(record)) return true;
    if (algorithm == nullptr) throw std::runtime_error(record.key.algorithm + " is no more");
    const int64_t cap = record.key.workspace_cap.value_or(INT64_MAX);
    const auto plan = algorithm->plan(record.key.problem, device, {cap, record.key.threads});
    record.operations = plan->operations().value();
    return false;
  });
  return records;
}

std::string text_of(const std::string& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

class GpuChoice : public ::testing::TestWithParam<Kept> {};

TEST_P(GpuChoice, CostsLittle) {
  Registry registry;
  register_all(registry);
  const std::vector<ResultRecord> records =
      planned_again(read_results(CONVSCOPE_SOURCE_FOLDER "/results/" + GetParam().file).records, registry);
  const std::vector<Contest> all = contests(records);
  ASSERT_FALSE(all.empty());
  for (const Network& network : networks(all)) {
    const Score sum = score(judge_predictions(network));
    ASSERT_GT(sum.judged, 0u);
    EXPECT_LE(sum.regret(), GetParam().of_all);
    EXPECT_LE(sum.regret_in_library(), GetParam().of_own);
    const std::string line = fmt::format("| `results/{}` | {:.1f}% | {:.1f}% |", GetParam().file,
                                         100 * sum.regret(), 100 * sum.regret_in_library());
    EXPECT_THAT(text_of(CONVSCOPE_SOURCE_FOLDER "/docs/selection.md"), ::testing::HasSubstr(line));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Of, GpuChoice,
    ::testing::Values(Kept{"nvidia-h100-80gb-hbm3/alexnet-nhwc-bf16.json.xz", 1.7, 1.45},
                      Kept{"nvidia-h200/alexnet-nhwc-bf16.json.xz", 1.7, 1.5},
                      Kept{"nvidia-h100-80gb-hbm3/alexnet-nhwc-tf32.json.xz", 0.3, 0.05},
                      Kept{"nvidia-h100-80gb-hbm3/alexnet-3xtf32.json.xz", 0.01, 0.01},
                      Kept{"nvidia-h100-80gb-hbm3/alexnet-forward.json.xz", 0.05, 0.05},
                      Kept{"nvidia-h100-80gb-hbm3/alexnet-backward-data.json.xz", 0.01, 0.01},
                      Kept{"nvidia-h100-80gb-hbm3/alexnet-backward-filter.json.xz", 0.05, 0.05},
                      Kept{"nvidia-h200/alexnet-forward.json.xz", 0.05, 0.05},
                      Kept{"nvidia-h200/alexnet-backward-data.json.xz", 0.01, 0.01},
                      Kept{"nvidia-h200/alexnet-backward-filter.json.xz", 0.05, 0.05},
                      Kept{"nvidia-h100-80gb-hbm3/vgg-16.json.xz", 0.06, 0.05},
                      Kept{"nvidia-h100-80gb-hbm3/resnet-50.json.xz", 0.15, 0.1}),
    label);

}  // namespace
}  // namespace convscope::real_sizes
