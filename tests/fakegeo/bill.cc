#include "bill.h"

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

namespace fakegeo {
namespace {

[[noreturn]] void stop(const char* what) {
  fmt::print(stderr, "fakegeo: {} the bill: {}\n", what, std::strerror(errno));
  std::exit(1);
}

/// Backslash, tab, line breaks and NUL as \\ \t \n \r \0, so that a line stays a line.
std::string escaped(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    switch (c) {
      case '\\':
        out += "\\\\";
        break;
      case '\t':
        out += "\\t";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\0':
        out += "\\0";
        break;
      default:
        out += c;
    }
  }
  return out;
}

}  // namespace

Bill::Bill(const std::string& path)
    : file_(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644)) {
  if (file_ < 0) stop("cannot open");
}

Bill::~Bill() { ::close(file_); }

void Bill::record(std::uint64_t request, const Ask& ask) {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  const auto now_ns = std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
  fmt::memory_buffer lines;
  for (std::size_t i = 0; i < ask.items.size(); ++i) {
    fmt::format_to(std::back_inserter(lines),
                   "{}\t{}\t{}\t{}\t{}\t{}\n",
                   now_ns,
                   request,
                   name_of(ask.dialect),
                   name_of(ask.mode),
                   i,
                   escaped(ask.items[i].text));
  }
  if (::write(file_, lines.data(), lines.size()) != static_cast<ssize_t>(lines.size()))
    stop("cannot write");
}

}  // namespace fakegeo
