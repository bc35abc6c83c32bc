#include "bench/parallel/fabric/mpi_job.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <charconv>
#include <cstdlib>
#include <exception>
#include <optional>
#include <string_view>
#include <utility>

#include "bench/core/error.hpp"
#include "bench/parallel/fabric/beside_program.hpp"
#include "bench/parallel/fabric/heartbeat.hpp"

namespace convscope {
namespace {

std::optional<int> number_in(const char* variable) {
  const char* text = std::getenv(variable);
  if (text == nullptr) return std::nullopt;
  const std::string_view digits(text);
  int number = 0;
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (read.ec != std::errc() || read.ptr != digits.data() + digits.size()) return std::nullopt;
  return number;
}

void check_size(OwnedJob& job) {
  const Launch launched = launch();
  if (job->size() == launched.size) return;
  const std::string message = fmt::format(
      "{} says that {} ranks were started, and {} finds {}: each would run by itself. Start them with "
      "mpirun -np {}, or with srun --mpi=pmix where MPI was built with PMIx; one process alone with srun "
      "--ntasks=1",
      launched.says_size, launched.size, job->library(), job->size(), launched.size);
  job.reset();  // by itself; while an exception is under way it aborts
  throw UsageError(message);
}

}  // namespace

Launch launch() {
  constexpr const char* kVariables[][2] = {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                           {"PMI_RANK", "PMI_SIZE"},
                                           {"SLURM_PROCID", "SLURM_NTASKS"}};
  for (const auto& [rank, size] : kVariables) {
    const auto r = number_in(rank), n = number_in(size);
    if (r && n && *r >= 0 && *r < *n) return {*r, *n, size};
  }
  return {};
}

void EndsJob::operator()(MpiJob* job) const {
  std::vector<RankPlace> awaited = job->places;
  if (job->rank() != 0 && !awaited.empty()) awaited.resize(1);
  std::optional<JobWatch> watch;
  if (std::uncaught_exceptions() == 0)  // which MPI's end breaks the job off for
    watch.emplace(job->rank(), std::move(awaited), true, nullptr);
  delete job;
}

OwnedJob start_mpi(std::string& why_not) {
  const std::string module = beside_program("convscope_mpi.so");
  if (module.empty()) {
    why_not = "this program was built without MPI; on Debian: apt install libopenmpi-dev, and build again";
    return nullptr;
  }
  // Global, since Open MPI opens parts of itself that look for its symbols.
  void* library = dlopen(module.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) {
    why_not = fmt::format("{} cannot be opened: {}", module, dlerror());
    return nullptr;
  }
  using Start = MpiJob* (*)();
  const auto start = reinterpret_cast<Start>(dlsym(library, "convscope_start_mpi"));
  if (start == nullptr) {
    why_not = module + " is of another version of this program; build again";
    return nullptr;
  }
  OwnedJob job;
  {
    JobWatch watch(launch().rank, {}, true, nullptr);
    watch.beat("starting MPI", kLongestStart);
    job.reset(start());
  }
  check_size(job);
  return job;
}

std::unique_ptr<Fabric> met_ranks(MpiJob& job, uint64_t hash, std::chrono::nanoseconds limit) {
  JobWatch watch(job.rank(), {}, true, nullptr);
  watch.beat("meeting the other ranks", limit);
  std::unique_ptr<Fabric> fabric = job.first_ranks(job.size());
  WatchedFabric watched(*fabric, watch);
  if (!same_on_all_ranks(watched, hash))
    throw UsageError("the ranks differ in their program, config or flags; start all with the same");
  job.places = gathered_places(watched);
  start_heartbeat(watched, job.places);
  return fabric;
}

}  // namespace convscope
