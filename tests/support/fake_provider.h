#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/guarded.h"
#include "providers/provider.h"

namespace geonce {

/// A provider in this process. Calls end in the order of their time on a thread of its own, as with
/// the HTTP client; the bill is written when the first byte has left.
class FakeProvider : public Provider {
 public:
  explicit FakeProvider(std::string name) {
    traits_.name = std::move(name);
    traits_.terms.keep = Terms::Keep::unlimited;
    traits_.price_single = traits_.price_bulk = {500};
    thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
  }
  ~FakeProvider() override {
    {
      // Under the lock: a call to wake between the look at the token and the sleep would be lost.
      const std::lock_guard lock(mutex_);
      thread_.request_stop();
    }
    wake_.notify_all();
  }

  // Set before the first call.
  ProviderTraits traits_;
  std::chrono::milliseconds latency{0};
  /// What comes back; status 200 is decoded by `know`, the others by their usual meaning.
  std::function<Transfer(std::span<const ProviderAsk>, bool bulk)> respond =
      [](std::span<const ProviderAsk>, bool) { return with_status(200); };
  std::function<Outcome(const ProviderAsk&)> know = [](const ProviderAsk& ask) {
    return match(ask.query.one_line());
  };
  /// Runs right before the first byte.
  std::function<void()> before_sending = [] {};

  static Transfer with_status(int status) {
    Transfer transfer;
    transfer.end = TransferEnd::complete;
    transfer.response.status = status;
    return transfer;
  }
  static Transfer lost() {
    Transfer transfer;
    transfer.end = TransferEnd::lost;
    transfer.error = "connection reset";
    return transfer;
  }
  static Transfer unreachable() {
    Transfer transfer;
    transfer.end = TransferEnd::not_sent;
    transfer.error = "connection refused";
    return transfer;
  }
  static Outcome match(const std::string& formatted) {
    Outcome outcome;
    outcome.kind = OutcomeKind::match;
    outcome.answer.kind = AnswerKind::match;
    outcome.answer.at = LatLng{59.9, 10.7};
    outcome.answer.precision = Precision::rooftop;
    outcome.answer.formatted = formatted;
    outcome.billed = Billed::yes;
    outcome.price = {500};
    outcome.http_status = 200;
    return outcome;
  }
  static Outcome no_match() {
    Outcome outcome = match({});
    outcome.kind = OutcomeKind::no_match;
    outcome.answer = {};
    return outcome;
  }
  static Outcome refused(FailureClass failure, int status) {
    Outcome outcome;
    outcome.kind = OutcomeKind::refused;
    outcome.failure = failure;
    outcome.http_status = status;
    outcome.reason = "HTTP " + std::to_string(status);
    outcome.billed = Billed::no;
    return outcome;
  }

  /// From now on answers wait until `open`.
  void hold() {
    const std::lock_guard lock(mutex_);
    is_held_ = true;
  }
  void open() {
    {
      const std::lock_guard lock(mutex_);
      is_held_ = false;
    }
    wake_.notify_all();
  }
  /// Until `count` calls have been billed.
  void wait_for_calls(std::size_t count) {
    std::unique_lock lock(mutex_);
    billed_.wait(lock, [&] { return bill_.size() >= count; });
  }
  /// One line per call that left: what it asked.
  [[nodiscard]] std::vector<std::vector<std::string>> bill() const {
    const std::lock_guard lock(mutex_);
    return bill_;
  }
  [[nodiscard]] std::size_t lookups() const {
    std::size_t count = 0;
    for (const auto& call : bill()) count += call.size();
    return count;
  }
  [[nodiscard]] std::size_t most_at_once() const {
    const std::lock_guard lock(mutex_);
    return most_at_once_;
  }

  [[nodiscard]] const ProviderTraits& traits() const override { return traits_; }

  Result<void> call(std::span<const ProviderAsk> asks,
                    bool bulk,
                    Deadline /*deadline*/,
                    std::function<bool()> sending,
                    std::function<void(Transfer)> done) override {
    Pending pending;
    pending.due = std::chrono::steady_clock::now();
    pending.asks.assign(asks.begin(), asks.end());
    pending.bulk = bulk;
    pending.sending = std::move(sending);
    pending.done = std::move(done);
    {
      const std::lock_guard lock(mutex_);
      pending_.push_back(std::move(pending));
      most_at_once_ = std::max(most_at_once_, pending_.size());
    }
    wake_.notify_all();
    return {};
  }

  [[nodiscard]] std::vector<Outcome> decode(const Transfer& transfer,
                                            std::span<const ProviderAsk> asks,
                                            bool /*bulk*/) const override {
    std::vector<Outcome> outcomes;
    for (const ProviderAsk& ask : asks) {
      switch (transfer.response.status) {
        case 200:
          outcomes.push_back(know(ask));
          break;
        case 400:
          outcomes.push_back(refused(FailureClass::permanent, 400));
          break;
        case 401:
          outcomes.push_back(refused(FailureClass::fatal, 401));
          break;
        case 429:
          outcomes.push_back(refused(FailureClass::retry_after, 429));
          outcomes.back().delay = std::chrono::milliseconds{300};
          break;
        default:
          outcomes.push_back(refused(FailureClass::retry, transfer.response.status));
      }
    }
    return outcomes;
  }

 private:
  struct Pending {
    std::chrono::steady_clock::time_point due;
    std::vector<ProviderAsk> asks;
    bool bulk = false;
    bool has_left = false;
    Transfer transfer;
    std::function<bool()> sending;
    std::function<void(Transfer)> done;
  };

  void run(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (!stop.stop_requested()) {
      const auto now = std::chrono::steady_clock::now();
      const auto next = std::find_if(pending_.begin(), pending_.end(), [&](const Pending& pending) {
        return pending.due <= now && (!pending.has_left || !is_held_);
      });
      if (next == pending_.end()) {
        auto until = now + std::chrono::hours{1};
        for (const Pending& pending : pending_)
          if (pending.due > now) until = std::min(until, pending.due);
        wake_.wait_until(lock, until);
        continue;
      }
      Pending pending = std::move(*next);
      pending_.erase(next);
      lock.unlock();
      if (pending.has_left) {
        pending.done(std::move(pending.transfer));
        lock.lock();
        continue;
      }
      before_sending();
      pending.transfer = respond(pending.asks, pending.bulk);
      const bool leaves = pending.transfer.end != TransferEnd::not_sent && pending.sending();
      if (!leaves) {
        if (pending.transfer.end != TransferEnd::not_sent) pending.transfer = unreachable();
        pending.done(std::move(pending.transfer));
        lock.lock();
        continue;
      }
      lock.lock();
      std::vector<std::string> line;
      for (const ProviderAsk& ask : pending.asks) line.push_back(ask.query.one_line());
      bill_.push_back(std::move(line));
      billed_.notify_all();
      pending.has_left = true;
      pending.due = std::chrono::steady_clock::now() + latency;
      pending_.push_back(std::move(pending));
    }
  }

  mutable std::mutex mutex_;
  std::condition_variable wake_, billed_;
  std::vector<Pending> pending_;
  std::vector<std::vector<std::string>> bill_;
  std::size_t most_at_once_ = 0;
  bool is_held_ = false;
  std::jthread thread_;  // last: uses all of the above
};

}  // namespace geonce
