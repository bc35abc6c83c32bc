// The variants in a build without oneDNN.
#include <gtest/gtest.h>

#include "algorithms/onednn/onednn.hpp"

namespace convscope {
namespace {

TEST(OneDnnMissing, EveryRowIsListedAndSaysWhatToInstall) {
  Registry registry;
  add_onednn(registry);
  ASSERT_EQ(registry.all().size(), 4u);
  for (const Algorithm* algorithm : registry.all()) {
    const Support support = algorithm->supports(ConvProblem{}, DeviceInfo{});
    EXPECT_EQ(support.reason(), Reason::library_missing) << algorithm->info().id;
    EXPECT_NE(support.why().find("libdnnl-dev"), std::string::npos);
    EXPECT_EQ(algorithm->info().version, "");
  }
}

}  // namespace
}  // namespace convscope
