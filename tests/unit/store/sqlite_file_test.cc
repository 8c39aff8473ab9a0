#include "store/sqlite_file.h"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "store/sql_steps.h"
#include "support/child_process.h"
#include "support/temp_dir.h"

// What can be wrong with the file, and that each of it is said clearly.

namespace geonce {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

class SqliteFile : public testing::Test {
 protected:
  [[nodiscard]] SqliteOptions options() const {
    SqliteOptions options;
    options.path = path_;
    options.busy_timeout = 50ms;
    return options;
  }
  [[nodiscard]] Result<std::unique_ptr<Store>> open() const { return open_sqlite_store(options()); }
  /// The error of opening; internal when there is none.
  [[nodiscard]] Error refusal() const {
    auto opened = open();
    if (opened) return {};
    return opened.error();
  }
  [[nodiscard]] std::unique_ptr<SqliteDb> raw() const {
    return std::move(*SqliteDb::open({path_, 1U << 20U, 1s, false}));
  }
  static Slot slot(std::uint32_t n) {
    Slot slot;
    for (std::size_t i = 0; i < slot.key.bytes.size(); ++i)
      slot.key.bytes[i] = static_cast<std::uint8_t>(n * 2654435761U >> (i % 4 * 8));
    std::memcpy(slot.key.bytes.data() + 4, &n, sizeof n);
    return slot;
  }
  static TakeRequest ask(std::uint32_t n) {
    TakeRequest request;
    request.slot = slot(n);
    request.intent = make_uuid(system_clock());
    request.chain = std::make_shared<const std::vector<std::string>>(1, "alpha");
    request.query_json = "{}";
    return request;
  }
  static CommitRequest answer(std::uint32_t n, std::size_t size = 100) {
    Answer match;
    match.kind = AnswerKind::match;
    match.at = LatLng{1, 2};
    match.provider = "alpha";
    match.formatted = std::string(size, 'x');
    CommitRequest request;
    request.slot = slot(n);
    request.gen = 1;
    request.answer = std::make_shared<const Answer>(match);
    request.life = {24h, 24h, 24h};
    request.query_json = "{}";
    return request;
  }
  static Result<std::vector<Committed>> commit(Store& store,
                                               std::uint32_t first,
                                               std::uint32_t count) {
    std::vector<CommitRequest> requests;
    for (std::uint32_t n = first; n < first + count; ++n) requests.push_back(answer(n));
    return store.commit(requests, Deadline::never());
  }
  /// A closed store with `count` entries.
  void make_store(std::uint32_t count) const {
    auto store = open();
    ASSERT_TRUE(store) << store.error().message;
    ASSERT_TRUE(commit(**store, 0, count));
  }

  TempDir folder_;
  std::string path_ = folder_.file("geonce.db");
};

// --- where it is
// --------------------------------------------------------------------------------------

TEST_F(SqliteFile, a_new_store_can_be_read_by_its_owner_alone) {
  make_store(1);
  auto store = open();
  ASSERT_TRUE(commit(**store, 1, 1));
  for (const auto* suffix : {"", "-wal", "-shm"}) {
    struct stat status {};
    ASSERT_EQ(::stat((path_ + suffix).c_str(), &status), 0) << suffix;
    EXPECT_EQ(status.st_mode & 0777, 0600U) << suffix;
  }
}

TEST_F(SqliteFile, a_closed_store_is_one_file) {
  make_store(10);
  EXPECT_FALSE(fs::exists(path_ + "-wal"));
  EXPECT_FALSE(fs::exists(path_ + "-shm"));
}

TEST_F(SqliteFile, a_second_store_in_one_process_does_not_take_the_first_ones_locks) {
  Pipe go_on;
  // A process that believes to be the last one cuts the log away; it has to see that it is not.
  ChildProcess child([&] {
    char go = 0;
    ASSERT_TRUE(go_on.read(go));
    auto db = raw();
    auto row = db->prepare("SELECT count(*) FROM entry");
    EXPECT_TRUE(row.step());
  });
  auto first = open();
  ASSERT_TRUE(commit(**first, 0, 1));
  (void)open();
  go_on.write('g');
  EXPECT_TRUE(child.join());
  EXPECT_TRUE(fs::exists(path_ + "-wal"));
  ASSERT_TRUE(commit(**first, 1, 1));
  EXPECT_TRUE((*first)->check(Deadline::never()));
}

TEST_F(SqliteFile, a_name_with_a_meaning_to_sqlite_is_a_file_like_any_other) {
  const auto before = fs::current_path();
  fs::current_path(folder_.path());
  path_ = ":memory:";
  make_store(1);
  EXPECT_TRUE(fs::exists(folder_.file(":memory:")));
  fs::current_path(before);
}

TEST_F(SqliteFile, a_folder_as_path_is_refused) {
  path_ = folder_.path();
  EXPECT_EQ(refusal().code, ErrorCode::store_unavailable);
  EXPECT_THAT(refusal().message, AllOf(HasSubstr(path_), HasSubstr("folder")));
}

TEST_F(SqliteFile, a_missing_folder_is_named) {
  path_ = folder_.file("no/geonce.db");
  EXPECT_EQ(refusal().code, ErrorCode::store_unavailable);
  EXPECT_THAT(refusal().message, HasSubstr(folder_.file("no")));
}

TEST_F(SqliteFile, a_file_in_the_place_of_the_folder_is_named) {
  folder_.write("no", "x");
  path_ = folder_.file("no/geonce.db");
  EXPECT_EQ(refusal().code, ErrorCode::store_unavailable);
}

TEST_F(SqliteFile, a_missing_store_is_not_made_when_it_should_be_there) {
  auto wanted = options();
  wanted.create = false;
  const auto opened = open_sqlite_store(wanted);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, ErrorCode::store_unavailable);
  EXPECT_FALSE(fs::exists(path_));
}

TEST_F(SqliteFile, a_device_is_no_store) {
  path_ = "/dev/null";
  EXPECT_EQ(refusal().code, ErrorCode::store_unavailable);
}

/// As a user whom file permissions bind, which root is not.
void become_nobody() {
  if (::geteuid() == 0) {
    ASSERT_EQ(::setresuid(65534, 65534, 65534), 0);
  }
}

TEST_F(SqliteFile, a_file_that_may_only_be_read_is_refused) {
  make_store(1);
  ::chmod(folder_.path().c_str(), 0777);
  ::chmod(path_.c_str(), 0444);
  ChildProcess child([&] {
    become_nobody();
    EXPECT_EQ(refusal().code, ErrorCode::store_unavailable);
    EXPECT_THAT(refusal().message, AllOf(HasSubstr(path_), HasSubstr("permission")));
  });
  EXPECT_TRUE(child.join());
}

TEST_F(SqliteFile, a_folder_that_may_only_be_read_is_refused) {
  make_store(1);
  ::chmod(path_.c_str(), 0666);
  ::chmod(folder_.path().c_str(), 0555);
  ChildProcess child([&] {
    become_nobody();
    EXPECT_EQ(refusal().code, ErrorCode::store_unavailable);
    EXPECT_THAT(refusal().message, AllOf(HasSubstr(folder_.path()), HasSubstr("log")));
  });
  EXPECT_TRUE(child.join());
  ::chmod(folder_.path().c_str(), 0755);
}

TEST(NetworkFileSystem, those_of_other_machines_are_known_by_their_number_and_local_ones_are_not) {
  struct Row {
    long type;
    std::string_view name;
  };
  for (const auto& [type, name] :
       {Row{0x6969, "NFS"},
        Row{0x517B, "SMB"},
        Row{0xFF534D42, "CIFS"},
        Row{static_cast<std::int32_t>(0xFF534D42), "CIFS"},  // sign-extended
        Row{0xFE534D42, "SMB2"},
        Row{0x00C36400, "Ceph"},
        Row{0xEF53, ""},       // ext4
        Row{0x9123683E, ""},   // btrfs
        Row{0x58465342, ""},   // xfs
        Row{0x01021994, ""},   // tmpfs
        Row{0x794C7630, ""}})  // overlayfs
    EXPECT_EQ(network_file_system(type), name) << type;
}

// --- what is in it
// ------------------------------------------------------------------------------------

TEST_F(SqliteFile, a_file_of_other_bytes_is_refused_and_left_as_it_is) {
  const std::string bytes = "address,city\n" + std::string(20'000, 'x');
  folder_.write("geonce.db", bytes);
  EXPECT_EQ(refusal().code, ErrorCode::store_corrupt);
  EXPECT_THAT(refusal().message, HasSubstr(path_));
  EXPECT_EQ(folder_.read("geonce.db"), bytes);
}

TEST_F(SqliteFile, an_empty_file_becomes_a_store) {
  folder_.write("geonce.db", "");
  EXPECT_TRUE(open());
}

TEST_F(SqliteFile, the_database_of_another_program_is_refused) {
  folder_.write("geonce.db", "");
  raw()->execute("CREATE TABLE theirs (a); INSERT INTO theirs VALUES (1)");
  EXPECT_EQ(refusal().code, ErrorCode::store_corrupt);
  EXPECT_THAT(refusal().message, HasSubstr("no geonce store"));
  auto db = raw();
  auto row = db->prepare("SELECT count(*) FROM sqlite_schema");
  ASSERT_TRUE(row.step());
  EXPECT_EQ(row.integer(0), 1) << "nothing of ours was put into it";
}

TEST_F(SqliteFile, a_header_that_is_overwritten_is_damage) {
  make_store(10);
  std::fstream(path_, std::ios::in | std::ios::out | std::ios::binary)
      .write("garbage garbage garbage", 23);
  EXPECT_EQ(refusal().code, ErrorCode::store_corrupt);
}

TEST_F(SqliteFile, a_file_that_is_cut_off_is_damage) {
  make_store(500);
  fs::resize_file(path_, fs::file_size(path_) / 2 + 100);
  EXPECT_EQ(refusal().code, ErrorCode::store_corrupt);
  EXPECT_THAT(refusal().message, AllOf(HasSubstr(path_), HasSubstr("copy")));
}

TEST_F(SqliteFile, a_page_that_is_overwritten_is_found_by_the_check_and_by_who_reads_it) {
  make_store(2000);
  // The first page is the schema's; all others hold rows and indexes. Every second one is spoilt.
  const auto size = fs::file_size(path_);
  std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
  const std::string garbage(8192, '\x5A');
  for (std::uintmax_t at = 40 * 8192; at + 8192 <= size; at += 2 * 8192) {
    file.seekp(static_cast<std::streamoff>(at));
    file.write(garbage.data(), static_cast<std::streamsize>(garbage.size()));
  }
  file.close();
  auto store = open();
  ASSERT_TRUE(store) << store.error().message;
  const auto checked = (*store)->check(Deadline::never());
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().code, ErrorCode::store_corrupt);
  std::vector<Slot> slots;
  for (std::uint32_t n = 0; n < 2000; ++n) slots.push_back(slot(n));
  const auto found = (*store)->find(slots, Deadline::never());
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, ErrorCode::store_corrupt);
}

TEST_F(SqliteFile,
       an_answer_that_cannot_be_read_is_a_miss_that_one_new_call_heals_and_the_check_finds) {
  make_store(3);
  raw()->execute("UPDATE entry SET payload = x'0102' WHERE id = 2");
  auto store = open();
  const std::vector slots{slot(0), slot(1), slot(2)};
  const auto found = (*store)->find(slots, Deadline::never());
  ASSERT_TRUE(found);
  EXPECT_EQ(
      std::count_if(found->begin(), found->end(), [](const auto& one) { return one.has_value(); }),
      2);
  const auto checked = (*store)->check(Deadline::never());
  ASSERT_FALSE(checked);
  EXPECT_THAT(checked.error().message, HasSubstr("n1_"));
  std::uint32_t lost = 0;
  while ((*found)[lost]) ++lost;
  const auto request = ask(lost);
  const auto taken = (*store)->take({&request, 1}, Deadline::never());
  ASSERT_EQ(taken->front().verdict, Taken::Verdict::send);
  auto end = answer(lost);
  end.fence = taken->front().fence;
  end.gen = taken->front().gen;
  ASSERT_TRUE((*store)->commit({&end, 1}, Deadline::never())->front().stored);
  EXPECT_TRUE((*store)->check(Deadline::never()));
}

// --- its schema
// ---------------------------------------------------------------------------------------

TEST_F(SqliteFile, the_steps_are_numbered_without_gaps) {
  int number = 0;
  for (const auto& step : sqlite_steps()) {
    EXPECT_EQ(step.number, ++number);
    EXPECT_EQ(step.checksum.size(), 64U);
    EXPECT_FALSE(step.text.empty());
  }
  EXPECT_GE(number, 1);
}

TEST_F(SqliteFile, each_step_is_noted_in_the_store) {
  make_store(0);
  auto db = raw();
  auto row = db->prepare("SELECT number, name, checksum FROM schema_step ORDER BY number");
  for (const auto& step : sqlite_steps()) {
    ASSERT_TRUE(row.step());
    EXPECT_EQ(row.integer(0), step.number);
    EXPECT_EQ(row.bytes(1), step.name);
    EXPECT_EQ(row.bytes(2), step.checksum);
  }
  EXPECT_FALSE(row.step());
}

constexpr const char* kNewerStep =
    "INSERT INTO schema_step VALUES (999, '999_future', 'x', 0); PRAGMA user_version = 999;";

TEST_F(SqliteFile, a_store_of_a_newer_program_is_refused) {
  make_store(1);
  raw()->execute(kNewerStep);
  EXPECT_EQ(refusal().code, ErrorCode::store_newer);
  EXPECT_THAT(refusal().message, AllOf(HasSubstr("999"), HasSubstr("update geonce")));
}

TEST_F(SqliteFile, a_store_that_a_newer_program_changes_meanwhile_is_not_written_any_more) {
  auto store = open();
  ASSERT_TRUE(commit(**store, 0, 1));
  raw()->execute(kNewerStep);
  const auto refused = commit(**store, 1, 1);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::store_newer);
}

TEST_F(SqliteFile, a_store_made_by_other_steps_of_the_same_number_is_refused) {
  make_store(1);
  raw()->execute("UPDATE schema_step SET checksum = 'other' WHERE number = 1");
  EXPECT_EQ(refusal().code, ErrorCode::store_newer);
  EXPECT_THAT(refusal().message, HasSubstr("001_tables"));
}

// --- who else has it
// ----------------------------------------------------------------------------------

TEST_F(SqliteFile,
       a_store_locked_by_another_process_is_busy_after_a_while_and_works_when_it_lets_go) {
  make_store(1);
  Pipe locked;
  Pipe go_on;
  ChildProcess child([&] {
    auto db = raw();
    auto held = SqliteTransaction::begin(*db, SqliteTransaction::Kind::write);
    ASSERT_TRUE(held);
    locked.write('l');
    char answer = 0;
    go_on.read(answer);
  });
  char answer = 0;
  ASSERT_TRUE(locked.read(answer));
  {
    EXPECT_EQ(refusal().code, ErrorCode::store_busy)
        << "opening looks at the schema under the lock";
    EXPECT_THAT(refusal().message, AllOf(HasSubstr(path_), HasSubstr("locked")));
  }
  go_on.write('g');
  EXPECT_TRUE(child.join());
  EXPECT_TRUE(open());
}

TEST_F(SqliteFile,
       a_lock_that_comes_while_the_store_is_open_makes_writing_busy_and_reading_goes_on) {
  make_store(1);
  auto store = open();
  auto db = raw();
  {
    auto held = SqliteTransaction::begin(*db, SqliteTransaction::Kind::write);
    const auto refused = commit(**store, 1, 1);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::store_busy);
    const auto where = slot(0);
    EXPECT_TRUE((*store)->find({&where, 1}, Deadline::never())->front());
  }
  EXPECT_TRUE(commit(**store, 1, 1));
}

// --- no space
// -----------------------------------------------------------------------------------------

/// In a child with a mount of its own: a disk of `bytes` at `folder`.
void mount_small_disk(const std::string& folder, std::size_t bytes) {
  const int flags = CLONE_NEWNS | (::geteuid() == 0 ? 0 : CLONE_NEWUSER);
  ASSERT_EQ(::unshare(flags), 0) << "this test needs a mount namespace (root, or user namespaces)";
  ASSERT_EQ(::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr), 0);
  ASSERT_EQ(::mount("tmpfs", folder.c_str(), "tmpfs", 0, fmt::format("size={}", bytes).c_str()), 0)
      << "this test needs to mount a tmpfs";
}

TEST_F(SqliteFile, a_full_disk_is_said_and_the_store_goes_on_when_there_is_space_again) {
  ChildProcess child([&] {
    ASSERT_NO_FATAL_FAILURE(mount_small_disk(folder_.path(), 6U << 20U));
    folder_.write("ballast", std::string(2U << 20U, 'x'));
    auto store = open();
    ASSERT_TRUE(store) << store.error().message;
    std::uint32_t stored = 0;
    Result<std::vector<Committed>> last;
    while ((last = commit(**store, stored, 50))) stored += 50;
    EXPECT_EQ(last.error().code, ErrorCode::disk_full) << last.error().message;
    EXPECT_THAT(last.error().message, AllOf(HasSubstr(path_), HasSubstr("space")));
    EXPECT_GT(stored, 0U);

    std::vector<Slot> slots;
    for (std::uint32_t n = 0; n < stored + 50; ++n) slots.push_back(slot(n));
    const auto found = (*store)->find(slots, Deadline::never());
    ASSERT_TRUE(found) << "reading goes on: " << found.error().message;
    for (std::uint32_t n = 0; n < stored + 50; ++n)
      EXPECT_EQ((*found)[n].has_value(), n < stored) << n;

    fs::remove(folder_.file("ballast"));
    const auto again = commit(**store, stored, 50);
    EXPECT_TRUE(again) << again.error().message;
    EXPECT_TRUE((*store)->check(Deadline::never()));
  });
  EXPECT_TRUE(child.join());
}

TEST_F(SqliteFile, a_disk_too_full_for_a_new_store_is_said) {
  ChildProcess child([&] {
    ASSERT_NO_FATAL_FAILURE(mount_small_disk(folder_.path(), 64U << 10U));
    folder_.write("ballast", std::string(60U << 10U, 'x'));
    EXPECT_EQ(refusal().code, ErrorCode::disk_full) << refusal().message;
    fs::remove(folder_.file("ballast"));
  });
  EXPECT_TRUE(child.join());
}

}  // namespace
}  // namespace geonce
