// StopSignal: Ctrl-C (SIGINT) and SIGTERM as a file that poll() waits for, instead of an interruption at any
// point, so that a run can write its files before it ends. Make one before the first thread or worker starts.
#pragma once

#include <csignal>

#include "bench/record/file_descriptor.hpp"

namespace convscope {

// Holds both signals back from this process for as long as it lives, and from the workers it starts: a Ctrl-C
// at a terminal reaches the whole process group, but only the parent may act on it.
class StopSignal {
 public:
  StopSignal();
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  // Readable by poll() once one of the signals has arrived.
  int file() const { return file_.get(); }
  // True once one has arrived; stays true.
  bool requested();

 private:
  sigset_t before_;
  FileDescriptor file_;
  bool requested_ = false;
};

}  // namespace convscope
