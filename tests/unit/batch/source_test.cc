#include "batch/source.h"

#include <thread>
#include <vector>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/key.h"
#include "support/temp_dir.h"

namespace geonce {
namespace {

using namespace std::string_literals;
using testing::AllOf;
using testing::HasSubstr;

EncodingChoice choice(std::string_view word) { return parse_encoding_choice(word).value(); }

struct Read {
  std::string utf8;
  std::optional<Error> error;
  Encoding encoding = Encoding::utf_8;
  bool has_bom = false;
};

Read read_all(Source source, std::size_t block) {
  Read read;
  for (;;) {
    const auto more = source.read(block, read.utf8);
    if (!more) read.error = more.error();
    if (!more || !*more) break;
  }
  read.encoding = source.encoding();
  read.has_bom = source.has_bom();
  return read;
}

// The same letters in many clothes.
std::string utf_16le(std::string_view text) {
  std::string bytes;
  encode(Encoding::utf_16le, text, bytes);
  return bytes;
}

struct Case {
  const char* name;
  std::string bytes;
  const char* choice;
  std::string utf8;
  Encoding encoding;
  bool has_bom;
};

std::vector<Case> cases() {
  const std::string accents = "id,adresse\n1,2 allée des Érables\n2,\"«Les Loges»\"\n";
  const std::string far = std::string(300'000, 'a') + "\n";
  return {
      {"19: accents in UTF-8, few lines", accents, "auto", accents, Encoding::utf_8, false},
      {"19: one line more", accents + "3,x\n", "auto", accents + "3,x\n", Encoding::utf_8, false},
      {"19: the same in Windows-1252",
       "id\n2 all\xE9\x65 \xAB\x80\n",
       "auto",
       "id\n2 allée «€\n",
       Encoding::windows_1252,
       false},
      {"a mark", "\xEF\xBB\xBFid\n1\n", "auto", "id\n1\n", Encoding::utf_8, true},
      {"a mark, forced", "\xEF\xBB\xBFid\n1\n", "utf-8", "id\n1\n", Encoding::utf_8, true},
      {"UTF-16 with a mark",
       "\xFF\xFE" + utf_16le(accents),
       "auto",
       accents,
       Encoding::utf_16le,
       true},
      {"UTF-16 with a mark, order left open",
       "\xFF\xFE" + utf_16le(accents),
       "utf-16",
       accents,
       Encoding::utf_16le,
       true},
      {"UTF-16 without a mark", utf_16le(accents), "auto", accents, Encoding::utf_16le, false},
      {"UTF-16 without a mark, said", utf_16le("é"), "UTF-16LE", "é", Encoding::utf_16le, false},
      {"big-endian", "\xFE\xFF\0i\0d\0\n\0\xE9"s, "auto", "id\né", Encoding::utf_16be, true},
      {"forced Latin-1 leaves UTF-8 alone as bytes",
       "\xC3\xA9",
       "iso-8859-1",
       "Ã©",
       Encoding::iso_8859_1,
       false},
      {"ASCII alone", "id\n1\n", "auto", "id\n1\n", Encoding::utf_8, false},
      {"a late Windows-1252 byte after pure ASCII",
       far + "caf\xE9",
       "auto",
       far + "café",
       Encoding::windows_1252,
       false},
      {"a last byte that only Windows-1252 has",
       far + "caf\xC3",
       "auto",
       far + "cafÃ",
       Encoding::windows_1252,
       false},
      {"late UTF-8 after pure ASCII", far + "café", "auto", far + "café", Encoding::utf_8, false},
      {"NUL bytes in UTF-8 are no UTF-16",
       "a\0b,c\n1,2\n"s,
       "auto",
       "a\0b,c\n1,2\n"s,
       Encoding::utf_8,
       false},
  };
}

TEST(Source, decodes_whatever_the_encoding_and_the_size_of_the_blocks) {
  for (const Case& c : cases()) {
    for (const std::size_t block : {std::size_t{1}, std::size_t{3}, std::size_t{100'000}}) {
      if (block < 100 && c.bytes.size() > 10'000) continue;
      auto source = Source::from_bytes(c.bytes, choice(c.choice));
      ASSERT_TRUE(source) << c.name << ": " << source.error().message;
      const Read read = read_all(std::move(*source), block);
      EXPECT_FALSE(read.error) << c.name << ": " << read.error->message;
      EXPECT_EQ(read.utf8, c.utf8) << c.name;
      EXPECT_EQ(read.encoding, c.encoding) << c.name;
      EXPECT_EQ(read.has_bom, c.has_bom) << c.name;
    }
  }
}

TEST(Source, a_file_looked_at_first_is_read_the_same_way) {
  const TempDir dir;
  for (const Case& c : cases()) {
    const std::string path = dir.write("in.csv", c.bytes);
    const auto facts = inspect_file(path, choice(c.choice));
    ASSERT_TRUE(facts) << c.name << ": " << facts.error().message;
    EXPECT_EQ(facts->encoding, c.encoding) << c.name;
    EXPECT_EQ(facts->has_bom, c.has_bom) << c.name;
    EXPECT_EQ(facts->size, c.bytes.size()) << c.name;
    const Read read = read_all(Source::open(path, choice(c.choice), &*facts).value(), 4096);
    EXPECT_EQ(read.utf8, c.utf8) << c.name;
    EXPECT_EQ(read.encoding, c.encoding) << c.name;
    EXPECT_FALSE(read.error) << c.name;
  }
}

TEST(Source, the_first_read_happens_before_small_blocks_split_a_character) {
  const std::string text = std::string(5'000, 'x') + "ééé€€😀😀" + std::string(10, 'y');
  for (std::size_t block = 1; block < 12; ++block)
    EXPECT_EQ(read_all(Source::from_bytes(text, choice("auto")).value(), block).utf8, text)
        << block;
}

TEST(Source, bytes_that_are_not_what_the_text_before_them_says_are_an_error_with_the_place) {
  const TempDir dir;
  const std::string bytes = "id,name\n1,café\n2,caf\xE9\n3,x\n";
  auto source = Source::from_bytes(bytes, choice("auto"));
  const Read read = read_all(std::move(*source), 4);
  EXPECT_EQ(read.utf8, "id,name\n1,café\n2,caf");
  ASSERT_TRUE(read.error);
  EXPECT_EQ(read.error->code, ErrorCode::bad_encoding);
  EXPECT_THAT(read.error->message,
              AllOf(HasSubstr("offset 21"), HasSubstr("--encoding windows-1252")));

  const auto facts = inspect_file(dir.write("mixed.csv", bytes), choice("auto"));
  ASSERT_FALSE(facts);
  EXPECT_EQ(facts.error().code, ErrorCode::bad_encoding);
  EXPECT_THAT(facts.error().message, AllOf(HasSubstr("offset 21"), HasSubstr("line 3")));
}

TEST(Source, a_forced_encoding_is_not_second_guessed) {
  const auto cut = read_all(Source::from_bytes("caf\xE9", choice("utf-8")).value(), 100);
  ASSERT_TRUE(cut.error);
  EXPECT_EQ(cut.error->code, ErrorCode::bad_encoding);
  const auto odd = read_all(Source::from_bytes("a\0b"s, choice("utf-16le")).value(), 100);
  ASSERT_TRUE(odd.error);
  EXPECT_EQ(odd.utf8, "a");
  const auto marked = Source::from_bytes("\xFF\xFE" + utf_16le("id"), choice("utf-8"));
  ASSERT_FALSE(marked);
  EXPECT_THAT(marked.error().message, HasSubstr("byte order mark of UTF-16LE"));
}

struct Refusal {
  const char* name;
  std::string path;
  ErrorCode code;
  const char* says;
};

TEST(Source, what_is_no_readable_file_is_refused_by_name) {
  const TempDir dir;
  ASSERT_EQ(::mkfifo(dir.file("fifo").c_str(), 0600), 0);
  const std::vector<Refusal> refusals{
      {"missing", dir.file("none.csv"), ErrorCode::not_found, "No such file"},
      {"a directory", dir.path(), ErrorCode::io_failed, "is a directory"},
      {"empty", dir.write("empty.csv", ""), ErrorCode::bad_csv, "is empty"},
      {"a mark and no more", dir.write("mark.csv", "\xEF\xBB\xBF"), ErrorCode::bad_csv, "is empty"},
  };
  for (const Refusal& refusal : refusals) {
    const auto source = Source::open(refusal.path, {});
    ASSERT_FALSE(source) << refusal.name;
    EXPECT_EQ(source.error().code, refusal.code) << refusal.name;
    EXPECT_THAT(source.error().message, HasSubstr(refusal.says)) << refusal.name;
    const auto facts = inspect_file(refusal.path, {});
    ASSERT_FALSE(facts) << refusal.name;
    EXPECT_EQ(facts.error().code, refusal.code) << refusal.name;
  }
  if (::geteuid() == 0) return;  // root may read everything
  const std::string locked = dir.write("locked.csv", "id\n");
  ASSERT_EQ(::chmod(locked.c_str(), 0), 0);
  const auto source = Source::open(locked, {});
  ASSERT_FALSE(source);
  EXPECT_EQ(source.error().code, ErrorCode::io_failed);
}

TEST(Source, the_digest_is_of_the_raw_bytes) {
  const TempDir dir;
  const std::string path = dir.write("abc", "abc");
  const auto facts = inspect_file(path, {});
  const std::string_view bytes(reinterpret_cast<const char*>(facts->sha256.data()), 32);
  EXPECT_EQ(to_hex(bytes),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");  // FIPS 180-2
}

TEST(Source, a_pipe_is_read_as_its_bytes_arrive_and_has_its_digest_at_the_end) {
  const TempDir dir;
  const std::string fifo = dir.file("fifo");
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  std::jthread writer([&] {
    const int fd = ::open(fifo.c_str(), O_WRONLY);
    for (const char c : std::string("a,é\n"))
      if (::write(fd, &c, 1) != 1) break;
    ::close(fd);
  });
  auto source = Source::open(fifo, {});
  ASSERT_TRUE(source) << source.error().message;
  EXPECT_EQ(source->raw_size(), std::nullopt);
  std::string out;
  while (source->read(100, out).value()) {
  }
  EXPECT_EQ(out, "a,é\n");
  EXPECT_EQ(source->raw_offset(), 5U);
  ASSERT_TRUE(source->sha256());
  EXPECT_EQ(*source->sha256(), inspect_file(dir.write("same", "a,é\n"), {})->sha256);
}

TEST(Source, says_what_was_guessed) {
  const auto note = [](std::string bytes, std::string_view word) {
    auto source = Source::from_bytes(std::move(bytes), choice(word)).value();
    std::string out;
    while (source.read(100, out).value()) {
    }
    return source.encoding_note();
  };
  EXPECT_EQ(note("id\n", "auto"), "UTF-8 (guessed)");
  EXPECT_EQ(note("\xEF\xBB\xBFid\n", "auto"), "UTF-8 (byte order mark)");
  EXPECT_EQ(note("id\n", "utf-8"), "UTF-8 (as said)");
  EXPECT_EQ(note("id\n\xE9", "auto"), "Windows-1252 (guessed: byte 3 is not UTF-8)");
}

TEST(Source, an_unknown_encoding_is_refused_with_the_list) {
  const auto wrong = parse_encoding_choice("latin9");
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code, ErrorCode::usage);
  EXPECT_THAT(wrong.error().message, HasSubstr("windows-1252"));
}

}  // namespace
}  // namespace geonce
