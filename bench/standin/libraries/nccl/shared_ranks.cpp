#include "bench/standin/libraries/nccl/shared_ranks.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <vector>

namespace convscope::standin {
namespace {

constexpr size_t kSlotBytes = size_t{64} << 10;  // of one message on its way; longer ones go in parts
constexpr size_t kSlotValues = kSlotBytes / sizeof(float);

}  // namespace

// New memory is zeros, which is how all of it begins.
struct SharedMemory {
  struct Slot {
    std::atomic<size_t> bytes;  // 0: free
    std::byte data[kSlotBytes];
  };
  std::atomic<int> joined;
  std::atomic<int> arrived;        // at the barrier
  std::atomic<unsigned> barriers;  // that are over
  float values[kMaxRanks][kSlotValues];
  Slot slots[kMaxRanks][kMaxRanks];  // from, to
};

SharedRanks::SharedRanks(const std::string& name, int rank, int ranks) : rank_(rank), ranks_(ranks) {
  const int file = shm_open(name.c_str(), O_RDWR | O_CREAT, 0600);
  if (file < 0) throw std::runtime_error("shm_open failed");
  const bool has_size = ftruncate(file, sizeof(SharedMemory)) == 0;
  void* mapped = has_size ? mmap(nullptr, sizeof(SharedMemory), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0)
                          : MAP_FAILED;
  close(file);
  if (mapped == MAP_FAILED) throw std::runtime_error("there is no memory to share");
  memory_ = static_cast<SharedMemory*>(mapped);
  ++memory_->joined;
  wait_until([&] { return memory_->joined >= ranks_; });
  shm_unlink(name.c_str());  // all have it open; the first to come here takes the name away
}

SharedRanks::~SharedRanks() {
  munmap(memory_, sizeof(SharedMemory));
}

bool SharedRanks::wait_until(const std::function<bool()>& is_so) const {
  for (int tries = 0; !is_so(); ++tries) {
    if (aborted_) return false;
    if (tries < 200)
      sched_yield();
    else
      usleep(50);
  }
  return true;
}

bool SharedRanks::barrier() {
  const unsigned before = memory_->barriers;
  if (memory_->arrived.fetch_add(1) + 1 == ranks_) {
    memory_->arrived = 0;
    ++memory_->barriers;
    return true;
  }
  return wait_until([&] { return memory_->barriers != before; });
}

void SharedRanks::sum(std::span<const float> from, std::span<float> to) {
  for (size_t begin = 0; begin < from.size(); begin += kSlotValues) {
    const size_t count = std::min(kSlotValues, from.size() - begin);
    std::memcpy(memory_->values[rank_], from.data() + begin, count * sizeof(float));
    if (!barrier()) return;
    for (size_t i = 0; i < count; ++i) {
      float total = memory_->values[0][i];
      for (int rank = 1; rank < ranks_; ++rank) total += memory_->values[rank][i];
      to[begin + i] = total;
    }
    if (!barrier()) return;
  }
}

void SharedRanks::exchange(std::span<const Sent> sent, std::span<const Received> received) {
  std::vector<size_t> out(sent.size()), in(received.size());  // bytes done
  // One step of every message that can go on; whether all are done.
  const auto is_done = [&] {
    bool done = true;
    for (size_t i = 0; i < sent.size(); ++i) {
      auto& slot = memory_->slots[rank_][sent[i].to];
      const size_t left = sent[i].bytes.size() - out[i];
      if (left > 0 && slot.bytes == 0) {
        const size_t part = std::min(left, kSlotBytes);
        std::memcpy(slot.data, sent[i].bytes.data() + out[i], part);
        slot.bytes = part;
        out[i] += part;
      }
      done &= out[i] == sent[i].bytes.size();
    }
    for (size_t i = 0; i < received.size(); ++i) {
      auto& slot = memory_->slots[received[i].from][rank_];
      const size_t left = received[i].bytes.size() - in[i], part = slot.bytes;
      if (left > 0 && part > 0) {
        std::memcpy(received[i].bytes.data() + in[i], slot.data, std::min(left, part));
        slot.bytes = 0;
        in[i] += std::min(left, part);
      }
      done &= in[i] == received[i].bytes.size();
    }
    return done;
  };
  wait_until(is_done);
}

}  // namespace convscope::standin
