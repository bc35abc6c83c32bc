#include "bench/device/cuda/library_folders.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace convscope::cuda {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A tree of made-up environments.
class Tree : public ::testing::Test {
 protected:
  Tree() { fs::remove_all(root_); }
  ~Tree() override { fs::remove_all(root_); }
  std::string folder(const std::string& path) const {
    fs::create_directories(root_ / path);
    return (root_ / path).string();
  }
  void file(const std::string& path) const {
    folder(fs::path(path).parent_path().string());
    std::ofstream(root_ / path) << "";
  }
  std::string at(const std::string& path) const { return (root_ / path).string(); }
  // Those below the root: the machine has environments of its own.
  std::vector<std::string> ours(std::vector<std::string> found) const {
    std::erase_if(found, [this](const std::string& path) { return !path.starts_with(root_.string()); });
    return found;
  }

  // A folder a process: CI runs the tests of one program in two.
  fs::path root_ = fs::path(::testing::TempDir()) / ("library_folders_test_" + std::to_string(getpid()));
};

TEST_F(Tree, PrefixesAreTheActivatedEnvironmentsThenThoseOfThePathThenThoseBeside) {
  file("python/bin/python3");
  PythonHints hints;
  hints.virtual_env = folder("activated");
  hints.conda_prefix = folder("conda");
  hints.path = folder("empty/bin") + "::" + at("python/bin") + ":/no/such/folder";
  hints.beside = {root_.string()};
  folder(".venv");
  folder("venv");
  EXPECT_THAT(ours(python_prefixes(hints)),
              ElementsAre(at("activated"), at("conda"), at("python"), at(".venv"), at("venv")));
}

TEST_F(Tree, APythonOfThePathThatIsALinkStandsForWhereItPointsToo) {
  file("versions/3.12/bin/python3.12");
  folder("shims");
  fs::create_symlink(at("versions/3.12/bin/python3.12"), at("shims/python3"));
  PythonHints hints;
  hints.path = at("shims");
  EXPECT_THAT(ours(python_prefixes(hints)), ElementsAre(root_.string(), at("versions/3.12")));
}

TEST_F(Tree, PrefixesAreListedOnceAndOnlyIfTheyExist) {
  file("environment/bin/python3");
  PythonHints hints;
  hints.virtual_env = at("environment");
  hints.conda_prefix = at("removed");
  hints.path = at("environment/bin") + ":" + at("environment/bin");
  EXPECT_THAT(ours(python_prefixes(hints)), ElementsAre(at("environment")));
}

TEST_F(Tree, WheelsForCuda13ComeBeforeThePackagesOwnFolder) {
  const std::string packages = "lib/python3.11/site-packages/nvidia/";
  folder(packages + "cufft/lib");
  const std::string own = folder(packages + "cublas/lib"), shared = folder(packages + "cu13/lib");
  EXPECT_THAT(wheel_folders({root_.string()}, "cublas"), ElementsAre(shared, own));
}

TEST_F(Tree, WheelsOfCuda12AndOfCudnnLieInAFolderOfTheirOwn) {
  const std::string cudnn = folder("lib/python3.12/site-packages/nvidia/cudnn/lib");
  EXPECT_THAT(wheel_folders({root_.string()}, "cudnn"), ElementsAre(cudnn));
}

TEST_F(Tree, WheelsAreFoundInLib64AndInDistPackagesNewestPythonFirst) {
  const std::string newest = folder("lib/python3.13/site-packages/nvidia/cudnn/lib");
  const std::string a = folder("lib/python3.9/site-packages/nvidia/cudnn/lib");
  const std::string b = folder("lib/python3/dist-packages/nvidia/cudnn/lib");
  const std::string c = folder("lib64/python3.12/site-packages/nvidia/cudnn/lib");
  folder("lib/python2.7/site-packages/nvidia/cudnn/lib");
  EXPECT_THAT(wheel_folders({root_.string()}, "cudnn"), ElementsAre(newest, a, b, c));
}

TEST_F(Tree, ALib64ThatIsALinkToLibIsNotListedAgain) {
  const std::string cudnn = folder("lib/python3.12/site-packages/nvidia/cudnn/lib");
  fs::create_directory_symlink(at("lib"), at("lib64"));
  EXPECT_THAT(wheel_folders({root_.string()}, "cudnn"), ElementsAre(cudnn));
}

TEST(WheelFolders, AreNoneWhereNoPythonIs) {
  EXPECT_THAT(wheel_folders({"/convscope/has/no/such/folder"}, "cublas"), IsEmpty());
}

TEST(SearchedEnvironments, NamesThePackageAndTheEnvironments) {
  EXPECT_THAT(searched_environments({"/a", "/b"}, "cudnn"),
              AllOf(HasSubstr("nvidia/{cudnn,cu13}/lib"), HasSubstr("/a, /b"), HasSubstr("VIRTUAL_ENV")));
}

}  // namespace
}  // namespace convscope::cuda
