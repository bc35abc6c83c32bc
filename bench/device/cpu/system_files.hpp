// What Linux says about the machine in /proc and /sys, caches and limits, and where its scheduler may place a
// thread. Every path starts with `root`, "" for this machine, another folder in tests. Not here: what
// CpuDevice makes of it.
#pragma once

#include <sched.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace convscope {

// The first line of a file; "" where there is none.
std::string first_line(const std::string& path);

// The value behind the first "key : value" line of /proc/cpuinfo; "" where there is none.
std::string cpuinfo(const std::string& root, const std::string& key);
// Whether this is a virtual machine, as the processor says.
bool has_hypervisor(const std::string& root);

// Whether the root of the file system is a container image's, by the files that Docker, Podman and Apptainer
// leave there, or as an overlay: what it says of the machine, such as /etc/machine-id, is then the image's.
bool is_container(const std::string& root);

// Bytes; 0 where the kernel shows none.
struct CacheSizes {
  int64_t l1 = 0;          // data cache of one core
  int64_t l2 = 0;          // of one core
  int64_t last_level = 0;  // of `cores` together: each cache of the highest level counted once
};
CacheSizes cache_sizes(const std::string& root, const std::vector<int>& cores);

// Bytes of the machine's memory, of which control groups may allow less.
int64_t physical_memory();

// Bytes that the process's control groups (version 1 or 2) and those above them allow; INT64_MAX without a
// limit.
int64_t control_group_memory(const std::string& root);

// Bytes that the process may have: the lower of both.
int64_t allowed_memory(const std::string& root);

// Cores' worth of time that they allow, as 1.5 (`docker run --cpus`); nothing without a limit. Threads beyond
// it are stopped in turn, whichever cores they may use.
std::optional<double> control_group_cores(const std::string& root);

// Bytes that programs can still have, pages of files that can be given up included; nothing where the kernel
// does not say.
std::optional<int64_t> available_memory(const std::string& root);

// The cores that the scheduler may place a thread on, 0 for the calling one, however many the kernel has
// numbers for; none where it does not say. `ask` is another function in tests.
std::vector<int> cores_for(pid_t thread, int (*ask)(pid_t, size_t, cpu_set_t*) = sched_getaffinity);

}  // namespace convscope
