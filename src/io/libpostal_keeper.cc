#include "io/libpostal_keeper.h"

#include <algorithm>
#include <cmath>

#include <poll.h>

namespace geonce {
namespace {

using Kind = PostalMessage::Kind;
using std::chrono::milliseconds;

constexpr std::size_t kAhead = 64;  // questions that are given before the first is answered
// The process ends itself a little later than it would be ended, where nobody does.
constexpr milliseconds kGrace{1'000};
constexpr milliseconds kLastBreath{500};  // from the end of its socket to the end of the process

int with_grace(milliseconds limit) {
  constexpr milliseconds kDay = std::chrono::hours{24};
  return static_cast<int>((std::min(limit, kDay) + kGrace).count());
}

std::string seconds(milliseconds span) {
  return fmt::format("{} s", static_cast<double>(span.count()) / 1'000);
}

Error unavailable(std::string message) {
  return {ErrorCode::reader_unavailable, std::move(message), "libpostal", {}, {}};
}

}  // namespace

bool LibpostalKeeper::start(Mono now) {
  LibpostalHelperOptions options;
  options.library = options_.library;
  options.data = options_.data.string();
  options.question_ms = with_grace(options_.timeout);
  options.load_ms = with_grace(options_.start_timeout);
  auto started = LibpostalProcess::start(options_.program, std::move(options));
  if (!started) {
    stage_ = Stage::greeting;
    failed(started.error().message, now);
    return false;
  }
  process_.emplace(std::move(*started));
  stage_ = Stage::greeting;
  due_ = now + options_.start_timeout;
  return true;
}

Result<std::string> LibpostalKeeper::greet() {
  if (start(system_clock().now())) {
    while (process_ && stage_ == Stage::greeting) {
      pollfd wait{process_->socket(), POLLIN, 0};
      const auto left = Deadline{due_}.left(system_clock());
      ::poll(&wait, 1, static_cast<int>(left.count()) + 1);
      step(system_clock().now());
    }
  }
  if (process_) return library_;
  return fail(ErrorCode::invalid_config,
              "normalize.library: {} cannot be used: {}",
              options_.library,
              trouble_);
}

Mono LibpostalKeeper::due() const {
  Mono due = process_ ? due_ : Mono::max();
  if (breaker_.is_open() && !process_ && is_wanted_) due = std::min(due, breaker_.until());
  return due;
}

void LibpostalKeeper::step(Mono now) {
  // What is heard while something is said may make room for more.
  do go_on(now);
  while (can_go_on());
}

bool LibpostalKeeper::can_go_on() const {
  if (waiting_.empty()) return false;
  const bool is_busy = process_ && (stage_ == Stage::greeting || stage_ == Stage::loading);
  const bool is_full = process_ && stage_ == Stage::loaded && sent_.size() >= kAhead;
  return !is_busy && !is_full;
}

void LibpostalKeeper::go_on(Mono now) {
  if (process_) hear(now);
  if (process_ && now >= due_)
    failed(
        fmt::format("did not {} within {}",
                    stage_ == Stage::loaded ? "answer" : "read its model",
                    seconds(stage_ == Stage::loaded ? options_.timeout : options_.start_timeout)),
        now);
  if (is_changed_ || (breaker_.is_open() && !waiting_.empty())) {
    is_wanted_ = true;
    refuse_waiting(down(now));
  }
  if (is_changed_) return;
  const bool is_tried = breaker_.is_open() && is_wanted_ && now >= breaker_.until();
  const bool is_needed = !waiting_.empty() || is_tried;
  if (is_needed && !process_ && !start(now)) return;
  if (is_needed && stage_ == Stage::greeted) {
    process_->say(Kind::load, "");
    stage_ = Stage::loading;
    due_ = now + options_.start_timeout;
    hear(now);
  }
  if (process_ && stage_ == Stage::loaded) feed(now);
}

void LibpostalKeeper::feed(Mono now) {
  const bool was_idle = sent_.empty();
  while (!waiting_.empty() && sent_.size() < kAhead) {
    process_->say(Kind::question, *waiting_.front().text);
    sent_.push_back(waiting_.front());
    waiting_.pop_front();
  }
  if (was_idle && !sent_.empty()) due_ = now + options_.timeout;
  if (process_->has_unsaid()) hear(now);
}

/// Moves bytes in both directions and does what they say.
void LibpostalKeeper::hear(Mono now) {
  std::vector<PostalMessage> heard;
  const auto exchanged = process_->exchange(heard);
  for (PostalMessage& message : heard) {
    if (!process_) return;
    take(std::move(message), now);
  }
  if (process_ && !exchanged) failed(exchanged.error().message, now, true);
}

void LibpostalKeeper::take(PostalMessage message, Mono now) {
  const bool is_first_word = stage_ == Stage::greeting;
  if (message.kind == Kind::hello && is_first_word)
    took_hello(std::move(message.body));
  else if (message.kind == Kind::loaded && stage_ == Stage::loading)
    took_loaded();
  else if (message.kind == Kind::failed)
    failed(message.body, now);
  else if ((message.kind == Kind::parsed || message.kind == Kind::unread) && !sent_.empty())
    took_answer(std::move(message), now);
  else
    failed("said something out of turn", now);
}

void LibpostalKeeper::took_hello(std::string path) {
  library_ = std::move(path);
  stage_ = Stage::greeted;
  due_ = Mono::max();
}

/// What was hashed is what was read only if nobody has changed it meanwhile.
void LibpostalKeeper::took_loaded() {
  if (identity_ != nullptr && !identity_->is_current()) {
    is_changed_ = true;
    notice(
        "the files of libpostal have changed: what only it can read is in error until geonce is "
        "started anew");
    process_.reset();
    return;
  }
  stage_ = Stage::loaded;
  due_ = Mono::max();
  if (!breaker_.is_open()) return;
  breaker_.succeeded();
  is_wanted_ = false;
  notice("it works again");
}

void LibpostalKeeper::took_answer(PostalMessage message, Mono now) {
  const PostalQuestion question = sent_.front();
  if (message.kind == Kind::unread) {
    sent_.pop_front();
    answer(question, tl::unexpected(unavailable("libpostal gave no answer to this address")));
  } else {
    auto parts = decode_parts(message.body);
    if (!parts) return failed(parts.error().message, now);
    sent_.pop_front();
    answer(question, std::move(*parts));
  }
  due_ = sent_.empty() ? Mono::max() : now + options_.timeout;
}

/// Ends the process, with the question that it had.
void LibpostalKeeper::failed(const std::string& why, Mono now, bool is_gone) {
  trouble_ = why;
  if (process_) {
    const auto ending = process_->end(is_gone ? kLastBreath : milliseconds{0});
    if (is_gone && !ending.empty()) trouble_ = fmt::format("its process ended with {}", ending);
    process_.reset();
  }
  const bool was_at_work = stage_ == Stage::loaded || stage_ == Stage::greeted;
  stage_ = Stage::greeting;
  due_ = Mono::max();
  is_wanted_ = false;  // until somebody else asks
  if (was_at_work)
    breaker_.failed(now);
  else
    breaker_.failed_for_now(now);
  tell_of_failure(now);
  if (!sent_.empty()) {
    answer(sent_.front(),
           tl::unexpected(unavailable(fmt::format(
               "libpostal did not read this address: {}; nothing was asked or paid", trouble_))));
    sent_.pop_front();
  }
  waiting_.insert(waiting_.begin(), sent_.begin(), sent_.end());
  sent_.clear();
  if (breaker_.is_open()) refuse_waiting(down(now));
}

void LibpostalKeeper::tell_of_failure(Mono now) const {
  if (identity_ == nullptr) return;  // the caller of `greet` is told
  if (!breaker_.is_open()) return notice(fmt::format("{}; it is started again", trouble_));
  notice(fmt::format("{}; what only it can read is in error for the next {}",
                     trouble_,
                     seconds(std::chrono::duration_cast<milliseconds>(breaker_.until() - now))));
}

Error LibpostalKeeper::down(Mono now) const {
  if (is_changed_)
    return unavailable(
        "the files of libpostal have changed since geonce was started; start it anew");
  Error error = unavailable(fmt::format(
      "libpostal is down ({}); nothing was asked or paid, so run this again later", trouble_));
  if (breaker_.until() > now)
    error.retry_after = std::chrono::ceil<milliseconds>(breaker_.until() - now);
  return error;
}

void LibpostalKeeper::give_up(const Error& why) {
  process_.reset();
  stage_ = Stage::greeting;
  due_ = Mono::max();
  waiting_.insert(waiting_.begin(), sent_.begin(), sent_.end());
  sent_.clear();
  refuse_waiting(why);
}

void LibpostalKeeper::refuse_waiting(const Error& why) {
  for (const PostalQuestion& question : waiting_) answer(question, tl::unexpected(why));
  waiting_.clear();
}

void LibpostalKeeper::answer(const PostalQuestion& question, Result<std::vector<TextPart>> said) {
  const std::lock_guard lock(rounds_);
  PostalRound& round = *question.round;
  round.said[question.place] = std::move(said);
  if (--round.left == 0) round.done.notify_all();
}

}  // namespace geonce
