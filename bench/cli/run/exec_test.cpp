#include "bench/cli/run/exec.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>
#include <stdexcept>

#include "bench/cli/run/npy.hpp"
#include "bench/cli/test_program.hpp"
#include "bench/core/error_of_test.hpp"
#include "bench/device/cpu/cpu_device.hpp"
#include "bench/runner/test_runs.hpp"

namespace convscope {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class Exec : public ::testing::Test {
 protected:
  Exec() {
    std::filesystem::create_directories(folder_.path());
    options_.problem = "n=1 c=1 hw=3 k=1 rs=3 pad=1";
    options_.algorithm = "reference.cpu";
    options_.input = path("x.npy");
    options_.filter = path("w.npy");
    options_.output = path("y.npy");
    write_npy(options_.input, {{1, 1, 3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9}});
    write_npy(options_.filter, {{1, 1, 3, 3}, {0, 1, 0, 0, 0, 0, 0, 0, 0}});
  }

  std::string path(const std::string& name) const { return (folder_.path() / name).string(); }
  int run(void (*picky)(const ConvArgs&) = [](const ConvArgs&) {}) {
    CpuDevice device;
    std::ostringstream errors;
    const int code = exec_algorithm(options_, testing::registry_with_picky(picky), device, 1, errors);
    errors_ = errors.str();
    return code;
  }

  testing::TemporaryFolder folder_;
  ExecOptions options_;
  std::string errors_;
};

TEST_F(Exec, ReadsTwoTensorsAndWritesTheThird) {
  EXPECT_EQ(run(), 0);
  const NpyArray y = read_npy(options_.output);
  EXPECT_THAT(y.shape, ElementsAre(1, 1, 3, 3));
  EXPECT_THAT(y.values, ElementsAre(0, 0, 0, 1, 2, 3, 4, 5, 6));
  EXPECT_EQ(errors_, "");
}

TEST_F(Exec, WritesTheInputInBackwardDataAndTheFilterInBackwardFilter) {
  EXPECT_EQ(run(), 0);
  options_.problem = "backward_data n=1 c=1 hw=3 k=1 rs=3 pad=1";
  options_.input = path("dx.npy");
  EXPECT_EQ(run(), 0);
  EXPECT_THAT(read_npy(path("dx.npy")).values, ElementsAre(1, 2, 3, 4, 5, 6, 0, 0, 0));
  options_.problem = "backward_filter n=1 c=1 hw=3 k=1 rs=3 pad=1";
  options_.input = path("x.npy");
  options_.filter = path("dw.npy");
  EXPECT_EQ(run(), 0);
  // dw[0][1] = sum of y[i][j] x[i-1][j] = 1 1 + 2 2 + 3 3 + 4 4 + 5 5 + 6 6
  EXPECT_EQ(read_npy(path("dw.npy")).values.at(1), 91);
}

TEST_F(Exec, RefusesTensorsOfAnotherShape) {
  options_.problem = "nhwc n=1 c=1 hw=3 k=1 rs=3 pad=1";
  EXPECT_THAT(testing::error_of([&] { run(); }),
              AllOf(HasSubstr("x.npy: its shape is (1, 1, 3, 3)"),
                    HasSubstr("the input of this problem in nhwc is (1, 3, 3, 1)")));
  EXPECT_FALSE(std::filesystem::exists(options_.output));
}

TEST_F(Exec, NamesTheNearestAlgorithmAndTheMissingFile) {
  options_.algorithm = "refrence.cpu";
  EXPECT_THAT(testing::error_of([&] { run(); }),
              AllOf(HasSubstr("\"refrence.cpu\""), HasSubstr("did you mean \"reference.cpu\"?")));
  options_.algorithm = "reference.cpu";
  options_.filter = "";
  EXPECT_THAT(testing::error_of([&] { run(); }),
              AllOf(HasSubstr("--filter is missing"), HasSubstr("forward writes --output")));
}

TEST_F(Exec, NeverOverwritesWhatItReads) {
  std::filesystem::create_symlink("x.npy", path("link.npy"));
  for (const std::string& output : {options_.input, options_.filter, path("link.npy"),
                                    path("../") + folder_.path().filename().string() + "/w.npy"}) {
    options_.output = output;
    EXPECT_THAT(testing::error_of([&] { run(); }), HasSubstr("--output would overwrite " + output)) << output;
  }
  EXPECT_THAT(read_npy(options_.input).values, ElementsAre(1, 2, 3, 4, 5, 6, 7, 8, 9));
}

TEST_F(Exec, ReportsARefusalWithItsCode) {
  options_.algorithm = "picky.cpu";
  options_.problem = "n=1 c=1 hw=3 k=1 rs=1";
  EXPECT_EQ(run(), 1);
  EXPECT_EQ(errors_, "convscope: picky.cpu: unsupported_filter: it needs a 3x3 filter\n");
  options_.problem = "n=1 c=1 hw=3 k=1 rs=3 pad=1";
  options_.workspace_cap = 100;
  EXPECT_EQ(run(), 1);
  EXPECT_THAT(errors_,
              HasSubstr("workspace_over_cap: it needs 1.0 MiB of workspace, more than the cap of 100 B"));
}

TEST_F(Exec, ReportsAFailureAndWritesNothing) {
  options_.algorithm = "picky.cpu";
  EXPECT_EQ(run([](const ConvArgs&) { throw std::runtime_error("the library gave up"); }), 1);
  EXPECT_EQ(errors_, "convscope: picky.cpu: failed: the library gave up\n");
  EXPECT_EQ(run([](const ConvArgs& args) { static_cast<float*>(args.output)[9] = 0; }), 1);
  EXPECT_THAT(errors_, HasSubstr("it wrote outside the tensors"));
  EXPECT_FALSE(std::filesystem::exists(options_.output));
}

TEST(ExecFlags, AreRead) {
  const auto options =
      testing::read_flags<ExecOptions>({"--case", "n=1", "--algorithm", "a", "--input", "x", "--filter", "w",
                                        "--output", "y", "--workspace-cap", "1KiB"});
  EXPECT_EQ(options.problem, "n=1");
  EXPECT_EQ(options.output, "y");
  EXPECT_EQ(options.workspace_cap, 1024);
}

}  // namespace
}  // namespace convscope
