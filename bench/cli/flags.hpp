// The flags and arguments that several verbs have, one function each, so that they read and are explained
// alike.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/core/device_info.hpp"
#include "bench/record/result_files.hpp"
#include "bench/runner/overrides.hpp"

namespace convscope {

// The flags that override a config, without those named in `left_out`. Lists are given with commas, repeated
// flags, or both.
void add_overrides(CLI::App& verb, Overrides& overrides, const std::vector<std::string_view>& left_out);

// A flag that is on or off.
void add_switch(CLI::App& verb, const std::string& flag, bool& target, const std::string& meaning);

// --json: one JSON document and nothing else.
void add_json(CLI::App& verb, bool& json);

// --device, --threads, --workspace-cap (in bytes; null for inf).
void add_device(CLI::App& verb, std::optional<DeviceId>& device, const std::string& meaning);
void add_threads(CLI::App& verb, int& threads);
void add_workspace_cap(CLI::App& verb, std::optional<int64_t>& cap);

// RESULTS: result folders or files.
void add_results(CLI::App& verb, std::vector<std::string>& results);

// The files' records and configs one after the other. Unlike in merge the same candidate may be in several:
// repeats. Throws UsageError for a file that cannot be read.
ResultFile read_all_results(const std::vector<std::string>& paths);

// The flags that were given, by their long names, and arguments by theirs.
std::vector<std::string> given_flags(const CLI::App& verb);

}  // namespace convscope
