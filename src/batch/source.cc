#include "batch/source.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <openssl/evp.h>
#include <sys/stat.h>
#include <unistd.h>

namespace geonce {
namespace {

constexpr std::size_t kFirstLook = 4096;
constexpr std::size_t kReadBytes = std::size_t{1} << 20;

// What we call an encoding when we speak to people.
std::string_view title(Encoding encoding) {
  switch (encoding) {
    case Encoding::utf_8:
      return "UTF-8";
    case Encoding::utf_16le:
      return "UTF-16LE";
    case Encoding::utf_16be:
      return "UTF-16BE";
    case Encoding::windows_1252:
      return "Windows-1252";
    case Encoding::iso_8859_1:
      return "ISO-8859-1";
  }
  return "";
}

std::optional<Encoding> marked(std::string_view bytes) {
  for (const auto encoding : {Encoding::utf_8, Encoding::utf_16le, Encoding::utf_16be})
    if (bytes.starts_with(byte_order_mark(encoding))) return encoding;
  return std::nullopt;
}

// Western text in UTF-16 has a NUL in every second place; text in other encodings has none.
std::optional<Encoding> utf_16_without_mark(std::string_view bytes) {
  std::array<std::size_t, 2> nuls{};
  for (std::size_t i = 0; i < bytes.size(); ++i)
    if (bytes[i] == '\0') ++nuls[i % 2];
  const std::size_t many = bytes.size() / 4;  // half of the places of one parity
  if (bytes.size() < 4) return std::nullopt;
  if (nuls[1] > many && nuls[0] * 8 < nuls[1]) return Encoding::utf_16le;
  if (nuls[0] > many && nuls[1] * 8 < nuls[0]) return Encoding::utf_16be;
  return std::nullopt;
}

class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Fd() {
    if (fd_ > STDERR_FILENO) ::close(fd_);
  }
  [[nodiscard]] int get() const { return fd_; }

 private:
  int fd_ = -1;
};

Result<Fd> open_file(const std::string& path) {
  Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (fd.get() < 0) {
    const auto code = errno == ENOENT ? ErrorCode::not_found : ErrorCode::io_failed;
    return fail(code, "cannot open {}: {}", path, std::generic_category().message(errno));
  }
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0)
    return fail(ErrorCode::io_failed,
                "cannot look at {}: {}",
                path,
                std::generic_category().message(errno));
  if (S_ISDIR(status.st_mode))
    return fail(ErrorCode::io_failed, "{} is a directory; name a file in it", path);
  return fd;
}

std::optional<std::uint64_t> regular_size(const Fd& fd) {
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  return static_cast<std::uint64_t>(status.st_size);
}

Result<std::size_t> read_some(const Fd& fd, const std::string& name, char* to, std::size_t size) {
  for (;;) {
    const ssize_t got = ::read(fd.get(), to, size);
    if (got >= 0) return static_cast<std::size_t>(got);
    if (errno != EINTR)
      return fail(
          ErrorCode::io_failed, "cannot read {}: {}", name, std::generic_category().message(errno));
  }
}

// Bytes of the file in, UTF-8 out; knows what it has seen.
class Decoder {
 public:
  explicit Decoder(EncodingChoice choice) : choice_(choice) {}

  // Judges the first bytes of the input, at least `kFirstLook` unless there are fewer.
  Result<void> begin(const std::string& name, std::string_view bytes) {
    const auto mark = marked(bytes);
    if (mark) {
      const bool fits =
          choice_.forced ? *choice_.forced == *mark : !choice_.utf_16 || *mark != Encoding::utf_8;
      if (!fits)
        return fail(ErrorCode::bad_encoding,
                    "{} begins with the byte order mark of {}, but --encoding says {}",
                    name,
                    title(*mark),
                    choice_.forced ? title(*choice_.forced) : "UTF-16");
      encoding_ = *mark;
      mark_size_ = byte_order_mark(*mark).size();
    } else if (choice_.forced) {
      encoding_ = *choice_.forced;
    } else {
      const auto found = utf_16_without_mark(bytes.substr(0, kFirstLook));
      encoding_ = found.value_or(choice_.utf_16 ? Encoding::utf_16le : Encoding::utf_8);
      is_guess_ = true;
    }
    if (bytes.size() == mark_size_)
      return fail(ErrorCode::bad_csv, "{} is empty; its first line has to name the columns", name);
    to_skip_ = mark_size_;
    return {};
  }

  // Takes all of `bytes`, unless something in them is invalid: then `bad_byte` says where.
  void feed(std::string_view bytes, std::string& out) {
    const std::size_t skipped = std::min(to_skip_, bytes.size());
    bytes.remove_prefix(skipped);
    to_skip_ -= skipped;
    offset_ += skipped;
    if (!carry_.empty()) {
      // A sequence is 4 bytes at most: finish the cut one before the rest is taken in place.
      const std::size_t begun = carry_.size();
      carry_.append(bytes.substr(0, 4));
      std::string joined = std::exchange(carry_, {});
      const std::size_t taken = step(joined, out);
      if (bad_byte_ || taken < begun) {
        carry_ = std::move(joined);  // still cut, and that was all there is
        return;
      }
      bytes.remove_prefix(taken - begun);
    }
    const std::size_t taken = step(bytes, out);
    if (!bad_byte_) carry_.assign(bytes.substr(taken));
  }

  // The input has ended.
  void end(std::string& out) {
    if (carry_.empty() || bad_byte_) return;
    const std::string rest = std::exchange(carry_, {});
    if (!take_as_windows_1252(rest, out)) bad_byte_ = offset_;
  }

  [[nodiscard]] std::optional<std::uint64_t> bad_byte() const { return bad_byte_; }
  [[nodiscard]] Encoding encoding() const { return encoding_; }
  [[nodiscard]] bool has_mark() const { return mark_size_ != 0; }
  [[nodiscard]] bool is_guess() const { return is_guess_; }
  [[nodiscard]] bool is_ascii() const { return is_ascii_ && encoding_ == Encoding::utf_8; }
  [[nodiscard]] std::optional<std::uint64_t> turned_at() const { return turned_at_; }

 private:
  std::size_t step(std::string_view bytes, std::string& out) {
    const std::size_t before = out.size();
    const Decoded decoded = decode(encoding_, bytes, out);
    if (is_ascii_ && encoding_ == Encoding::utf_8)
      is_ascii_ = geonce::is_ascii(std::string_view(out).substr(before));
    offset_ += decoded.taken;
    if (!decoded.is_invalid) return decoded.taken;
    if (take_as_windows_1252(bytes.substr(decoded.taken), out)) return bytes.size();
    bad_byte_ = offset_;
    return decoded.taken;
  }

  // All before was ASCII, which is the same in both: nothing has been misread yet.
  bool take_as_windows_1252(std::string_view bytes, std::string& out) {
    if (!is_guess_ || encoding_ != Encoding::utf_8 || !is_ascii_) return false;
    encoding_ = Encoding::windows_1252;
    turned_at_ = offset_;
    offset_ += decode(encoding_, bytes, out).taken;
    return true;
  }

  EncodingChoice choice_;
  Encoding encoding_ = Encoding::utf_8;
  std::size_t mark_size_ = 0;
  std::size_t to_skip_ = 0;
  bool is_guess_ = false;
  bool is_ascii_ = true;
  std::string carry_;
  std::uint64_t offset_ = 0;
  std::optional<std::uint64_t> bad_byte_, turned_at_;
};

std::string advice(const Decoder& decoder) {
  if (decoder.is_guess() && decoder.encoding() == Encoding::utf_8)
    return "other text before it is UTF-8, so the file mixes encodings; say --encoding "
           "windows-1252 "
           "to take every byte as it is, or repair the file";
  return "say --encoding with the encoding it really has";
}

Error bad_byte_error(const Decoder& decoder, const std::string& name, const std::string& line) {
  return {ErrorCode::bad_encoding,
          fmt::format("{}: the bytes at offset {}{} are not valid {}; {}",
                      name,
                      decoder.bad_byte().value_or(0),
                      line,
                      title(decoder.encoding()),
                      advice(decoder)),
          {},
          {},
          {}};
}

class Digest {
 public:
  Digest() : context_(EVP_MD_CTX_new(), EVP_MD_CTX_free) {
    GEONCE_EXPECTS(context_ && EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) == 1);
  }
  void add(std::string_view bytes) {
    GEONCE_EXPECTS(EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) == 1);
  }
  Sha256 finish() {
    Sha256 sum{};
    GEONCE_EXPECTS(EVP_DigestFinal_ex(context_.get(), sum.data(), nullptr) == 1);
    return sum;
  }

 private:
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context_;
};

std::uint64_t line_of_byte(const std::string& path, std::uint64_t byte) {
  const auto fd = open_file(path);
  if (!fd) return 0;
  std::uint64_t line = 1;
  std::string block(kReadBytes, '\0');
  for (std::uint64_t at = 0; at < byte;) {
    const auto got = read_some(*fd, path, block.data(), std::min(block.size(), byte - at));
    if (!got || *got == 0) break;
    line += static_cast<std::uint64_t>(
        std::count(block.begin(), block.begin() + static_cast<std::ptrdiff_t>(*got), '\n'));
    at += *got;
  }
  return line;
}

}  // namespace

Result<EncodingChoice> parse_encoding_choice(std::string_view word) {
  std::string lower(word);
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return std::tolower(c); });
  EncodingChoice choice;
  if (lower == "auto") return choice;
  choice.utf_16 = lower == "utf-16";
  if (choice.utf_16) return choice;
  choice.forced = parse_encoding(lower);
  if (!choice.forced)
    return fail(ErrorCode::usage,
                "encoding '{}' is not known; there are auto, utf-8, utf-16, utf-16le, utf-16be, "
                "windows-1252, iso-8859-1",
                word);
  return choice;
}

Result<FileFacts> inspect_file(const std::string& path, const EncodingChoice& choice) {
  auto fd = open_file(path);
  if (!fd) return fail(fd.error());
  Decoder decoder(choice);
  Digest digest;
  FileFacts facts;
  std::string block(kReadBytes, '\0');
  std::string out;
  for (bool is_first = true;; is_first = false) {
    std::size_t size = 0;
    while (size < kFirstLook) {
      const auto got = read_some(*fd, path, block.data() + size, block.size() - size);
      if (!got) return fail(got.error());
      if (*got == 0) break;
      size += *got;
    }
    const std::string_view bytes(block.data(), size);
    if (is_first)
      if (auto begun = decoder.begin(path, bytes); !begun) return fail(begun.error());
    digest.add(bytes);
    facts.size += size;
    out.clear();
    if (size == 0)
      decoder.end(out);
    else
      decoder.feed(bytes, out);
    if (const auto bad = decoder.bad_byte(); bad) {
      const auto line = fmt::format(" in line {}", line_of_byte(path, *bad));
      return fail(bad_byte_error(decoder, path, line));
    }
    if (size == 0) break;
  }
  facts.sha256 = digest.finish();
  facts.encoding = decoder.encoding();
  facts.has_bom = decoder.has_mark();
  facts.is_ascii = decoder.is_ascii();
  return facts;
}

struct Source::State {
  std::string name;
  Fd fd;              // or
  std::string bytes;  // when `fd` is none: the input itself
  std::optional<std::uint64_t> raw_size;
  Decoder decoder;
  std::optional<Encoding> inspected;  // the encoding is known from a pass over the whole file
  std::string block;                  // raw bytes
  std::size_t block_size = 0;         // of them filled and not yet decoded (the first look)
  std::uint64_t raw_offset = 0;
  std::optional<Digest> digest;  // of a stream
  std::optional<Sha256> sha256;
  bool has_hit_end = false;  // nothing more to read
  bool has_ended = false;    // and all of it was decoded

  explicit State(const EncodingChoice& choice) : decoder(choice) {}

  Result<std::size_t> read_raw(char* to, std::size_t size) {
    if (has_hit_end) return std::size_t{0};
    if (fd.get() >= 0) {
      auto got = read_some(fd, name, to, size);
      if (!got) return got;
      size = *got;
    } else {
      size = std::min(size, bytes.size() - static_cast<std::size_t>(raw_offset));
      std::memcpy(to, bytes.data() + raw_offset, size);
    }
    raw_offset += size;
    has_hit_end = size == 0;
    if (digest) digest->add({to, size});
    if (digest && has_hit_end) sha256 = digest->finish();
    return size;
  }

  // Fills `block` with at least `kFirstLook` bytes unless the input is shorter.
  Result<void> look() {
    block.resize(std::size_t{256} << 10);
    while (block_size < kFirstLook) {
      const auto got = read_raw(block.data() + block_size, block.size() - block_size);
      if (!got) return fail(got.error());
      if (*got == 0) break;
      block_size += *got;
    }
    return decoder.begin(name, {block.data(), block_size});
  }
};

Source::Source(std::unique_ptr<State> state) : state_(std::move(state)) {}
Source::Source(Source&&) noexcept = default;
Source& Source::operator=(Source&&) noexcept = default;
Source::~Source() = default;

Result<Source> Source::open(const std::string& path,
                            const EncodingChoice& choice,
                            const FileFacts* facts) {
  // A whole file was judged already: the encoding it was found to have is as good as said.
  EncodingChoice settled = choice;
  if (facts != nullptr) settled.forced = facts->encoding;
  auto state = std::make_unique<State>(settled);
  if (facts != nullptr && !choice.forced && !facts->has_bom) state->inspected = facts->encoding;
  if (path == "-") {
    state->name = "standard input";
    state->fd = Fd(STDIN_FILENO);
  } else {
    state->name = path;
    auto fd = open_file(path);
    if (!fd) return fail(fd.error());
    state->fd = std::move(*fd);
  }
  state->raw_size = regular_size(state->fd);
  if (!state->raw_size) state->digest.emplace();
  if (auto looked = state->look(); !looked) return fail(looked.error());
  return Source(std::move(state));
}

Result<Source> Source::from_bytes(std::string bytes, const EncodingChoice& choice) {
  auto state = std::make_unique<State>(choice);
  state->name = "the input";
  state->raw_size = bytes.size();
  state->bytes = std::move(bytes);
  if (auto looked = state->look(); !looked) return fail(looked.error());
  return Source(std::move(state));
}

Result<bool> Source::read(std::size_t want, std::string& out) {
  State& s = *state_;
  const std::size_t before = out.size();
  while (!s.has_ended && !s.decoder.bad_byte() && out.size() == before) {
    if (s.block_size == 0) {
      const std::size_t size = std::clamp<std::size_t>(want, 1, s.block.size());
      const auto got = s.read_raw(s.block.data(), size);
      if (!got) return fail(got.error());
      s.block_size = *got;
      s.has_ended = *got == 0;
    }
    if (s.has_ended)
      s.decoder.end(out);
    else
      s.decoder.feed({s.block.data(), s.block_size}, out);
    s.block_size = 0;
  }
  if (out.size() > before) return true;
  if (s.decoder.bad_byte()) return fail(bad_byte_error(s.decoder, s.name, ""));
  return false;
}

const std::string& Source::name() const { return state_->name; }
Encoding Source::encoding() const { return state_->decoder.encoding(); }
bool Source::has_bom() const { return state_->decoder.has_mark(); }
bool Source::is_guess() const {
  return state_->decoder.is_guess() || state_->inspected.has_value();
}
std::uint64_t Source::raw_offset() const { return state_->raw_offset; }
std::optional<std::uint64_t> Source::raw_size() const { return state_->raw_size; }
std::optional<Sha256> Source::sha256() const { return state_->sha256; }

std::string Source::encoding_note() const {
  std::string note(title(encoding()));
  if (has_bom()) return note + " (byte order mark)";
  if (const auto at = state_->decoder.turned_at(); at)
    return note + fmt::format(" (guessed: byte {} is not UTF-8)", *at);
  return is_guess() ? note + " (guessed)" : note + " (as said)";
}

}  // namespace geonce
