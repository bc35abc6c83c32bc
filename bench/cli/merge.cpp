#include "bench/cli/merge.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <iostream>
#include <system_error>

#include "bench/core/error.hpp"
#include "bench/runner/merge.hpp"

namespace convscope {

int merge(const MergeOptions& options, const std::vector<std::string>& argv) {
  const std::filesystem::path out(options.out);
  std::error_code unknown;  // what is wrong with the folder, writing to it will say
  if (std::filesystem::exists(out / "results.json", unknown))
    throw UsageError(options.out + " holds results already; choose another --out");
  Merged merged = merge_results(options.folders);
  const std::string benchmarks = merge_benchmarks(options.folders);
  merged.file.argv = argv;
  write_results(options.out, merged.file);
  write_file_atomically((out / "benchmark.json").string(), benchmarks);
  for (const std::string& remark : merged.remarks) fmt::print(stderr, "convscope: {}\n", remark);
  fmt::print("{} rows of {} folders are in {}\n", merged.file.records.size(), options.folders.size(),
             options.out);
  return 0;
}

}  // namespace convscope
