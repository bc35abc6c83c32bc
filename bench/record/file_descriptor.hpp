// FileDescriptor: an open file, pipe end or signal descriptor with one owner, which closes it. Opening,
// reading and writing are the caller's business.
#pragma once

#include <unistd.h>

#include <utility>

namespace convscope {

class FileDescriptor {
 public:
  FileDescriptor() = default;
  // Takes over what open(), pipe() and their like returned; negative is none.
  explicit FileDescriptor(int number) : number_(number) {}
  FileDescriptor(FileDescriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~FileDescriptor() {
    if (number_ >= 0) close(number_);
  }

  int get() const { return number_; }
  bool is_open() const { return number_ >= 0; }

 private:
  int number_ = -1;
};

}  // namespace convscope
