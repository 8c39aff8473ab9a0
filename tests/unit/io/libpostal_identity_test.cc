#include "io/libpostal_identity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "core/key.h"
#include "support/postal_data.h"

namespace geonce {
namespace {

using testing::HasSubstr;

class LibpostalIdentityTest : public testing::Test {
 protected:
  LibpostalIdentityTest() { library_ = folder_.write("libpostal.so.1", "code"); }
  [[nodiscard]] std::string backend() const {
    const auto identity = LibpostalIdentity::of(library_, data_.path(), cache_);
    EXPECT_TRUE(identity.has_value()) << identity.error().message;
    return identity ? identity->backend() : "";
  }
  static std::string hex(std::string_view bytes) {
    const Key digest = sha256(bytes);
    return to_hex({reinterpret_cast<const char*>(digest.bytes.data()), digest.bytes.size()});
  }

  TempDir folder_;
  PostalData data_;
  std::string library_;
  std::filesystem::path cache_;  // none
};

TEST_F(LibpostalIdentityTest, is_the_hash_that_the_docs_say) {
  const std::string text = "geonce libpostal 1\n" + hex("code") + "  library\n" +
                           hex("dictionary") + "  address_expansions/address_dictionary.dat\n" +
                           hex("") + "  address_parser/answers\n" + hex("ok") +
                           "  address_parser/setup\n" + hex("ok") + "  numex/setup\n" +
                           hex("letters") + "  transliteration/transliteration.dat\n";
  EXPECT_EQ(backend(), "p:" + hex(text).substr(0, 16));
}

TEST_F(LibpostalIdentityTest, another_library_or_other_data_have_another_name) {
  std::set<std::string> names{backend()};
  folder_.write("libpostal.so.1", "code2");
  names.insert(backend());
  data_.write("address_parser/model.dat", "x");
  names.insert(backend());
  data_.write("address_parser/model.dat", "y");
  names.insert(backend());
  std::filesystem::rename(data_.path() / "address_parser/model.dat",
                          data_.path() / "address_parser/model2.dat");
  names.insert(backend());
  EXPECT_EQ(names.size(), 5U);
}

TEST_F(LibpostalIdentityTest, where_the_files_lie_and_what_else_lies_there_does_not_count) {
  const auto here = backend();
  data_.write("last_updated", "yesterday");
  EXPECT_EQ(backend(), here);
  PostalData elsewhere;
  const auto there = LibpostalIdentity::of(folder_.write("other.so", "code"), elsewhere.path(), {});
  ASSERT_TRUE(there.has_value());
  EXPECT_EQ(there->backend(), here);
  const auto with_slash =
      LibpostalIdentity::of(library_, data_.path().string() + "/", {}).value().backend();
  EXPECT_EQ(with_slash, here);
}

TEST_F(LibpostalIdentityTest, notices_a_change_of_its_files) {
  const auto identity = LibpostalIdentity::of(library_, data_.path(), cache_);
  ASSERT_TRUE(identity.has_value());
  EXPECT_TRUE(identity->is_current());
  data_.write("numex/setup", "no");
  EXPECT_FALSE(identity->is_current());
}

TEST_F(LibpostalIdentityTest, a_folder_that_is_none_of_its_data_is_refused) {
  std::filesystem::remove_all(data_.path() / "numex");
  const auto identity = LibpostalIdentity::of(library_, data_.path(), cache_);
  ASSERT_FALSE(identity.has_value());
  EXPECT_EQ(identity.error().code, ErrorCode::invalid_config);
  EXPECT_THAT(identity.error().message, HasSubstr("numex"));
  EXPECT_FALSE(LibpostalIdentity::of("/nowhere/libpostal.so.1", data_.path(), cache_).has_value());
}

TEST_F(LibpostalIdentityTest, a_file_is_hashed_once_until_it_changes) {
  cache_ = folder_.path() + "/cache/geonce";
  const auto first = backend();
  EXPECT_EQ(folder_.read("cache/geonce/libpostal-files"), "")
      << "a file of this moment may change again without a trace";
  // A cache that says something else of exactly these files is believed: they were not read.
  struct stat status {};
  ASSERT_EQ(::stat(library_.c_str(), &status), 0);
  const auto line = [&](std::int64_t later_ns) {
    return fmt::format(
        "{} {} {} {} {} {} {}\n",
        hex("other code"),
        status.st_dev,
        status.st_ino,
        status.st_size,
        std::int64_t{status.st_ctim.tv_sec} * 1'000'000'000 + status.st_ctim.tv_nsec + later_ns,
        std::int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec,
        library_);
  };
  std::filesystem::create_directories(cache_);
  folder_.write("cache/geonce/libpostal-files", line(0));
  const auto remembered = backend();
  EXPECT_NE(remembered, first);
  folder_.write("cache/geonce/libpostal-files", line(1));
  EXPECT_EQ(backend(), first) << "of an earlier state of the file";
  folder_.write("cache/geonce/libpostal-files", "damaged\n1 2 3\n" + line(0).substr(3));
  EXPECT_EQ(backend(), first);
}

TEST_F(LibpostalIdentityTest, remembers_files_that_lie_still) {
  cache_ = folder_.path() + "/cache";
  const std::string old = "/bin/sh";  // has not changed in the last seconds
  const auto first = LibpostalIdentity::of(old, data_.path(), cache_);
  ASSERT_TRUE(first.has_value());
  EXPECT_THAT(folder_.read("cache/libpostal-files"), testing::EndsWith(" " + old + "\n"));
  EXPECT_EQ(LibpostalIdentity::of(old, data_.path(), cache_)->backend(), first->backend());
  EXPECT_EQ(LibpostalIdentity::of(old, data_.path(), "/proc/nowhere")->backend(), first->backend());
}

}  // namespace
}  // namespace geonce
