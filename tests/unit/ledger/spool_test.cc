#include "ledger/spool.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <fstream>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <mutex>
#include <random>
#include <set>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

/// What this binary's fdatasync does: counts, waits where a test says so, fails where a test says
/// so.
std::atomic<int> sync_calls{0};
std::atomic<bool> sync_fails{false};
std::function<void()> before_sync;  // set while no spool is in use
/// A file system that sets aside no block behind this offset.
std::atomic<off_t> blocks_end{std::numeric_limits<off_t>::max()};

}  // namespace

extern "C" int fdatasync(int fd) {
  ++sync_calls;
  if (before_sync) before_sync();
  if (sync_fails) {
    errno = EIO;
    return -1;
  }
  return static_cast<int>(::syscall(SYS_fdatasync, fd));
}

namespace {
int set_aside(int fd, int mode, off_t offset, off_t size) {
  if (size > blocks_end - offset) {
    errno = ENOSPC;
    return -1;
  }
  return static_cast<int>(::syscall(SYS_fallocate, fd, mode, offset, size));
}
}  // namespace

// Which of the two names the library calls depends on _FILE_OFFSET_BITS, which packages set.
extern "C" int fallocate(int fd, int mode, off_t offset, off_t size) {
  return set_aside(fd, mode, offset, size);
}
extern "C" int fallocate64(int fd, int mode, off64_t offset, off64_t size) {
  return set_aside(fd, mode, offset, size);
}

namespace geonce {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

class SpoolTest : public ::testing::Test {
 protected:
  SpoolTest() {
    std::string pattern = (fs::temp_directory_path() / "geonce-spool-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) std::abort();
    root_ = pattern;
    folder_ = root_ / "state" / "spool";
  }
  ~SpoolTest() override { fs::remove_all(root_); }

  static Uuid id() { return make_uuid(system_clock()); }
  static std::vector<IntentId> ids(std::size_t count) {
    std::vector<IntentId> list(count);
    std::generate(list.begin(), list.end(), id);
    return list;
  }

  std::unique_ptr<Spool> open(const OwnerId& owner, SpoolSync sync = SpoolSync::none) {
    auto spool = open_spool(folder_, owner, sync);
    if (!spool) ADD_FAILURE() << spool.error().message;
    return spool ? std::move(*spool) : nullptr;
  }

  fs::path file_of(const OwnerId& owner) const { return folder_ / (to_string(owner) + ".spool"); }

  std::vector<DeadSpool> adopt() {
    std::vector<DeadSpool> all;
    const auto adopted = adopt_dead_spools(folder_, [&](const DeadSpool& dead) -> Result<void> {
      all.push_back(dead);
      return {};
    });
    EXPECT_TRUE(adopted) << adopted.error().message;
    EXPECT_EQ(adopted->spools, all.size());
    return all;
  }

  static std::string read(const fs::path& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  static void write(const fs::path& path, std::string_view bytes) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
  }

  fs::path root_, folder_;
};

SpooledResponse response_to(std::vector<IntentId> intents, std::string body = R"({"ok":true})") {
  SpooledResponse response;
  response.intents = std::move(intents);
  response.provider = "example";
  response.http_status = 200;
  response.headers = {{"content-type", "application/json"}, {"x-request-id", "7"}};
  response.body = std::move(body);
  return response;
}

/// Runs `body` in a child process, which ends by the signal or code that is returned.
template <class F>
int status_of_child(F&& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    body();
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return status;
}

TEST_F(SpoolTest, gives_what_a_dead_process_sent_and_got_to_who_adopts_it) {
  const OwnerId owner = id();
  const auto single = id();
  const auto bulk = ids(3);
  const auto lost = id();
  const auto answer = response_to({single});
  auto many = response_to(bulk, std::string("a\0b\n", 4) + std::string(100'000, 'x'));
  many.bulk = true;
  many.http_status = 207;
  {
    auto spool = open(owner);
    ASSERT_TRUE(spool->mark_sent({&single, 1}));
    ASSERT_TRUE(spool->mark_sent({&lost, 1}));
    ASSERT_TRUE(spool->mark_sent(bulk));
    ASSERT_TRUE(spool->append(answer));
    ASSERT_TRUE(spool->append(many));
  }
  const auto dead = adopt();
  ASSERT_EQ(dead.size(), 1U);
  EXPECT_EQ(dead[0].owner, owner);
  EXPECT_THAT(dead[0].marked, ElementsAre(lost));
  EXPECT_THAT(dead[0].responses, ElementsAre(answer, many));
  EXPECT_TRUE(dead[0].complete);
  EXPECT_EQ(dead[0].damage, "");
  EXPECT_THAT(adopt(), IsEmpty()) << "adopted once";
  EXPECT_TRUE(fs::is_empty(folder_));
}

TEST_F(SpoolTest, tells_of_a_process_that_died_before_it_sent_anything) {
  // What it had prepared can be voided: only a complete spool without a mark proves that.
  const OwnerId owner = id();
  status_of_child([&] {
    auto spool = open_spool(folder_, owner, SpoolSync::batch);
    ::raise(SIGKILL);
  });
  const auto dead = adopt();
  ASSERT_EQ(dead.size(), 1U);
  EXPECT_EQ(dead[0].owner, owner);
  EXPECT_TRUE(dead[0].complete);
  EXPECT_THAT(dead[0].marked, IsEmpty());
}

TEST_F(SpoolTest, is_for_its_owner_alone_to_read) {
  const OwnerId owner = id();
  auto spool = open(owner);
  struct stat status {};
  ASSERT_EQ(::stat(folder_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0700U);
  ASSERT_EQ(::stat(file_of(owner).c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
}

TEST_F(SpoolTest, of_a_living_process_is_nobody_elses) {
  const auto intent = id();
  auto spool = open(id());
  ASSERT_TRUE(spool->mark_sent({&intent, 1}));
  EXPECT_THAT(adopt(), IsEmpty());
  spool.reset();
  EXPECT_EQ(adopt().size(), 1U);
}

TEST_F(SpoolTest, of_a_killed_process_is_free_at_once) {
  const OwnerId owner = id();
  const auto intent = id();
  const int status = status_of_child([&] {
    auto spool = open_spool(folder_, owner, SpoolSync::none);
    if (!spool || !(*spool)->mark_sent({&intent, 1})) ::_exit(1);
    ::raise(SIGKILL);
  });
  ASSERT_TRUE(WIFSIGNALED(status));
  const auto dead = adopt();
  ASSERT_EQ(dead.size(), 1U);
  EXPECT_THAT(dead[0].marked, ElementsAre(intent));
}

TEST_F(SpoolTest, keeps_nothing_on_disk_once_all_is_settled) {
  const OwnerId owner = id();
  const auto intents = ids(2);
  auto spool = open(owner);
  const auto empty = fs::file_size(file_of(owner));
  ASSERT_TRUE(spool->mark_sent(intents));
  ASSERT_TRUE(spool->append(response_to({intents[0]})));
  ASSERT_TRUE(spool->settled({intents.data(), 1}));
  EXPECT_GT(fs::file_size(file_of(owner)), empty) << "the second is still open";
  ASSERT_TRUE(spool->settled({intents.data() + 1, 1}));
  EXPECT_EQ(fs::file_size(file_of(owner)), empty);

  const auto next = id();
  ASSERT_TRUE(spool->mark_sent({&next, 1}));
  spool.reset();
  const auto dead = adopt();
  ASSERT_EQ(dead.size(), 1U);
  EXPECT_THAT(dead[0].marked, ElementsAre(next));
}

TEST_F(SpoolTest, is_gone_when_its_process_ends_with_everything_settled) {
  const auto intent = id();
  auto spool = open(id());
  ASSERT_TRUE(spool->mark_sent({&intent, 1}));
  ASSERT_TRUE(spool->settled({&intent, 1}));
  spool.reset();
  EXPECT_TRUE(fs::is_empty(folder_));
}

TEST_F(SpoolTest, stays_small_under_calls_that_never_pause) {
  const OwnerId owner = id();
  auto spool = open(owner);
  std::vector<IntentId> open_intents;
  std::vector<SpooledResponse> open_responses;
  std::uintmax_t largest = 0;
  const auto stuck = id();  // keeps the file from ever being all settled
  ASSERT_TRUE(spool->mark_sent({&stuck, 1}));
  for (int i = 0; i < 3'000; ++i) {
    const auto intent = id();
    ASSERT_TRUE(spool->mark_sent({&intent, 1}));
    open_responses.push_back(
        response_to({intent}, std::string(50'000, static_cast<char>('a' + i % 26))));
    ASSERT_TRUE(spool->append(open_responses.back()));
    open_intents.push_back(intent);
    if (open_intents.size() > 8) {
      ASSERT_TRUE(spool->settled({open_intents.data(), 1}));
      open_intents.erase(open_intents.begin());
      open_responses.erase(open_responses.begin());
    }
    largest = std::max(largest, fs::file_size(file_of(owner)));
  }
  EXPECT_LT(largest, 20U << 20U) << "of 150 MB that went through";
  EXPECT_THAT(adopt(), IsEmpty()) << "the new file is locked as the old one was";
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 1) << "nothing else is left behind";
  spool.reset();
  const auto dead = adopt();
  ASSERT_EQ(dead.size(), 1U);
  EXPECT_THAT(dead[0].marked, ElementsAre(stuck));
  // Settled ones may still stand before them.
  ASSERT_GE(dead[0].responses.size(), open_responses.size());
  EXPECT_TRUE(
      std::equal(open_responses.rbegin(), open_responses.rend(), dead[0].responses.rbegin()));
  EXPECT_TRUE(dead[0].complete);
}

TEST_F(SpoolTest, on_a_full_disk_says_so_and_goes_on_when_there_is_room_again) {
  const OwnerId owner = id();
  const auto first = id();
  const auto second = id();
  const auto third = id();
  const int status = status_of_child([&] {
    auto made = open_spool(folder_, owner, SpoolSync::batch);
    if (!made) ::_exit(1);
    Spool& spool = **made;
    if (!spool.mark_sent({&first, 1})) ::_exit(2);
    const auto size = fs::file_size(file_of(owner));
    // The limit lets a part of the next record through, as a full disk does.
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit tight{size + 20, RLIM_INFINITY};
    if (::setrlimit(RLIMIT_FSIZE, &tight) != 0) ::_exit(3);
    for (int i = 0; i < 3; ++i) {
      const auto refused = spool.mark_sent({&second, 1});
      if (refused || refused.error().code != ErrorCode::disk_full) ::_exit(4);
      if (spool.append(response_to({first}))) ::_exit(5);
      if (fs::file_size(file_of(owner)) != size) ::_exit(6);
    }
    const rlimit wide{RLIM_INFINITY, RLIM_INFINITY};
    if (::setrlimit(RLIMIT_FSIZE, &wide) != 0) ::_exit(7);
    if (!spool.mark_sent({&third, 1})) ::_exit(8);
    ::raise(SIGKILL);
  });
  ASSERT_TRUE(WIFSIGNALED(status)) << WEXITSTATUS(status);
  const auto dead = adopt();
  ASSERT_EQ(dead.size(), 1U);
  EXPECT_THAT(dead[0].marked, ElementsAre(first, third));
  EXPECT_EQ(dead[0].damage, "");
}

TEST_F(SpoolTest, lets_no_call_go_whose_answer_would_find_no_room) {
  const OwnerId owner = id();
  const auto spool = open(owner);
  const auto let_go = [&](const IntentId& intent) {
    const auto marked = spool->mark_sent({&intent, 1});
    EXPECT_TRUE(marked || marked.error().code == ErrorCode::disk_full);
    return marked.has_value();
  };
  blocks_end = 20'000;  // of answers of 4 KiB each there go four
  const auto first = ids(4);
  for (const IntentId& intent : first) EXPECT_TRUE(let_go(intent));
  const auto size = fs::file_size(file_of(owner));
  EXPECT_FALSE(let_go(id()));
  EXPECT_EQ(fs::file_size(file_of(owner)), size);
  EXPECT_TRUE(spool->settled(std::span(first).first(1)));
  EXPECT_TRUE(let_go(id()));
  EXPECT_FALSE(let_go(id()));
  blocks_end = std::numeric_limits<off_t>::max();
  EXPECT_TRUE(let_go(id()));
}

TEST_F(SpoolTest, holds_as_much_room_as_answers_turn_out_to_need) {
  const OwnerId owner = id();
  const auto spool = open(owner);
  const auto two = ids(2);
  ASSERT_TRUE(spool->mark_sent(std::span(two).first(1)));
  auto large = response_to({two[0]});
  large.body.assign(30'000, 'x');
  ASSERT_TRUE(spool->append(large));
  const auto size = static_cast<off_t>(fs::file_size(file_of(owner)));
  blocks_end = size + 300'000;  // less than is set aside already, but for the ninth and tenth
  std::size_t let_go = 0;
  while (let_go < 20) {
    const IntentId intent = id();
    if (!spool->mark_sent({&intent, 1})) break;
    ++let_go;
  }
  blocks_end = std::numeric_limits<off_t>::max();
  EXPECT_GE(let_go, 8U);
  EXPECT_LE(let_go, 9U);
}

TEST_F(SpoolTest, after_an_answer_that_found_no_room_lets_no_call_go_until_there_is_some) {
  const OwnerId owner = id();
  const auto first = id();
  const auto second = id();
  const auto third = id();
  const int status = status_of_child([&] {
    auto made = open_spool(folder_, owner, SpoolSync::batch);
    if (!made) ::_exit(1);
    Spool& spool = **made;
    if (!spool.mark_sent({&first, 1})) ::_exit(2);
    const auto size = fs::file_size(file_of(owner));
    // Room for a mark, and not for an answer; `fallocate` does not look at this limit.
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit tight{size + 60, RLIM_INFINITY};
    if (::setrlimit(RLIMIT_FSIZE, &tight) != 0) ::_exit(3);
    if (spool.append(response_to({first}))) ::_exit(4);
    for (int i = 0; i < 3; ++i) {
      const auto refused = spool.mark_sent({&second, 1});
      if (refused || refused.error().code != ErrorCode::disk_full) ::_exit(5);
      if (fs::file_size(file_of(owner)) != size) ::_exit(6);
    }
    const rlimit wide{RLIM_INFINITY, RLIM_INFINITY};
    if (::setrlimit(RLIMIT_FSIZE, &wide) != 0) ::_exit(7);
    if (!spool.mark_sent({&third, 1})) ::_exit(8);
    ::raise(SIGKILL);
  });
  ASSERT_TRUE(WIFSIGNALED(status)) << WEXITSTATUS(status);
  const auto dead = adopt();
  ASSERT_EQ(dead.size(), 1U);
  EXPECT_THAT(dead[0].marked, ElementsAre(first, third));
  EXPECT_TRUE(dead[0].complete);
}

TEST_F(SpoolTest, cannot_be_opened_where_there_is_no_room_or_no_folder) {
  write(root_ / "file", "x");
  const auto in_a_file = open_spool(root_ / "file", id(), SpoolSync::none);
  ASSERT_FALSE(in_a_file);
  EXPECT_EQ(in_a_file.error().code, ErrorCode::io_failed);
  EXPECT_THAT(in_a_file.error().message, HasSubstr((root_ / "file").string()));

  const int status = status_of_child([&] {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit tight{10, RLIM_INFINITY};
    ::setrlimit(RLIMIT_FSIZE, &tight);
    const auto full = open_spool(folder_, id(), SpoolSync::none);
    ::_exit(!full && full.error().code == ErrorCode::disk_full ? 0 : 1);
  });
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(fs::is_empty(folder_)) << "and leaves no half file";
}

TEST_F(SpoolTest, cut_off_at_any_byte_still_gives_every_whole_record) {
  const OwnerId owner = id();
  const auto intents = ids(2);
  std::vector<std::uintmax_t> ends;
  {
    auto spool = open(owner);
    ends.push_back(fs::file_size(file_of(owner)));
    ASSERT_TRUE(spool->mark_sent(intents));
    ends.push_back(fs::file_size(file_of(owner)));
    ASSERT_TRUE(spool->append(response_to({intents[0]})));
    ends.push_back(fs::file_size(file_of(owner)));
  }
  const std::string whole = read(file_of(owner));
  for (std::size_t size = 0; size <= whole.size(); ++size) {
    write(file_of(owner), std::string_view(whole).substr(0, size));
    const auto dead = adopt();
    EXPECT_FALSE(fs::exists(file_of(owner)));
    if (size < ends[0]) {
      EXPECT_THAT(dead, IsEmpty()) << "nothing can have been sent before the head was whole";
      continue;
    }
    ASSERT_EQ(dead.size(), 1U) << size;
    EXPECT_TRUE(dead[0].complete) << "a record that is not whole let nothing go on";
    EXPECT_EQ(dead[0].marked.size(), size < ends[1] ? 0U : size < ends[2] ? 2U : 1U) << size;
    EXPECT_EQ(dead[0].responses.size(), size < ends[2] ? 0U : 1U) << size;
    const bool at_an_end = std::find(ends.begin(), ends.end(), size) != ends.end();
    EXPECT_EQ(dead[0].damage.empty(), at_an_end) << size;
  }
}

TEST_F(SpoolTest, with_a_bad_record_gives_the_others_and_vouches_for_nothing_more) {
  const OwnerId owner = id();
  const auto intents = ids(3);
  std::vector<std::uintmax_t> ends;
  {
    auto spool = open(owner);
    for (const auto& intent : intents) {
      ends.push_back(fs::file_size(file_of(owner)));
      ASSERT_TRUE(spool->mark_sent({&intent, 1}));
    }
  }
  const std::string whole = read(file_of(owner));
  std::string bad_payload = whole;
  bad_payload[ends[2] - 1] ^= 1;
  write(file_of(owner), bad_payload);
  auto dead = adopt();
  ASSERT_EQ(dead.size(), 1U);
  EXPECT_THAT(dead[0].marked, ElementsAre(intents[0], intents[2]));
  EXPECT_FALSE(dead[0].complete);
  EXPECT_THAT(dead[0].damage, HasSubstr("byte " + std::to_string(ends[1])));

  std::string bad_length = whole;
  bad_length[ends[1]] ^= 1;
  write(file_of(owner), bad_length);
  dead = adopt();
  ASSERT_EQ(dead.size(), 1U);
  EXPECT_THAT(dead[0].marked, ElementsAre(intents[0]));
  EXPECT_FALSE(dead[0].complete);
  EXPECT_NE(dead[0].damage, "");

  std::string bad_head = whole;
  bad_head[20] ^= 1;
  write(file_of(owner), bad_head);
  dead = adopt();
  ASSERT_EQ(dead.size(), 1U);
  EXPECT_EQ(dead[0].owner, owner) << "from the name";
  EXPECT_FALSE(dead[0].complete);
}

TEST_F(SpoolTest, under_random_damage_never_crashes_and_never_gives_what_was_not_written) {
  const OwnerId owner = id();
  std::mt19937_64 chance(20'261'130);
  std::set<IntentId> marked;
  std::map<IntentId, SpooledResponse> responses;
  {
    auto spool = open(owner);
    for (int i = 0; i < 40; ++i) {
      auto intents = ids(1 + chance() % 4);
      marked.insert(intents.begin(), intents.end());
      ASSERT_TRUE(spool->mark_sent(intents));
      const auto response = response_to(intents, std::string(chance() % 300, 'b'));
      responses.emplace(intents[0], response);
      ASSERT_TRUE(spool->append(response));
    }
  }
  const std::string whole = read(file_of(owner));
  int damaged = 0;
  for (int round = 0; round < 4'000; ++round) {
    std::string file = whole;
    const auto at = [&] { return chance() % file.size(); };
    for (auto left = 1 + chance() % 4; left > 0 && !file.empty(); --left) {
      switch (chance() % 5) {
        case 0:
          file[at()] = static_cast<char>(chance());
          break;
        case 1:
          file.resize(at());
          break;
        case 2:
          file.erase(at(), 1 + chance() % 64);
          break;
        case 3:
          file.insert(at(), 1 + chance() % 64, static_cast<char>(chance()));
          break;
        default: {
          const std::size_t from = at();
          for (std::size_t i = from; i < std::min(file.size(), from + 512); ++i) file[i] = 0;
        }
      }
    }
    write(file_of(owner), file);
    const auto dead = adopt();
    fs::remove(file_of(owner));  // where it was no spool any more it stays
    if (dead.empty()) continue;
    ASSERT_EQ(dead.size(), 1U);
    for (const auto& intent : dead[0].marked) ASSERT_TRUE(marked.contains(intent));
    for (const auto& response : dead[0].responses) {
      ASSERT_FALSE(response.intents.empty());
      ASSERT_EQ(response, responses.at(response.intents[0]));
    }
    if (dead[0].complete && dead[0].damage.empty()) {
      ASSERT_EQ(whole.substr(0, file.size()), file) << "no damage is passed over";
    }
    damaged += dead[0].complete ? 0 : 1;
  }
  EXPECT_GT(damaged, 1'000);
}

TEST_F(SpoolTest, that_was_never_synced_vouches_for_nothing_after_the_machine_restarted) {
  for (const auto sync : {SpoolSync::none, SpoolSync::batch}) {
    const OwnerId owner = id();
    const auto intent = id();
    {
      auto spool = open(owner, sync);
      ASSERT_TRUE(spool->mark_sent({&intent, 1}));
    }
    std::string file = read(file_of(owner));
    // Another boot id, and the sum over the head as docs/formats/spool.md has it.
    file[32] ^= 1;
    std::uint32_t crc = 0xFFFFFFFF;
    for (std::size_t i = 0; i < 48; ++i) {
      crc ^= static_cast<std::uint8_t>(file[i]);
      for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1U) ^ (0x82F63B78U & (0U - (crc & 1U)));
    }
    crc = ~crc;
    for (std::size_t i = 0; i < 4; ++i) file[48 + i] = static_cast<char>(crc >> (8 * i));
    write(file_of(owner), file);
    const auto dead = adopt();
    ASSERT_EQ(dead.size(), 1U);
    EXPECT_EQ(dead[0].damage, "");
    EXPECT_THAT(dead[0].marked, ElementsAre(intent));
    EXPECT_EQ(dead[0].complete, sync == SpoolSync::batch);
  }
}

TEST_F(SpoolTest, leaves_foreign_files_alone_and_says_so) {
  open(id()).reset();  // makes the folder
  const OwnerId newer = id();
  {
    auto spool = open(newer);
    const auto intent = id();
    ASSERT_TRUE(spool->mark_sent({&intent, 1}));
  }
  write(folder_ / "notes.txt", "mine");
  write(folder_ / (to_string(id()) + ".spool"),
        "something else altogether, longer than a head would be");
  write(root_ / "elsewhere", "geoncesp");
  fs::create_symlink(root_ / "elsewhere", folder_ / (to_string(id()) + ".spool"));
  fs::create_directory(folder_ / "folder");
  const auto adopted =
      adopt_dead_spools(folder_, [](const DeadSpool&) -> Result<void> { return {}; });
  ASSERT_TRUE(adopted) << adopted.error().message;
  EXPECT_EQ(adopted->spools, 1U);
  EXPECT_EQ(adopted->notes.size(), 4U);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 4);
  EXPECT_TRUE(fs::exists(root_ / "elsewhere"));
}

TEST_F(SpoolTest, has_nothing_to_adopt_where_no_folder_is) { EXPECT_THAT(adopt(), IsEmpty()); }

TEST_F(SpoolTest, stays_when_its_adopter_fails_and_the_others_have_their_turn) {
  std::vector<OwnerId> owners = ids(3);
  for (const auto& owner : owners) {
    auto spool = open(owner);
    const auto intent = id();
    ASSERT_TRUE(spool->mark_sent({&intent, 1}));
  }
  std::size_t calls = 0;
  const auto adopted = adopt_dead_spools(folder_, [&](const DeadSpool& dead) -> Result<void> {
    ++calls;
    if (dead.owner == owners[0]) return fail(ErrorCode::store_busy, "busy");
    return {};
  });
  ASSERT_FALSE(adopted);
  EXPECT_EQ(adopted.error().code, ErrorCode::store_busy);
  EXPECT_EQ(calls, 3U);
  const auto left = adopt();
  ASSERT_EQ(left.size(), 1U);
  EXPECT_EQ(left[0].owner, owners[0]);
}

TEST_F(SpoolTest, of_an_adopter_that_is_killed_goes_to_the_next) {
  const auto intent = id();
  {
    auto spool = open(id());
    ASSERT_TRUE(spool->mark_sent({&intent, 1}));
  }
  const int status = status_of_child([&] {
    const auto adopted = adopt_dead_spools(folder_, [](const DeadSpool&) -> Result<void> {
      ::raise(SIGKILL);
      return {};
    });
    ::_exit(adopted ? 1 : 2);
  });
  ASSERT_TRUE(WIFSIGNALED(status));
  const auto dead = adopt();
  ASSERT_EQ(dead.size(), 1U);
  EXPECT_THAT(dead[0].marked, ElementsAre(intent));
}

TEST_F(SpoolTest, goes_to_exactly_one_of_many_adopters) {
  constexpr std::size_t kSpools = 60;
  std::set<OwnerId> owners;
  for (std::size_t i = 0; i < kSpools; ++i) {
    const OwnerId owner = id();
    owners.insert(owner);
    auto spool = open(owner);
    const auto intent = id();
    ASSERT_TRUE(spool->mark_sent({&intent, 1}));
  }
  std::mutex mutex;
  std::vector<OwnerId> adopted;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 8; ++t)
      threads.emplace_back([&] {
        const auto done = adopt_dead_spools(folder_, [&](const DeadSpool& dead) -> Result<void> {
          const std::lock_guard lock(mutex);
          adopted.push_back(dead.owner);
          return {};
        });
        ASSERT_TRUE(done) << done.error().message;
      });
  }
  EXPECT_EQ(adopted.size(), kSpools);
  EXPECT_EQ(std::set<OwnerId>(adopted.begin(), adopted.end()), owners);
  EXPECT_TRUE(fs::is_empty(folder_));
}

TEST_F(SpoolTest, can_be_opened_while_others_adopt_and_none_is_lost) {
  std::atomic<bool> stop{false};
  std::atomic<std::size_t> adopted{0};
  std::size_t left_behind = 0;
  {
    std::vector<std::jthread> adopters;
    for (int t = 0; t < 3; ++t)
      adopters.emplace_back([&] {
        while (!stop) {
          const auto done = adopt_dead_spools(folder_, [&](const DeadSpool& dead) -> Result<void> {
            adopted += dead.marked.size();
            return {};
          });
          if (!done) ADD_FAILURE() << done.error().message;
        }
      });
    for (int i = 0; i < 300; ++i) {
      const auto intent = id();
      auto spool = open(id());
      ASSERT_TRUE(spool->mark_sent({&intent, 1}));
      if (i % 3 == 0)
        ASSERT_TRUE(spool->settled({&intent, 1}));
      else
        ++left_behind;
    }
    stop = true;
  }
  for (const auto& dead : adopt()) adopted += dead.marked.size();
  EXPECT_EQ(adopted, left_behind);
}

TEST_F(SpoolTest, takes_records_from_many_threads_at_once) {
  for (const auto sync : {SpoolSync::none, SpoolSync::batch, SpoolSync::always}) {
    const OwnerId owner = id();
    std::mutex mutex;
    std::vector<IntentId> open_marks;
    std::size_t open_responses = 0;
    {
      auto spool = open(owner, sync);
      std::vector<std::jthread> threads;
      for (int t = 0; t < 6; ++t)
        threads.emplace_back([&, t] {
          for (int i = 0; i < 40; ++i) {
            const auto intent = id();
            ASSERT_TRUE(spool->mark_sent({&intent, 1}));
            if ((i + t) % 4 == 0) {
              const std::lock_guard lock(mutex);
              open_marks.push_back(intent);
              continue;
            }
            ASSERT_TRUE(spool->append(response_to({intent}, std::string(2'000, 'y'))));
            if ((i + t) % 4 == 1) {
              ASSERT_TRUE(spool->settled({&intent, 1}));
            } else {
              const std::lock_guard lock(mutex);
              ++open_responses;
            }
          }
        });
    }
    const auto dead = adopt();
    ASSERT_EQ(dead.size(), 1U);
    EXPECT_EQ(dead[0].damage, "");
    EXPECT_THAT(dead[0].marked, ::testing::UnorderedElementsAreArray(open_marks));
    EXPECT_GE(dead[0].responses.size(), open_responses);
  }
}

TEST_F(SpoolTest, writes_that_meet_share_one_sync) {
  constexpr std::size_t kWriters = 12;
  const OwnerId owner = id();
  auto spool = open(owner, SpoolSync::batch);
  const auto intents = ids(kWriters);
  const auto head = fs::file_size(file_of(owner));
  ASSERT_TRUE(spool->mark_sent({intents.data(), 1}));
  const auto record = fs::file_size(file_of(owner)) - head;

  sync_calls = 0;
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds{60};
  // The first writer's sync begins when all the others have written.
  before_sync = [&] {
    while (fs::file_size(file_of(owner)) < head + kWriters * record &&
           std::chrono::steady_clock::now() < until)
      std::this_thread::yield();
  };
  {
    std::vector<std::jthread> writers;
    for (std::size_t i = 1; i < kWriters; ++i)
      writers.emplace_back([&, i] { ASSERT_TRUE(spool->mark_sent({&intents[i], 1})); });
  }
  before_sync = nullptr;
  EXPECT_EQ(sync_calls, 2) << "one for the first, one for all who came meanwhile";

  auto careful = open(id(), SpoolSync::always);
  sync_calls = 0;
  for (const auto& intent : intents) ASSERT_TRUE(careful->mark_sent({&intent, 1}));
  EXPECT_EQ(sync_calls, kWriters);

  auto quick = open(id(), SpoolSync::none);
  sync_calls = 0;
  for (const auto& intent : intents) ASSERT_TRUE(quick->mark_sent({&intent, 1}));
  EXPECT_EQ(sync_calls, 0);
}

TEST_F(SpoolTest, forbids_every_further_call_once_a_sync_has_failed) {
  for (const auto sync : {SpoolSync::always, SpoolSync::batch}) {
    const OwnerId owner = id();
    const auto intents = ids(3);
    {
      auto spool = open(owner, sync);
      ASSERT_TRUE(spool->mark_sent({intents.data(), 1}));
      sync_fails = true;
      const auto failed = spool->mark_sent({&intents[1], 1});
      sync_fails = false;
      ASSERT_FALSE(failed);
      EXPECT_EQ(failed.error().code, ErrorCode::io_failed);
      // The kernel may have dropped the page and report success from now on.
      EXPECT_FALSE(spool->mark_sent({&intents[2], 1}));
      EXPECT_FALSE(spool->append(response_to({intents[0]})));
      EXPECT_FALSE(spool->settled(intents));
    }
    const auto dead = adopt();
    ASSERT_EQ(dead.size(), 1U) << "the file is left for whoever can read it";
    EXPECT_THAT(dead[0].marked, ElementsAre(intents[0], intents[1]));
  }
}

TEST_F(SpoolTest, killed_at_any_moment_keeps_every_record_it_had_acknowledged) {
  std::mt19937_64 chance(5);
  for (int round = 0; round < 40; ++round) {
    const OwnerId owner = id();
    int pipe_ends[2];
    ASSERT_EQ(::pipe(pipe_ends), 0);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      ::close(pipe_ends[0]);
      auto spool = open_spool(folder_, owner, round % 2 == 0 ? SpoolSync::none : SpoolSync::batch);
      if (!spool) ::_exit(1);
      const auto acknowledge = [&](char what, const IntentId& intent) {
        char line[17];
        line[0] = what;
        std::copy(intent.bytes.begin(), intent.bytes.end(), line + 1);
        if (::write(pipe_ends[1], line, sizeof line) != sizeof line) ::_exit(2);
      };
      for (std::size_t i = 0;; ++i) {
        const auto intent = id();
        if (!(*spool)->mark_sent({&intent, 1})) ::_exit(3);
        acknowledge('m', intent);
        if (!(*spool)->append(response_to({intent}, std::string(i * 37 % 9'000, 'z')))) ::_exit(4);
        acknowledge('r', intent);
        if (i % 3 == 0) {
          // 's' goes out first: from here on the record may be there or not.
          acknowledge('s', intent);
          if (!(*spool)->settled({&intent, 1})) ::_exit(5);
        }
      }
    }
    ::close(pipe_ends[1]);
    std::map<IntentId, char> acknowledged;
    const auto take = [&] {
      char line[17];
      std::size_t got = 0;
      while (got < sizeof line) {
        const ssize_t count = ::read(pipe_ends[0], line + got, sizeof line - got);
        if (count <= 0) return false;
        got += static_cast<std::size_t>(count);
      }
      IntentId intent;
      std::copy(line + 1, line + 17, reinterpret_cast<char*>(intent.bytes.data()));
      acknowledged[intent] = line[0];
      return true;
    };
    for (std::size_t left = 1 + chance() % 60; left > 0; --left) ASSERT_TRUE(take());
    ASSERT_EQ(::kill(child, SIGKILL), 0);
    while (take()) {
    }
    ::close(pipe_ends[0]);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << WEXITSTATUS(status);

    const auto dead = adopt();
    ASSERT_EQ(dead.size(), 1U);
    EXPECT_TRUE(dead[0].complete);
    std::set<IntentId> found_marks(dead[0].marked.begin(), dead[0].marked.end());
    std::set<IntentId> found_responses;
    for (const auto& response : dead[0].responses)
      found_responses.insert(response.intents.begin(), response.intents.end());
    for (const auto& [intent, what] : acknowledged) {
      const bool answered = found_responses.contains(intent);
      EXPECT_TRUE(what != 'r' || answered);
      EXPECT_TRUE(what != 'm' || answered || found_marks.contains(intent));
    }
  }
}

}  // namespace
}  // namespace geonce
