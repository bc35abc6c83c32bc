// The processes of this machine, as /proc shows them: in a container only its own.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace convscope {

struct Process {
  std::string name;  // as the kernel has it, 15 characters at most
  int64_t parent = 0;
  double seconds = 0;  // of the processor, so far
};

// By process id.
std::map<int64_t, Process> read_processes();

// This process, those that started it and those that it started.
std::set<int64_t> own_family(const std::map<int64_t, Process>& processes);

// "a, b, c, 2 more": processes in words, the busiest first; "" for none.
std::string three_of(const std::vector<std::string>& processes);

}  // namespace convscope
