// merge_results(): joins several result folders, such as the shards of one sweep. Measures nothing and
// changes no record.
#pragma once

#include <string>
#include <vector>

#include "bench/record/result_files.hpp"

namespace convscope {

struct Merged {
  ResultFile file;
  std::vector<std::string>
      remarks;  // sentences for the user: what differs between the folders, what is missing
};

// Reads every folder and joins the records. Those of different machines stay apart by the device's name, its
// class and its unit. A record that two folders have must be the same in both. Throws UsageError that names
// the candidate and both folders otherwise, or the folder that cannot be read, and as OneProtocol.
Merged merge_results(const std::vector<std::string>& folders);

// The folders' benchmark.json, those that have one, joined in the order given.
std::string merge_benchmarks(const std::vector<std::string>& folders);

}  // namespace convscope
