#include "resolver/timer.h"

#include <algorithm>
#include <utility>

namespace geonce {

Timer::Timer(const Clock& clock) : clock_(clock), thread_([this] { run(); }) {}

Timer::~Timer() { stop(); }

void Timer::at(Mono when, Hurry hurry, std::function<void()> deed) {
  bool is_first = false;
  {
    const std::lock_guard lock(mutex_);
    if (hurries(hurry)) when = Mono::min();
    is_first = heap_.empty() || when < heap_.front().when;
    heap_.push_back({when, next_number_++, hurry, std::move(deed)});
    std::push_heap(heap_.begin(), heap_.end());
  }
  if (is_first) wake_.notify_one();
}

void Timer::hurry(Hurry which) {
  {
    const std::lock_guard lock(mutex_);
    (which == Hurry::on_stop ? stops_ : drains_) = true;
    for (Entry& entry : heap_)
      if (hurries(entry.hurry)) entry.when = Mono::min();
    std::make_heap(heap_.begin(), heap_.end());
  }
  wake_.notify_one();
}

void Timer::stop() {
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
  }
  wake_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void Timer::run() {
  std::unique_lock lock(mutex_);
  while (!is_stopping_) {
    if (heap_.empty()) {
      wake_.wait(lock);
      continue;
    }
    const Mono now = clock_.now();
    if (heap_.front().when > now) {
      wake_.wait_for(lock, heap_.front().when - now);
      continue;
    }
    std::pop_heap(heap_.begin(), heap_.end());
    const Entry entry = std::move(heap_.back());
    heap_.pop_back();
    lock.unlock();
    entry.deed();
    lock.lock();
  }
}

}  // namespace geonce
