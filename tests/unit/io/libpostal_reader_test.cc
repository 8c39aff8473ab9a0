#include "io/libpostal_reader.h"

#include <atomic>
#include <csignal>
#include <fstream>
#include <set>
#include <sstream>
#include <thread>

#include <dirent.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>

#include "core/guarded.h"
#include "support/child_process.h"
#include "support/postal_data.h"

namespace geonce {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using Parts = std::vector<TextPart>;

const Parts kAugusta{{"house_number", "12"}, {"road", "rua augusta"}, {"city", "lisboa"}};

/// Asks until it is so; a test that hopes in vain is ended by ctest.
template <class Condition>
void wait_until(Condition condition) {
  while (!condition()) ::poll(nullptr, 0, 5);
}

bool is_alive(pid_t pid) { return ::kill(pid, 0) == 0; }

std::set<std::string> open_files() {
  std::set<std::string> names;
  DIR* folder = ::opendir("/proc/self/fd");
  for (const dirent* entry = ::readdir(folder); entry != nullptr; entry = ::readdir(folder))
    names.insert(entry->d_name);
  ::closedir(folder);
  return names;
}

class LibpostalReaderTest : public testing::Test {
 protected:
  LibpostalReaderTest() {
    options_.program = LIBPOSTAL_HELPER;
    options_.library = FAKE_LIBPOSTAL;
    options_.data = data_.path();
    options_.timeout = milliseconds{60'000};  // a slow machine is no failure
    options_.notice = [this](const std::string& text) {
      notices_.with([&](auto& all) { all.push_back(text); });
    };
  }
  std::unique_ptr<SecondReader> open() {
    auto reader = open_libpostal(options_);
    EXPECT_TRUE(reader.has_value()) << reader.error().message;
    return reader ? std::move(*reader) : nullptr;
  }
  static Result<Parts> ask(SecondReader& reader, const std::string& text) {
    return reader.read(std::span(&text, 1)).front();
  }
  [[nodiscard]] std::vector<std::string> notices() const {
    return notices_.with([](const auto& all) { return all; });
  }
  Error refusal() {
    const auto opened = open_libpostal(options_);
    EXPECT_FALSE(opened.has_value());
    return opened ? Error{} : opened.error();
  }

  PostalData data_;
  LibpostalOptions options_;
  Guarded<std::vector<std::string>> notices_;
};

TEST_F(LibpostalReaderTest, divides_texts_in_their_order) {
  const auto reader = open();
  const std::vector<std::string> texts{"12 rua augusta lisboa", "reno", "5 oak st reno"};
  const auto said = reader->read(texts);
  ASSERT_THAT(said, SizeIs(3));
  EXPECT_EQ(said[0].value(), kAugusta);
  EXPECT_EQ(said[1].value(), (Parts{{"city", "reno"}}));
  EXPECT_EQ(said[2].value(), (Parts{{"house_number", "5"}, {"road", "oak st"}, {"city", "reno"}}));
  EXPECT_THAT(reader->read({}), IsEmpty());
  EXPECT_THAT(notices(), IsEmpty());
}

TEST_F(LibpostalReaderTest, reads_its_model_at_the_first_question_and_once) {
  const auto reader = open();
  EXPECT_THAT(data_.setups(), IsEmpty());
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(ask(*reader, "reno").has_value());
  EXPECT_THAT(data_.setups(), SizeIs(1));
}

TEST_F(LibpostalReaderTest, many_threads_share_one_process) {
  const auto reader = open();
  std::atomic<int> good = 0;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 8; ++t)
      threads.emplace_back([&, t] {
        std::vector<std::string> texts;
        for (int i = 0; i < 500; ++i) texts.push_back(fmt::format("{} rua {} lisboa", t, i));
        const auto said = reader->read(texts);
        for (int i = 0; i < 500; ++i)
          if (said[i] == Parts{{"house_number", std::to_string(t)},
                               {"road", fmt::format("rua {}", i)},
                               {"city", "lisboa"}})
            ++good;
      });
  }
  EXPECT_EQ(good, 8 * 500);
  EXPECT_THAT(data_.setups(), SizeIs(1));
}

struct Misdeed {
  const char* said;
  const char* why;
};

TEST_F(LibpostalReaderTest, a_question_that_ends_the_process_is_given_up_and_no_other) {
  for (const auto& [said, why] :
       {Misdeed{"!crash", "signal 11"}, {"!exit", "exit code 7"}, {"!hang", "did not answer"}}) {
    PostalData data;
    data.answer("bad", said);
    options_.data = data.path();
    if (std::string_view(said) == "!hang") options_.timeout = milliseconds{300};
    const auto reader = open();
    const std::vector<std::string> texts{"12 rua augusta lisboa", "bad", "12 rua augusta lisboa"};
    const auto answers = reader->read(texts);
    EXPECT_EQ(answers[0].value(), kAugusta) << said;
    ASSERT_FALSE(answers[1].has_value()) << said;
    EXPECT_EQ(answers[1].error().code, ErrorCode::reader_unavailable);
    EXPECT_THAT(answers[1].error().message, HasSubstr(why));
    EXPECT_THAT(answers[1].error().message, testing::Not(HasSubstr("bad"))) << "no address in it";
    EXPECT_EQ(answers[2].value(), kAugusta) << said;
    const auto setups = data.setups();
    ASSERT_THAT(setups, SizeIs(2)) << said;
    EXPECT_FALSE(is_alive(setups[0])) << "neither it nor a zombie of it";
    EXPECT_TRUE(is_alive(setups[1]));
  }
  EXPECT_THAT(notices(), SizeIs(3));
  EXPECT_THAT(notices(), testing::Each(HasSubstr("started again")));
}

TEST_F(LibpostalReaderTest, no_answer_is_an_error_of_its_text_alone_and_no_parts_are_an_answer) {
  data_.answer("nothing", "!null");
  data_.answer("silence", "!silent");
  const auto reader = open();
  EXPECT_EQ(ask(*reader, "nothing").error().code, ErrorCode::reader_unavailable);
  EXPECT_EQ(ask(*reader, "silence").value(), Parts{});
  EXPECT_THAT(data_.setups(), SizeIs(1));
}

TEST_F(LibpostalReaderTest, a_slow_answer_within_the_limit_is_an_answer) {
  data_.answer("slow", "!slow:200");
  const auto reader = open();
  EXPECT_TRUE(ask(*reader, "slow").has_value());
  EXPECT_THAT(data_.setups(), SizeIs(1));
}

TEST_F(LibpostalReaderTest, the_limit_is_of_one_question_and_not_of_those_before_it) {
  data_.answer("slow", "!slow:150");
  options_.timeout = milliseconds{1'400};
  const auto reader = open();
  const std::vector<std::string> texts(16, "slow");  // 2.4 s together
  EXPECT_THAT(
      reader->read(texts),
      testing::Each(testing::ResultOf([](const auto& said) { return said.has_value(); }, true)));
  EXPECT_THAT(data_.setups(), SizeIs(1));
}

TEST_F(LibpostalReaderTest, a_process_that_is_killed_from_outside_is_replaced) {
  const auto reader = open();
  ASSERT_TRUE(ask(*reader, "reno").has_value());
  const int first = data_.setups().front();
  ::kill(first, SIGKILL);
  wait_until([this] { return !notices().empty(); });
  EXPECT_THAT(notices(), ElementsAre(HasSubstr("signal 9")));
  EXPECT_TRUE(ask(*reader, "reno").has_value());
  EXPECT_FALSE(is_alive(first));
}

TEST_F(LibpostalReaderTest, a_model_that_cannot_be_read_makes_nobody_wait_twice) {
  for (const auto& [deed, why] : {Misdeed{"fail", "cannot be read"},
                                  {"crash", "signal 11"},
                                  {"hang", "did not read its model"}}) {
    for (const char* file : {"address_parser/setup", "numex/setup"}) {
      PostalData data;
      data.write(file, deed);
      options_.data = data.path();
      options_.start_timeout = milliseconds{std::string_view(deed) == "hang" ? 300 : 60'000};
      const auto reader = open();
      const std::vector<std::string> texts{"reno", "12 rua augusta lisboa"};
      for (int i = 0; i < 3; ++i)
        for (const auto& said : reader->read(texts)) {
          ASSERT_FALSE(said.has_value()) << deed;
          EXPECT_EQ(said.error().code, ErrorCode::reader_unavailable);
          EXPECT_THAT(said.error().message, HasSubstr(why));
          EXPECT_GT(said.error().retry_after.count(), 0);
        }
      EXPECT_LE(data.setups().size(), 1U);
    }
  }
  EXPECT_THAT(notices(), SizeIs(6)) << "one a change, not one a question";
}

TEST_F(LibpostalReaderTest, a_library_that_keeps_failing_is_left_alone_and_tried_again) {
  data_.answer("bad", "!crash");
  options_.breaker = {3, milliseconds{600'000}, milliseconds{50}, milliseconds{50}};
  const auto reader = open();
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(ask(*reader, "bad").has_value());
  EXPECT_THAT(notices().back(), HasSubstr("in error for the next 0.05 s"));
  // Somebody asks meanwhile, is refused, and so it is tried again.
  wait_until([&] { return ask(*reader, "reno").has_value(); });
  EXPECT_THAT(notices().back(), HasSubstr("works again"));
  EXPECT_THAT(notices(), SizeIs(4));
  EXPECT_THAT(data_.setups(), SizeIs(4));
}

TEST_F(LibpostalReaderTest, what_is_no_libpostal_is_refused_at_the_start) {
  options_.library = FAKE_LIBPOSTAL_OTHER;
  EXPECT_EQ(refusal().code, ErrorCode::invalid_config);
  EXPECT_THAT(refusal().message, HasSubstr("libpostal.so.2"));
  options_.library = FAKE_LIBPOSTAL_CRIPPLED;
  EXPECT_THAT(refusal().message, HasSubstr("no function libpostal_parse_address"));
  options_.library = "libnowhere.so.1";
  EXPECT_THAT(refusal().message, HasSubstr("libnowhere.so.1"));
  EXPECT_EQ(refusal().code, ErrorCode::invalid_config);
  options_.library = data_.path() / "numex/setup";
  EXPECT_EQ(refusal().code, ErrorCode::invalid_config);
  options_.library = FAKE_LIBPOSTAL;
  options_.data = "/nowhere";
  EXPECT_THAT(refusal().message, HasSubstr("/nowhere"));
  options_.program = "/nowhere/geonce";
  EXPECT_THAT(refusal().message, HasSubstr("/nowhere/geonce"));
  EXPECT_THAT(notices(), IsEmpty());
}

TEST_F(LibpostalReaderTest, files_that_change_while_it_runs_are_not_read_under_the_old_name) {
  data_.answer("bad", "!crash");
  const auto reader = open();
  ASSERT_TRUE(ask(*reader, "reno").has_value());
  data_.answer("reno", "city=renoo");
  EXPECT_EQ(ask(*reader, "reno").value(), (Parts{{"city", "reno"}}))
      << "it has the old model still";
  EXPECT_FALSE(ask(*reader, "bad").has_value());
  for (int i = 0; i < 3; ++i) {
    const auto said = ask(*reader, "reno");
    ASSERT_FALSE(said.has_value());
    EXPECT_THAT(said.error().message, HasSubstr("have changed"));
  }
  EXPECT_THAT(data_.setups(), SizeIs(2));
}

TEST_F(LibpostalReaderTest, a_stop_ends_all_waiting) {
  data_.answer("bad", "!hang");
  std::stop_source stop;
  options_.stop = stop.get_token();
  const auto reader = open();
  std::jthread caller([&] {
    const std::vector<std::string> texts{"bad", "reno"};
    for (const auto& said : reader->read(texts))
      EXPECT_EQ(said.error().code, ErrorCode::interrupted);
  });
  wait_until([this] { return !data_.setups().empty(); });
  stop.request_stop();
  caller.join();
  EXPECT_EQ(ask(*reader, "reno").error().code, ErrorCode::interrupted);
  EXPECT_FALSE(is_alive(data_.setups().front()));
}

TEST_F(LibpostalReaderTest, nothing_is_left_of_it) {
  const auto before = open_files();
  data_.answer("bad", "!crash");
  {
    const auto reader = open();
    for (int i = 0; i < 3; ++i) {
      EXPECT_TRUE(ask(*reader, "reno").has_value());
      EXPECT_FALSE(ask(*reader, "bad").has_value());
    }
    EXPECT_TRUE(ask(*reader, "reno").has_value());
    EXPECT_TRUE(is_alive(data_.setups().back()));
  }
  for (const int pid : data_.setups()) EXPECT_FALSE(is_alive(pid));
  EXPECT_EQ(open_files(), before);
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "no child, dead or alive";
}

TEST_F(LibpostalReaderTest, it_has_none_of_our_files_and_secrets) {
  ::setenv("GEONCE_TEST_SECRET", "sesame", 1);
  const int inherited = ::dup(STDERR_FILENO);  // without close-on-exec
  const auto reader = open();
  ASSERT_TRUE(ask(*reader, "reno").has_value());
  const auto pid = data_.setups().front();
  std::set<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(fmt::format("/proc/{}/fd", pid)))
    files.insert(entry.path().filename());
  EXPECT_THAT(files, ElementsAre("0", "1", "2", "3"));
  std::stringstream environment;
  environment << std::ifstream(fmt::format("/proc/{}/environ", pid)).rdbuf();
  EXPECT_THAT(environment.str(), testing::Not(HasSubstr("sesame")));
  ::close(inherited);
  ::unsetenv("GEONCE_TEST_SECRET");
}

TEST_F(LibpostalReaderTest, it_dies_with_a_parent_that_is_killed_even_while_it_hangs) {
  data_.answer("bad", "!hang");
  ChildProcess parent([this] {
    const auto reader = open();
    (void)ask(*reader, "bad");
  });
  wait_until([this] { return !data_.setups().empty(); });
  const int pid = data_.setups().front();
  parent.kill();
  wait_until([pid] {
    std::ifstream status(fmt::format("/proc/{}/stat", pid));
    std::string number, name, state;
    status >> number >> name >> state;
    return !status || state == "Z";  // nobody may be there to wait for an orphan
  });
}

TEST_F(LibpostalReaderTest, two_of_our_processes_have_one_each) {
  ChildProcess other([this] {
    const auto reader = open();
    EXPECT_EQ(ask(*reader, "12 rua augusta lisboa").value(), kAugusta);
  });
  const auto reader = open();
  EXPECT_EQ(ask(*reader, "12 rua augusta lisboa").value(), kAugusta);
  EXPECT_TRUE(other.join());
  const auto setups = data_.setups();
  EXPECT_THAT(std::set<int>(setups.begin(), setups.end()), SizeIs(2));
}

}  // namespace
}  // namespace geonce
