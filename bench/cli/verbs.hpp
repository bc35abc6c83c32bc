// Every verb's flags, help and examples, as CLI11 wants them told. Reading a command line with them, and the
// messages about a wrong one, are in options.cpp.
#pragma once

#include <CLI/CLI.hpp>
#include <string_view>

#include "bench/cli/options.hpp"

namespace convscope {

// What the flags are read into; only the verb that was given is meant.
struct VerbOptions {
  RunOptions run, verify;
  ListOptions list;
  InfoOptions info;
  ExplainOptions explain;
  ExecOptions exec;
  MergeOptions merge;
  CsvOptions csv;
  SelectOptions select;
  PoliciesOptions policies;
  ChooseOptions choose;
  WorkerOptions worker;

  Command of(std::string_view verb) const;
};

// `options` must outlive the parsing.
void add_verbs(CLI::App& app, VerbOptions& options);

}  // namespace convscope
