#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "io/breaker.h"
#include "io/libpostal_identity.h"
#include "io/libpostal_process.h"
#include "io/libpostal_reader.h"

namespace geonce {

/// Questions that are asked together; their caller waits for all of them.
struct PostalRound {
  explicit PostalRound(std::size_t count) : said(count), left(count) {}
  std::vector<Result<std::vector<TextPart>>> said;
  std::size_t left;
  std::condition_variable done;
};

struct PostalQuestion {
  const std::string* text;
  PostalRound* round;
  std::size_t place;
};

/// Keeps a LibpostalProcess at work: gives it questions, some ahead of its answers, watches its
/// time, replaces it. Never waits, but for `greet`. All by one thread, which lives as long as this.
class LibpostalKeeper {
 public:
  /// rounds   held while a round is changed
  LibpostalKeeper(const LibpostalOptions& options, std::mutex& rounds)
      : options_(options), rounds_(rounds), breaker_(options.breaker) {}

  /// Starts the process and waits for its first word.
  /// returns   the path of the library
  /// errors    invalid_config, io_failed
  Result<std::string> greet();
  /// What it must be from here on.
  void expect(const LibpostalIdentity* identity) { identity_ = identity; }

  void ask(PostalQuestion question) { waiting_.push_back(question); }
  /// Does what can be done now.
  void step(Mono now);
  /// Whoever waits is told so, and the process ends.
  void give_up(const Error& why);

  /// What to wait for before the next step: -1: no process; else its socket, and whether to write.
  [[nodiscard]] int socket() const { return process_ ? process_->socket() : -1; }
  [[nodiscard]] bool wants_to_write() const { return process_ && process_->has_unsaid(); }
  /// When the next step is due at the latest.
  [[nodiscard]] Mono due() const;

 private:
  enum class Stage : std::uint8_t { greeting, greeted, loading, loaded };

  void go_on(Mono now);
  [[nodiscard]] bool can_go_on() const;
  bool start(Mono now);
  void hear(Mono now);
  void take(PostalMessage message, Mono now);
  void took_hello(std::string path);
  void took_loaded();
  void took_answer(PostalMessage message, Mono now);
  void feed(Mono now);
  void failed(const std::string& why, Mono now, bool is_gone = false);
  void tell_of_failure(Mono now) const;
  [[nodiscard]] Error down(Mono now) const;
  void answer(const PostalQuestion& question, Result<std::vector<TextPart>> said);
  void refuse_waiting(const Error& why);
  void notice(const std::string& text) const {
    if (options_.notice) options_.notice(text);
  }

  const LibpostalOptions& options_;
  std::mutex& rounds_;
  const LibpostalIdentity* identity_ = nullptr;

  std::optional<LibpostalProcess> process_;
  Stage stage_ = Stage::greeting;
  Mono due_ = Mono::max();  // of what the process is doing
  std::string library_;     // its path, once it said so
  std::deque<PostalQuestion> waiting_, sent_;

  Breaker breaker_;
  bool is_wanted_ = false;   // somebody was refused while it was open
  std::string trouble_;      // the last one
  bool is_changed_ = false;  // the files are others now: for good
};

}  // namespace geonce
