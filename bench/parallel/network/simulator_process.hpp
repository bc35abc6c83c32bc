// The program convscope_simgrid, running: a line is asked, a line is answered.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "bench/parallel/network/cost.hpp"
#include "bench/record/file_descriptor.hpp"

namespace convscope {

class SimulatorProcess {
 public:
  // Starts `program` with the words that describe a platform. Throws UsageError "SUBJECT: ..." where it
  // refuses it.
  SimulatorProcess(const std::string& program, const std::vector<std::string>& words, std::string subject);

  const std::string& version() const { return version_; }  // "3.32"
  int hosts() const { return hosts_; }
  // Throws UsageError "SUBJECT: ..." where SimGrid gives up.
  Cost all_reduce(Reduction reduction, double bytes, const Ranks& ranks);

 private:
  // Ended when this is.
  struct Child {
    pid_t pid = -1;
    Child() = default;
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;
    ~Child();
  };

  // The next line of its output, without the end of line. Throws UsageError where it has ended.
  std::string answer();
  [[noreturn]] void fail(const std::string& why) const;

  std::string subject_, version_, unread_;
  int hosts_ = 0;
  FileDescriptor requests_, errors_;
  Child child_;
};

}  // namespace convscope
