#include "io/libpostal_process.h"

#include <array>
#include <cerrno>

#include <sys/socket.h>
#include <unistd.h>

namespace geonce {
namespace {

bool is_later(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

}  // namespace

Result<LibpostalProcess> LibpostalProcess::start(const std::string& program,
                                                 LibpostalHelperOptions options) {
  options.parent = ::getpid();
  auto words = words_of(options);
  words.insert(words.begin(), program);
  auto child = Child::start(words);
  if (!child) return fail(child.error());
  return LibpostalProcess(std::move(*child));
}

Result<void> LibpostalProcess::exchange(std::vector<PostalMessage>& heard) {
  const auto gone = [] { return fail(ErrorCode::io_failed, "it is gone"); };
  bool is_gone = false;
  while (!out_.empty()) {
    const auto sent = ::send(socket(), out_.data(), out_.size(), MSG_NOSIGNAL);
    if (sent < 0 && is_later(errno)) break;
    // What it said last is still to be heard.
    is_gone = sent <= 0;
    if (is_gone) break;
    out_.erase(0, static_cast<std::size_t>(sent));
  }
  for (;;) {
    std::array<char, 65'536> bytes{};
    const auto got = ::recv(socket(), bytes.data(), bytes.size(), 0);
    if (got < 0 && is_later(errno)) break;
    is_gone = is_gone || got <= 0;
    if (got <= 0) break;
    in_.append(bytes.data(), static_cast<std::size_t>(got));
  }
  for (;;) {
    auto message = take_message(in_);
    if (!message) return fail(message.error());
    if (!*message) break;
    heard.push_back(std::move(**message));
  }
  return is_gone ? Result<void>(gone()) : Result<void>();
}

}  // namespace geonce
