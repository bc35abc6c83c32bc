// The module convscope_mpi.so: all that calls MPI. A fault of MPI ends all ranks of the job, as is its
// default.
#include <mpi.h>

#include <algorithm>
#include <exception>
#include <utility>
#include <vector>

#include "bench/parallel/fabric/mpi_job.hpp"

namespace convscope {
namespace {

// A count of MPI is an int.
constexpr size_t kLargestPart = size_t{1} << 30;

class MpiFabric final : public Fabric {
 public:
  explicit MpiFabric(MPI_Comm ranks) : ranks_(ranks) {
    MPI_Comm_rank(ranks_, &rank_);
    MPI_Comm_size(ranks_, &size_);
  }
  ~MpiFabric() override { MPI_Comm_free(&ranks_); }
  MpiFabric(const MpiFabric&) = delete;
  MpiFabric& operator=(const MpiFabric&) = delete;

  int rank() const override { return rank_; }
  int size() const override { return size_; }

  void exchange(std::span<const Outgoing> sent, std::span<const Incoming> received) override {
    requests_.clear();
    for (const Incoming& message : received)
      for (size_t at = 0; at < message.bytes.size(); at += kLargestPart)
        MPI_Irecv(message.bytes.data() + at, part(message.bytes.size() - at), MPI_BYTE, message.from, 0,
                  ranks_, &requests_.emplace_back());
    for (const Outgoing& message : sent)
      for (size_t at = 0; at < message.bytes.size(); at += kLargestPart)
        MPI_Isend(message.bytes.data() + at, part(message.bytes.size() - at), MPI_BYTE, message.to, 0, ranks_,
                  &requests_.emplace_back());
    MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE);
  }

  bool has_all_reduce() const override { return true; }
  void library_all_reduce(std::span<float> values) override {
    constexpr size_t max_values = kLargestPart;
    for (size_t at = 0; at < values.size(); at += max_values)
      MPI_Allreduce(MPI_IN_PLACE, values.data() + at,
                    static_cast<int>(std::min(max_values, values.size() - at)), MPI_FLOAT, MPI_SUM, ranks_);
  }

 private:
  static int part(size_t left) { return static_cast<int>(std::min(left, kLargestPart)); }

  MPI_Comm ranks_;
  int rank_ = 0, size_ = 1;
  std::vector<MPI_Request> requests_;
};

class Job final : public MpiJob {
 public:
  Job() {
    int provided = 0;
    // Serialized: gradients are summed on a thread of their own while another computes.
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided);
    takes_any_thread_ = provided >= MPI_THREAD_SERIALIZED;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
    MPI_Comm node = MPI_COMM_NULL;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &node);
    MPI_Comm_rank(node, &local_rank_);
    MPI_Comm_free(&node);
  }
  // Where this rank goes down with an exception, the others would wait for it.
  ~Job() override {
    if (std::uncaught_exceptions() > 0) MPI_Abort(MPI_COMM_WORLD, 2);
    MPI_Finalize();
  }
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  int local_rank() const override { return local_rank_; }
  std::string library() const override {
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int length = 0;
    MPI_Get_library_version(text, &length);
    const std::string all(text, static_cast<size_t>(length));
    std::string first = all.substr(0, all.find_first_of(",\n"));  // "Open MPI v4.1.4, package: ..."
    if (first.starts_with("Open MPI v")) first.erase(9, 1);
    return first;
  }
  bool takes_any_thread() const override { return takes_any_thread_; }
  std::unique_ptr<Fabric> first_ranks(int n) override {
    MPI_Comm ranks = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, rank_ < n ? 0 : MPI_UNDEFINED, rank_, &ranks);
    return ranks == MPI_COMM_NULL ? nullptr : std::make_unique<MpiFabric>(ranks);
  }

 private:
  int rank_ = 0, size_ = 1, local_rank_ = 0;
  bool takes_any_thread_ = false;
};

}  // namespace
}  // namespace convscope

extern "C" convscope::MpiJob* convscope_start_mpi() {
  return new convscope::Job;
}
