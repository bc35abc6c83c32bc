// The hidden verb `worker`: the child process that runs one group of candidates (bench/runner/worker).
#include "bench/runner/worker.hpp"

#include "bench/cli/verbs.hpp"

namespace convscope {
namespace {

struct WorkerOptions {
  pid_t parent = 0;
};

int work(const WorkerOptions& options, const Program& program) {
  return worker_main(program.registry, options.parent, program.device_maker);
}

void add_flags(CLI::App& verb, WorkerOptions& options) {
  verb.add_option("PARENT", options.parent)->required();
}

}  // namespace

Verb worker_verb() {
  return make_verb<WorkerOptions>("worker", "", add_flags, work);
}

}  // namespace convscope
