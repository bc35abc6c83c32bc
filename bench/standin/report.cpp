#include "bench/standin/report.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <mutex>
#include <vector>

#include "bench/standin/configuration.hpp"

namespace convscope::standin {
namespace {

struct Work {
  const ptx::Kernel* kernel = nullptr;
  long launches = 0;
  ptx::u64 blocks = 0, instructions = 0;
  double seconds = 0;
  std::vector<ptx::u64> runs;
};

struct Report {
  std::mutex mutex;
  std::map<std::string, Work> work;
};

Report& report() {
  static auto* r = new Report;
  return *r;
}

// For each instruction of the text: its number among those with the same text.
std::vector<int> count_occurrences(const ptx::Kernel& kernel) {
  std::map<std::string, int> counts;
  std::vector<int> occurrences;
  for (const ptx::Text& text : kernel.texts) occurrences.push_back(++counts[text.text]);
  return occurrences;
}

// Rewritten as a whole; called when the process ends in order, which _exit does not.
void write_report() {
  std::ofstream file(configuration().report + "." + std::to_string(getpid()));
  const std::lock_guard lock(report().mutex);
  for (const auto& [name, w] : report().work) {
    size_t reached = 0;
    for (const ptx::u64 runs : w.runs) reached += runs != 0;
    file << fmt::format("{} launches, {} blocks, {} warp instructions, {:.3f} s, {} of {} reached: {}\n",
                        w.launches, w.blocks, w.instructions, w.seconds, reached, w.runs.size(), name);
    const std::vector<int> occurrences = count_occurrences(*w.kernel);
    for (size_t i = 0; i < w.runs.size(); ++i) {
      const ptx::u32 line = w.kernel->code[i].line;
      const ptx::Text& text = w.kernel->texts[line];
      if (w.runs[i] == 0) file << fmt::format("    {}: {} #{}\n", text.where, text.text, occurrences[line]);
    }
  }
}

}  // namespace

void note_run(const std::string& name, const ptx::Launch& launch, const ptx::Statistics& done,
              Nanoseconds host_nanoseconds) {
  if (configuration().report.empty()) return;
  static const int at_exit = std::atexit(write_report);
  static_cast<void>(at_exit);
  const std::lock_guard lock(report().mutex);
  Work& w = report().work[name];
  w.kernel = launch.kernel;
  ++w.launches;
  w.blocks += ptx::u64{launch.grid.x} * launch.grid.y * launch.grid.z;
  w.instructions += done.warp_instructions;
  w.seconds += 1e-9 * static_cast<double>(host_nanoseconds);
  w.runs.resize(done.runs.size());
  for (size_t i = 0; i < done.runs.size(); ++i) w.runs[i] += done.runs[i];
}

}  // namespace convscope::standin
