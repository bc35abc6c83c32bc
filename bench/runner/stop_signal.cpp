#include "bench/runner/stop_signal.hpp"

#include <pthread.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace convscope {

StopSignal::StopSignal() {
  sigset_t stop;
  sigemptyset(&stop);
  sigaddset(&stop, SIGINT);
  sigaddset(&stop, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &stop, &before_);
  file_ = FileDescriptor(signalfd(-1, &stop, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!file_.is_open()) throw std::system_error(errno, std::generic_category(), "signalfd");
}

StopSignal::~StopSignal() {
  requested();  // takes a signal that has arrived, so that it does not strike when the mask is lifted
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

bool StopSignal::requested() {
  signalfd_siginfo signal;
  while (read(file_.get(), &signal, sizeof signal) == sizeof signal) requested_ = true;
  return requested_;
}

}  // namespace convscope
