#include "bench/parallel/fabric/job_watch.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <semaphore.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>
#include <system_error>
#include <utility>

#include "bench/parallel/fabric/heartbeat.hpp"

namespace convscope {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Between two looks. A rank that computes shares its cores with the watch, which must not look often.
constexpr milliseconds kPeriod{500};
constexpr seconds kShortestLimit{7};
constexpr size_t kNamedRanks = 4;
constexpr milliseconds kForTheRecordOfAnEnd{500};  // mpirun kills a second after it has asked ranks to end
// After how many looks of the heartbeat a rank that gave no sign ends the job, and is named where something
// else ends it.
constexpr int kLongestSilence = 12, kNamedSilence = 6;
constexpr int kLost = 2, kStopped = 128 + SIGTERM;

std::atomic<bool> is_asked_to_end = false;
static_assert(std::atomic<bool>::is_always_lock_free);  // for a signal's handler

// What wakes the watches of this process before their next look. Never destroyed: a handler may use it late.
sem_t* wake_up() {
  static sem_t wake_up;
  static const int made = sem_init(&wake_up, 0, 0);
  static_cast<void>(made);
  return &wake_up;
}

void ask_to_end(int) {
  is_asked_to_end = true;
  sem_post(wake_up());
}

// Whether nothing woke it before a whole period was over.
bool sleep_a_period() {
  timespec until{};
  clock_gettime(CLOCK_MONOTONIC, &until);
  until.tv_nsec += std::chrono::nanoseconds(kPeriod).count();
  until.tv_sec += until.tv_nsec / 1'000'000'000;
  until.tv_nsec %= 1'000'000'000;
  while (sem_clockwait(wake_up(), CLOCK_MONOTONIC, &until) != 0)
    if (errno != EINTR) return true;
  return false;
}

// 'R', 'S', 'T', 'Z', ...; 0 where there is no such process.
char state_of(int process) {
  std::ifstream file(fmt::format("/proc/{}/stat", process));
  std::string line;
  if (!std::getline(file, line)) return 0;
  const size_t name_end = line.rfind(')');  // the name may have any characters in it
  return name_end != std::string::npos && name_end + 2 < line.size() ? line[name_end + 2] : 0;
}

// What the space begins with; "" where it is not known.
std::string_view boot_of(const RankPlace& place) {
  return std::string_view(place.space).substr(0, place.space.find("pid:"));
}

bool is_seen(const RankPlace& rank, const RankPlace& from) {
  return !from.space.empty() && is_beside(rank, from);
}

// Those that the heartbeat misses; threads of one process have none.
std::string missed_ranks(std::span<const RankPlace> ranks, bool are_processes, int looks) {
  return are_processes ? silent_ranks(ranks, heartbeat_silences(), looks) : "";
}

// By all that this process can tell.
std::string lost_or_missed_ranks(std::span<const RankPlace> ranks, bool are_processes) {
  const std::string lost = lost_ranks(ranks), silent = missed_ranks(ranks, are_processes, kNamedSilence);
  return lost + (lost.empty() || silent.empty() ? "" : ", ") + silent;
}

std::string text_of(size_t rank, const RankPlace& place) {
  return fmt::format("rank {} (process {} on {})", rank, place.process, place.host);
}

}  // namespace

RankPlace this_place() {
  char name[256] = {};
  gethostname(name, sizeof name - 1);
  std::string boot;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), boot);
  std::error_code failed;
  const std::string numbers = std::filesystem::read_symlink("/proc/self/ns/pid", failed);
  const bool is_seen = !boot.empty() && !failed && state_of(getpid()) != 0;
  return {name, static_cast<int>(getpid()), is_seen ? boot + numbers : ""};
}

bool is_beside(const RankPlace& one, const RankPlace& other) {
  return one.host == other.host && one.space == other.space;
}

bool is_on_one_machine(const RankPlace& one, const RankPlace& other) {
  if (is_beside(one, other)) return true;
  return one.space != other.space && !boot_of(one).empty() && boot_of(one) == boot_of(other);
}

std::vector<RankPlace> gathered_places(Fabric& fabric) {
  const RankPlace mine = this_place();
  std::vector<RankPlace> places;
  const std::string text = fmt::format("{}\n{}\n{}", mine.process, mine.space, mine.host);
  for (const std::string& lines : gathered_texts(fabric, text)) {
    std::istringstream in(lines);
    RankPlace& place = places.emplace_back();
    in >> place.process;
    in.ignore();
    std::getline(in, place.space);
    std::getline(in, place.host);
  }
  return places;
}

std::string lost_ranks(std::span<const RankPlace> ranks) {
  const RankPlace here = this_place();
  std::vector<std::string> lost;
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    if (!is_seen(ranks[rank], here)) continue;
    const char state = state_of(ranks[rank].process);
    const bool is_gone = state == 0 || state == 'Z' || state == 'X', is_stopped = state == 'T';
    if (is_gone || is_stopped)
      lost.push_back(text_of(rank, ranks[rank]) + (is_gone ? " is gone" : " is stopped"));
  }
  return fmt::format("{}", fmt::join(lost, ", "));
}

std::string unseen_ranks(std::span<const RankPlace> ranks) {
  const RankPlace here = this_place();
  std::vector<std::string> unseen;
  for (size_t rank = 0; rank < ranks.size(); ++rank)
    if (!is_seen(ranks[rank], here)) unseen.push_back(text_of(rank, ranks[rank]));
  const size_t named = std::min(unseen.size(), kNamedRanks);
  return fmt::format("{}{}",
                     fmt::join(unseen.begin(), unseen.begin() + static_cast<std::ptrdiff_t>(named), ", "),
                     named < unseen.size() ? fmt::format(" and {} more", unseen.size() - named) : "");
}

std::chrono::nanoseconds stall_limit(int64_t bytes, double slowest) {
  const std::chrono::duration<double> sending(static_cast<double>(bytes) / slowest);
  return kShortestLimit + std::chrono::duration_cast<std::chrono::nanoseconds>(sending);
}

std::chrono::nanoseconds stall_limit_beside(double seconds) {
  const std::chrono::duration<double> expected(4 * seconds);
  return kShortestLimit + std::chrono::duration_cast<std::chrono::nanoseconds>(expected);
}

JobWatch::JobWatch(int rank, std::vector<RankPlace> ranks, bool is_process, AtEnd at_end)
    : rank_(rank),
      ranks_(std::move(ranks)),
      is_process_(is_process),
      at_end_(std::move(at_end)),
      thread_([this] { watch(); }) {
  wake_up();  // made before a handler needs it
  // A handler and no blocked signal: MPI's threads are there already, and the signal may come to any.
  if (is_process_) std::signal(SIGTERM, ask_to_end);
}

JobWatch::~JobWatch() {
  // Where the rank ends with an exception its record is still to be written.
  if (is_process_) std::signal(SIGTERM, std::uncaught_exceptions() > 0 ? SIG_IGN : SIG_DFL);
  ends_ = true;
  sem_post(wake_up());
  thread_.join();
}

void JobWatch::beat(std::string stage, std::chrono::nanoseconds limit) {
  const std::lock_guard lock(mutex_);
  stage_ = std::move(stage);
  limit_ = limit;
  beat();
}

void JobWatch::rest() {
  beat();
  rests_at_ = beats_.load();
}

void JobWatch::watch() {
  while (!ends_) {
    const bool is_look = sleep_a_period();
    if (ends_) return;
    if (is_process_ && is_asked_to_end) {
      const std::string lost = lost_or_missed_ranks(ranks_, is_process_);
      if (!lost.empty()) end("rank_lost", "the job was ended: " + lost, kStopped);
      const std::string unseen = unseen_ranks(ranks_);
      end("stopped",
          "the job was ended, by a signal" +
              (unseen.empty()
                   ? ""
                   : fmt::format("; not seen from rank {}: {}; where one of them was lost, it is named "
                                 "in what the job printed, by ranks of its host",
                                 rank_, unseen)),
          kStopped);
    }
    if (!is_look) continue;
    end_if_lost();
    end_if_late();
  }
}

// Here and below looks are counted, and not time: where the whole job was stopped, all of it was for as long.
void JobWatch::end_if_lost() {
  const std::string lost = lost_ranks(ranks_), silent = missed_ranks(ranks_, is_process_, kLongestSilence);
  looks_with_loss_ = lost.empty() ? 0 : looks_with_loss_ + 1;
  if (silent.empty() && looks_with_loss_ * kPeriod < kLongestLoss) return;
  std::string note = silent.empty() ? fmt::format("{}, seen for {} s", lost, kLongestLoss.count())
                                    : silent + (lost.empty() ? "" : ", " + lost);
  {
    const std::lock_guard lock(mutex_);
    if (!stage_.empty()) note += fmt::format("; rank {} was in {}", rank_, stage_);
  }
  end("rank_lost", note, kLost);
}

void JobWatch::end_if_late() {
  const uint64_t beats = beats_;
  looks_without_beat_ = beats == beats_seen_ ? looks_without_beat_ + 1 : 0;
  beats_seen_ = beats;
  const auto waited = looks_without_beat_ * kPeriod;
  std::string note;
  {
    const std::lock_guard lock(mutex_);
    if (beats == rests_at_ || limit_.count() == 0 || waited < limit_) return;
    note = fmt::format("rank {} waited {} s in {}", rank_,
                       std::chrono::duration_cast<seconds>(waited).count(), stage_);
  }
  const std::string lost = lost_or_missed_ranks(ranks_, is_process_), unseen = unseen_ranks(ranks_);
  if (!lost.empty())
    note += "; " + lost;
  else if (!unseen.empty())
    note += fmt::format("; not seen from rank {}: {}", rank_, unseen);
  end(lost.empty() ? "timeout" : "rank_lost", note, kLost);
}

void JobWatch::end(const std::string& reason, const std::string& note, int code) {
  try {
    if (at_end_)
      at_end_(reason, note);
    else if (missed_ranks(ranks_, is_process_, kNamedSilence).empty())  // else rank 0 is lost, which reports
      std::this_thread::sleep_for(code == kStopped ? kForTheRecordOfAnEnd : kForTheRecord);
  } catch (const std::exception& error) {  // the record could not be written
    std::fprintf(stderr, "convscope: %s\n", error.what());
  }
  // Of a job that a signal ends, one rank says so.
  if (code != kStopped || at_end_) {
    const std::string line = fmt::format("convscope: {}: {}\n", reason, note);
    std::fwrite(line.data(), 1, line.size(), stderr);
    std::fflush(stderr);
  }
  std::_Exit(code);
}

}  // namespace convscope
