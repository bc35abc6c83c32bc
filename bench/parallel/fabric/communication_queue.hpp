// CommunicationQueue: a thread that communicates while others compute. What is posted runs on it one after
// the other, in order.
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

namespace convscope {

class CommunicationQueue {
 public:
  // `before` runs first on the thread, to pin it.
  explicit CommunicationQueue(std::function<void()> before = {});
  // Runs what was posted before it ends.
  ~CommunicationQueue();
  CommunicationQueue(const CommunicationQueue&) = delete;
  CommunicationQueue& operator=(const CommunicationQueue&) = delete;

  void post(std::function<void()> work);
  // Returns when all that was posted is done; throws what one of it threw, and then nothing that was posted
  // behind it was run.
  void wait();

 private:
  void run(const std::function<void()>& before);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> posted_;  // the first one is under way
  std::exception_ptr failure_;
  bool is_over_ = false;
  std::thread thread_;  // last: it uses the others
};

}  // namespace convscope
