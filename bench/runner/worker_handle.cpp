#include "bench/runner/worker_handle.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <system_error>
#include <thread>
#include <utility>

#include "bench/core/stopwatch.hpp"
#include "bench/record/file_descriptor.hpp"
#include "bench/runner/worker.hpp"

extern char** environ;

namespace convscope {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kLingerMilliseconds = 3000;
constexpr std::chrono::milliseconds kLongestPause{20};

void check(bool good, const char* what) {
  if (!good) throw std::system_error(errno, std::generic_category(), what);
}

struct Pipe {
  FileDescriptor read, write;
};

Pipe make_pipe() {
  int ends[2];
  check(pipe2(ends, O_CLOEXEC) == 0, "pipe");
  return {FileDescriptor(ends[0]), FileDescriptor(ends[1])};
}

// The task as a file to read from: unlike a pipe it takes any length, and no harm comes from a worker that
// dies before it has read it.
FileDescriptor file_with(const std::string& text) {
  FileDescriptor file(memfd_create("convscope-task", MFD_CLOEXEC));
  check(file.get() >= 0, "memfd_create");
  check(write_all(file.get(), text), "task file");
  check(lseek(file.get(), 0, SEEK_SET) == 0, "task file");
  return file;
}

// Where SIGCHLD is ignored, as whoever started this program may have left it, a child that ends is gone
// before its exit code is read. A handler stays.
void make_children_wait() {
  struct sigaction now = {};
  check(sigaction(SIGCHLD, nullptr, &now) == 0, "sigaction");
  const bool ignored = now.sa_handler == SIG_IGN, forgotten = (now.sa_flags & SA_NOCLDWAIT) != 0;
  if (!ignored && !forgotten) return;
  if (ignored) now.sa_handler = SIG_DFL;
  now.sa_flags &= ~SA_NOCLDWAIT;
  check(sigaction(SIGCHLD, &now, nullptr) == 0, "sigaction");
}

pid_t spawn(const std::string& executable, int task, int events) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, task, kTaskFile);
  posix_spawn_file_actions_adddup2(&actions, events, kEventFile);
  std::string program = "convscope", verb = "worker", parent = std::to_string(getpid());
  std::array<char*, 4> argv{program.data(), verb.data(), parent.data(), nullptr};
  pid_t pid = -1;
  const int error = posix_spawn(&pid, executable.c_str(), &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) throw std::system_error(error, std::generic_category(), "starting " + executable);
  return pid;
}

class ProcessWorker final : public WorkerHandle {
 public:
  ProcessWorker(const std::string& executable, const Json& message) {
    const FileDescriptor task = file_with(message.dump());
    Pipe pipe = make_pipe();
    make_children_wait();
    pid_ = spawn(executable, task.get(), pipe.write.get());
    events_ = std::move(pipe.read);
  }
  ~ProcessWorker() override {
    if (pid_ < 0) return;
    stop();
    wait();
  }

  int events() const override { return events_.get(); }
  void stop() override { kill(pid_, SIGKILL); }
  WorkerEnd wait() override {
    int status = 0;
    const bool lingered = !ends_soon(status);
    if (lingered) {
      stop();
      while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
      }
    }
    pid_ = -1;
    if (WIFSIGNALED(status)) return {WTERMSIG(status), 0, lingered};
    return {std::nullopt, WEXITSTATUS(status), false};
  }

 private:
  // Asks again and again, after longer and longer pauses: nothing that every kernel has can wait for one
  // process with a limit (pidfd_open is missing before Linux 5.3 and in some sandboxes).
  bool ends_soon(int& status) const {
    using std::chrono::milliseconds;
    const auto last = Clock::now() + milliseconds(kLingerMilliseconds);
    for (auto pause = milliseconds(1);; pause = std::min(2 * pause, kLongestPause)) {
      if (waitpid(pid_, &status, WNOHANG) == pid_) return true;
      if (Clock::now() >= last) return false;
      std::this_thread::sleep_for(pause);
    }
  }

  pid_t pid_ = -1;
  FileDescriptor events_;
};

// The thread owns the reading end as well: writing to a pipe that nobody can read any more would end the
// process by SIGPIPE, and a thread that was let go goes on writing.
class ThreadWorker final : public WorkerHandle {
 public:
  ThreadWorker(const Registry& registry, const Json& message) {
    Pipe pipe = make_pipe();
    events_ = std::make_shared<FileDescriptor>(std::move(pipe.read));
    thread_ = std::thread([&registry, message, kept = events_, file = std::move(pipe.write)] {
      run_task(message, registry, file.get());
    });
  }
  ~ThreadWorker() override {
    if (!thread_.joinable()) return;
    char unread[4096];  // taken in so that the thread cannot wait for room in the pipe
    while (poll_readable() && read(events_->get(), unread, sizeof unread) != 0) {
    }
    thread_.join();
  }
  int events() const override { return events_->get(); }
  void stop() override { thread_.detach(); }
  WorkerEnd wait() override {
    if (thread_.joinable()) thread_.join();
    return {};
  }

 private:
  bool poll_readable() const {
    pollfd file{events_->get(), POLLIN, 0};
    return poll(&file, 1, -1) > 0;
  }

  std::shared_ptr<const FileDescriptor> events_;
  std::thread thread_;
};

}  // namespace

std::unique_ptr<WorkerHandle> start_process(const std::string& executable, const Json& message) {
  return std::make_unique<ProcessWorker>(executable, message);
}

std::unique_ptr<WorkerHandle> start_thread(const Registry& registry, const Json& message) {
  return std::make_unique<ThreadWorker>(registry, message);
}

EventReader::EventReader(int file) : file_(file) {
  fcntl(file, F_SETFL, fcntl(file, F_GETFL) | O_NONBLOCK);
}

bool EventReader::receive() {
  char chunk[65536];
  for (;;) {
    const ssize_t got = read(file_, chunk, sizeof chunk);
    if (got == 0) return false;
    if (got < 0 && errno == EAGAIN) return true;
    check(got > 0 || errno == EINTR, "event pipe");
    if (got > 0) text_.append(chunk, static_cast<size_t>(got));
  }
}

std::optional<Json> EventReader::next() {
  const size_t end = text_.find('\n');
  if (end == std::string::npos) return std::nullopt;
  Json event = Json::parse(text_.substr(0, end));
  text_.erase(0, end + 1);
  return event;
}

}  // namespace convscope
