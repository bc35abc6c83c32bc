#include "bench/runner/worker_handle.hpp"

#include <gtest/gtest.h>

#include <csignal>

namespace convscope {
namespace {

TEST(ProcessWorker, SaysHowItEndedWhereSignalsOfChildrenWereIgnored) {
  const auto before = std::signal(SIGCHLD, SIG_IGN);
  const WorkerEnd end = start_process("/bin/false", nullptr)->wait();
  std::signal(SIGCHLD, before);
  EXPECT_EQ(end.signal, std::nullopt);
  EXPECT_EQ(end.exit_code, 1);
}

}  // namespace
}  // namespace convscope
