// RowKeeper: the rows of a job of several ranks so far, and the folder they go to. Where the job ends in
// between, on another thread, those under way are kept as failed.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "bench/parallel/network/basis.hpp"
#include "bench/record/row_files.hpp"

namespace convscope {

// A Row has `outcome`, `reason`, `note` and has_samples(), whether there is a time of it already.
template <typename Row>
class RowKeeper {
 public:
  // Null where nothing is written, as on the ranks that do not report.
  explicit RowKeeper(std::unique_ptr<RowFolder<Row>> folder) : folder_(std::move(folder)) {}

  void begin(const std::vector<Row>& rows) {
    const std::lock_guard lock(mutex_);
    if (!has_failed_) under_way_ = rows;
  }
  // Those under way, with what they are after the rounds that are complete; writes the files.
  void so_far(const std::vector<Row>& rows) {
    const std::lock_guard lock(mutex_);
    if (has_failed_) return;
    under_way_ = rows;
    write();
  }
  void done(const std::vector<Row>& rows) {
    const std::lock_guard lock(mutex_);
    if (has_failed_) return;
    under_way_.clear();
    for (const Row& row : rows) add(row);
  }
  // Of the rows under way those that have no time yet; the note is of all of them. Writes the files, and no
  // row after these.
  void fail(const std::string& reason, const std::string& note) {
    const std::lock_guard lock(mutex_);
    has_failed_ = true;
    for (Row& row : under_way_) {
      if (row.outcome == RowOutcome::good && !row.has_samples()) {
        row.outcome = RowOutcome::failed;
        row.reason = reason;
      }
      row.note += row.note.empty() ? note : "; " + note;
      add(row);
    }
    under_way_.clear();
    write();
  }
  // Writes the files, and what there is.
  std::vector<Row> finish() {
    const std::lock_guard lock(mutex_);
    write();
    return all_;
  }
  bool has_folder() const { return folder_ != nullptr; }

 private:
  void add(const Row& row) {
    if (folder_) folder_->add(row);
    all_.push_back(row);
  }
  void write() {
    if (!folder_) return;
    std::vector<Row> rows = all_;
    rows.insert(rows.end(), under_way_.begin(), under_way_.end());
    folder_->finish(rows);
  }

  std::mutex mutex_;
  std::vector<Row> all_, under_way_;
  bool has_failed_ = false;
  std::unique_ptr<RowFolder<Row>> folder_;
};

}  // namespace convscope
