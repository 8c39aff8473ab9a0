#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "batch/encoding.h"
#include "core/result.h"

namespace geonce {

using Sha256 = std::array<std::uint8_t, 32>;

/// What the user said about the encoding. `utf_16` leaves the byte order to the mark.
struct EncodingChoice {
  std::optional<Encoding> forced;  // nullopt: find out
  bool utf_16 = false;             // UTF-16 of either order
};
/// auto, utf-8, utf-16le, utf-16be, utf-16, windows-1252, iso-8859-1; in any case.
/// errors    usage  lists them
Result<EncodingChoice> parse_encoding_choice(std::string_view word);

/// What one pass over a regular file tells before anything is asked or paid.
struct FileFacts {
  Sha256 sha256{};  // of the raw bytes
  std::uint64_t size = 0;
  Encoding encoding = Encoding::utf_8;
  bool has_bom = false;
  bool is_ascii = true;
};

/// Reads the file once: digest and encoding of the whole.
/// errors    not_found     no such file
///           io_failed     a directory, no permission, a read error
///           bad_csv       empty
///           bad_encoding  neither valid UTF-8 throughout nor free of it: names line and byte
Result<FileFacts> inspect_file(const std::string& path, const EncodingChoice& choice);

/// The input as UTF-8, block by block. Moves; one thread.
class Source {
 public:
  /// path      a file, or `-` for standard input
  /// facts     of the same file, when it was inspected: the encoding is then known and not guessed
  /// errors    as inspect_file; bad_encoding also when a byte order mark contradicts the choice
  static Result<Source> open(const std::string& path,
                             const EncodingChoice& choice,
                             const FileFacts* facts = nullptr);
  /// The same over bytes in memory.
  static Result<Source> from_bytes(std::string bytes, const EncodingChoice& choice);

  Source(Source&&) noexcept;
  Source& operator=(Source&&) noexcept;
  ~Source();

  /// Appends about `want` decoded bytes, at least one. False: the input has ended.
  /// errors    bad_encoding  names the byte; what is valid before it was handed out by earlier
  /// calls
  ///           io_failed
  Result<bool> read(std::size_t want, std::string& out);

  [[nodiscard]] const std::string& name() const;  // for messages: the path, or "standard input"
  /// As known so far. Without a mark and while all was ASCII, `utf_8` can still become
  /// `windows_1252`.
  [[nodiscard]] Encoding encoding() const;
  [[nodiscard]] bool has_bom() const;
  [[nodiscard]] bool is_guess() const;
  /// "UTF-8 (byte order mark)", "Windows-1252 (guessed: byte 1,234 is not UTF-8)" …
  [[nodiscard]] std::string encoding_note() const;
  [[nodiscard]] std::uint64_t raw_offset() const;
  [[nodiscard]] std::optional<std::uint64_t> raw_size() const;  // nullopt: not a regular file
  /// Of the raw bytes of a pipe, once it has ended; a regular file has `inspect_file`.
  [[nodiscard]] std::optional<Sha256> sha256() const;

 private:
  struct State;
  explicit Source(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace geonce
