// The verb `select`: what the library's own choice cost against the oracle, and how much workspace is enough,
// from result files. Measures nothing; the figures are bench/select's.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "bench/record/result_files.hpp"

namespace convscope {

struct SelectOptions {
  std::vector<std::string> results;   // files or folders; several are repeats of each other
  std::vector<std::string> choosers;  // --chooser: ids or stems; empty: the libraries' own choices
  bool json = false;                  // --json: one JSON document and nothing else
};

// Throws UsageError for a file that cannot be read.
void select_results(std::ostream& out, const SelectOptions& options);

// The files' records, ranked together, and configs one after the other. Unlike merge, the same candidate may
// be in several: a repeat.
ResultFile read_all_results(const std::vector<std::string>& paths);

}  // namespace convscope
