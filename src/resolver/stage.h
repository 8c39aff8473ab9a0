#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace geonce {

/// A queue and the threads that empty it (D4). A thread takes everything that waits, up to a limit,
/// and makes one call of it: load makes batches larger, and nothing ever waits for a batch to fill.
template <class T>
class Stage {
 public:
  /// work     given what was taken; called from one of `threads` threads
  /// most     the weight one call may have; one item that is heavier goes alone
  /// weight   of an item
  Stage(
      std::size_t threads,
      std::size_t most,
      std::function<void(std::vector<T>)> work,
      std::function<std::size_t(const T&)> weight = [](const T&) { return std::size_t{1}; })
      : most_(most), work_(std::move(work)), weight_(std::move(weight)) {
    for (std::size_t i = 0; i < threads; ++i) threads_.emplace_back([this] { run(); });
  }
  ~Stage() { stop(); }
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  void push(T item) {
    {
      const std::lock_guard lock(mutex_);
      waiting_.push_back(std::move(item));
    }
    wake_.notify_one();
  }

  /// Works off what waits, then ends the threads.
  void stop() {
    {
      const std::lock_guard lock(mutex_);
      is_stopping_ = true;
    }
    wake_.notify_all();
    threads_.clear();  // joins
  }

 private:
  void run() {
    for (;;) {
      std::vector<T> taken;
      {
        std::unique_lock lock(mutex_);
        wake_.wait(lock, [this] { return !waiting_.empty() || is_stopping_; });
        if (waiting_.empty()) return;
        std::size_t total = 0;
        while (!waiting_.empty()) {
          total += weight_(waiting_.front());
          if (!taken.empty() && total > most_) break;
          taken.push_back(std::move(waiting_.front()));
          waiting_.pop_front();
        }
      }
      work_(std::move(taken));
    }
  }

  const std::size_t most_;
  const std::function<void(std::vector<T>)> work_;
  const std::function<std::size_t(const T&)> weight_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<T> waiting_;
  bool is_stopping_ = false;
  std::vector<std::jthread> threads_;
};

}  // namespace geonce
