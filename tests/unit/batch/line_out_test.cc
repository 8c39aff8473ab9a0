#include "batch/line_out.h"

#include <csignal>
#include <filesystem>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/temp_dir.h"

namespace geonce {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

TEST(LineOut, a_file_has_its_name_only_when_it_is_complete) {
  const TempDir dir;
  dir.write("out.csv", "old");
  auto out = LineOut::create(dir.file("out.csv"));
  ASSERT_TRUE(out) << out.error().message;
  ASSERT_TRUE(out->write("new "));
  ASSERT_TRUE(out->write("text"));
  EXPECT_EQ(out->offset(), 8U);
  EXPECT_TRUE(out->is_resumable());
  EXPECT_EQ(dir.read("out.csv"), "old");
  EXPECT_EQ(dir.read(".out.csv.geonce-part"), "new text");
  EXPECT_EQ(LineOut::part_name(dir.file("out.csv")), dir.file(".out.csv.geonce-part"));
  ASSERT_TRUE(out->finish());
  EXPECT_EQ(dir.read("out.csv"), "new text");
  EXPECT_FALSE(fs::exists(dir.file(".out.csv.geonce-part")));
}

TEST(LineOut, goes_on_where_an_earlier_run_was_known_to_be) {
  const TempDir dir;
  const std::string path = dir.file("out.csv");
  {
    auto out = LineOut::create(path);
    ASSERT_TRUE(out && out->write("row 1\nrow 2\nro"));
  }
  EXPECT_FALSE(fs::exists(path));
  auto out = LineOut::resume(path, 12);
  ASSERT_TRUE(out) << out.error().message;
  EXPECT_EQ(out->offset(), 12U);
  ASSERT_TRUE(out->write("row 3\n") && out->finish());
  EXPECT_EQ(dir.read("out.csv"), "row 1\nrow 2\nrow 3\n");
}

TEST(LineOut, there_must_be_something_to_go_on_with) {
  const TempDir dir;
  const std::string path = dir.file("out.csv");
  EXPECT_EQ(LineOut::resume(path, 0).error().code, ErrorCode::not_found);
  dir.write(".out.csv.geonce-part", "abc");
  EXPECT_EQ(LineOut::resume(path, 4).error().code, ErrorCode::not_found);
  EXPECT_TRUE(LineOut::resume(path, 3));
  EXPECT_EQ(LineOut::resume("-", 0).error().code, ErrorCode::not_found);
}

TEST(LineOut, two_cannot_write_one_output) {
  const TempDir dir;
  const std::string path = dir.file("out.csv");
  auto first = LineOut::create(path);
  ASSERT_TRUE(first && first->write("mine"));
  for (const auto& second : {LineOut::create(path).error(), LineOut::resume(path, 0).error()}) {
    EXPECT_EQ(second.code, ErrorCode::io_failed);
    EXPECT_THAT(second.message, HasSubstr("another geonce"));
  }
  ASSERT_TRUE(first->finish());
  EXPECT_EQ(dir.read("out.csv"), "mine");
}

TEST(LineOut, a_missing_folder_is_an_error_that_names_the_file) {
  const TempDir dir;
  const auto out = LineOut::create(dir.file("none/out.csv"));
  ASSERT_FALSE(out);
  EXPECT_EQ(out.error().code, ErrorCode::io_failed);
  EXPECT_THAT(out.error().message, HasSubstr("none/.out.csv.geonce-part"));
}

TEST(LineOut, a_file_keeps_its_permissions_and_a_link_stays_a_link) {
  const TempDir dir;
  const std::string real = dir.write("real.csv", "old");
  ASSERT_EQ(::chmod(real.c_str(), 0640), 0);
  fs::create_symlink(real, dir.file("link.csv"));
  auto out = LineOut::create(dir.file("link.csv"));
  ASSERT_TRUE(out && out->write("new") && out->finish());
  EXPECT_TRUE(fs::is_symlink(dir.file("link.csv")));
  EXPECT_EQ(dir.read("real.csv"), "new");
  struct stat status {};
  ASSERT_EQ(::stat(real.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0640U);
}

TEST(LineOut, a_device_is_written_as_it_is_and_a_full_one_says_so) {
  auto null = LineOut::create("/dev/null");
  ASSERT_TRUE(null);
  EXPECT_FALSE(null->is_resumable());
  EXPECT_TRUE(null->write("x") && null->sync() && null->finish());
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
  auto full = LineOut::create("/dev/full");
  ASSERT_TRUE(full);
  const auto written = full->write("x");
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, ErrorCode::disk_full);
}

// The limit on a file's size stands in for a full disk: the write fails in the same way and at the
// same place, and needs no file system of its own.
TEST(LineOut, a_full_disk_keeps_what_was_written_under_the_parts_name) {
  const TempDir dir;
  const std::string path = dir.file("out.csv");
  auto out = LineOut::create(path);
  ASSERT_TRUE(out);
  rlimit old{};
  ::getrlimit(RLIMIT_FSIZE, &old);
  auto* const handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{100, old.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &small);
  const auto first = out->write(std::string(60, 'a'));
  const auto second = out->write(std::string(60, 'b'));
  ::setrlimit(RLIMIT_FSIZE, &old);
  std::signal(SIGXFSZ, handler);
  EXPECT_TRUE(first);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::disk_full);
  EXPECT_THAT(second.error().message,
              AllOf(HasSubstr(".out.csv.geonce-part"), HasSubstr("run the same command again")));
  EXPECT_FALSE(fs::exists(path));
  EXPECT_EQ(dir.read(".out.csv.geonce-part").size(), 100U);
}

TEST(LineOut, a_reader_that_went_away_is_an_error_not_a_crash) {
  const TempDir dir;
  const std::string fifo = dir.file("fifo");
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  const int reader = ::open(fifo.c_str(), O_RDONLY | O_NONBLOCK);
  ASSERT_GE(reader, 0);
  auto out = LineOut::create(fifo);
  ASSERT_TRUE(out);
  ::close(reader);
  auto* const handler = std::signal(SIGPIPE, SIG_IGN);
  const auto written = out->write("x");
  std::signal(SIGPIPE, handler);
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, ErrorCode::io_failed);
  EXPECT_THAT(written.error().message, HasSubstr("went away"));
}

}  // namespace
}  // namespace geonce
