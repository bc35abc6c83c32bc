#include "bench/parallel/network/simulator_process.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <sstream>
#include <system_error>
#include <utility>

#include "bench/core/error.hpp"

extern char** environ;

namespace convscope {
namespace {

void check(bool good, const char* what) {
  if (!good) throw std::system_error(errno, std::generic_category(), what);
}

// Its input and output are `requests`; what it has to say besides goes to `errors`.
pid_t spawn(const std::string& program, std::vector<std::string> words, int requests, int errors) {
  words.insert(words.begin(), program);
  words.emplace_back("--log=root.fmt:%m%n");
  words.emplace_back("--log=xbt_cfg.thres:warning");
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, requests, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, requests, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, errors, STDERR_FILENO);
  pid_t pid = -1;
  const int error = posix_spawn(&pid, program.c_str(), &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) throw std::system_error(error, std::generic_category(), "starting " + program);
  return pid;
}

// The first line that says something; behind it SimGrid prints where in its code it was.
std::string first_line_of(int file) {
  std::array<char, 4096> text;
  const ssize_t size = pread(file, text.data(), text.size(), 0);
  std::istringstream lines(std::string(text.data(), size > 0 ? static_cast<size_t>(size) : 0));
  for (std::string line; std::getline(lines, line);)
    if (!line.empty()) return line;
  return "it ended without a word";
}

}  // namespace

SimulatorProcess::Child::~Child() {
  if (pid < 0) return;
  kill(pid, SIGKILL);
  while (waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
}

SimulatorProcess::SimulatorProcess(const std::string& program, const std::vector<std::string>& words,
                                   std::string subject)
    : subject_(std::move(subject)), errors_(memfd_create("convscope-simgrid", MFD_CLOEXEC)) {
  check(errors_.is_open(), "memfd_create");
  int ends[2];
  check(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0, "socketpair");
  requests_ = FileDescriptor(ends[0]);
  {
    const FileDescriptor its_end(ends[1]);
    child_.pid = spawn(program, words, its_end.get(), errors_.get());
  }
  const std::string line = answer();
  constexpr std::string_view kRefused = "refused ";
  if (line.starts_with(kRefused)) fail(line.substr(kRefused.size()));
  std::istringstream read(line);
  std::string ready;
  read >> ready >> version_ >> hosts_;
  if (!read || ready != "ready") fail("it answered " + line);
}

Cost SimulatorProcess::all_reduce(Reduction reduction, double bytes, const Ranks& ranks) {
  const std::string request =
      fmt::format("{} {} {} {:.17g}\n", name(reduction), ranks.count, ranks.per_node, bytes);
  // Not write(): where the program has ended, that would end this one.
  if (send(requests_.get(), request.data(), request.size(), MSG_NOSIGNAL) !=
      static_cast<ssize_t>(request.size()))
    fail(first_line_of(errors_.get()));
  const std::string line = answer();
  std::istringstream read(line);
  std::string word;
  Cost cost;
  read >> word >> cost.seconds >> cost.busiest_bytes;
  if (!read || word != "cost") fail("it answered " + line);
  return cost;
}

std::string SimulatorProcess::answer() {
  for (;;) {
    const size_t end = unread_.find('\n');
    if (end != std::string::npos) {
      std::string line = unread_.substr(0, end);
      unread_.erase(0, end + 1);
      return line;
    }
    std::array<char, 256> part;
    const ssize_t got = read(requests_.get(), part.data(), part.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) fail(first_line_of(errors_.get()));
    unread_.append(part.data(), static_cast<size_t>(got));
  }
}

void SimulatorProcess::fail(const std::string& why) const {
  throw UsageError(fmt::format("{}: SimGrid: {}", subject_, why));
}

}  // namespace convscope
